"""Catch, by hand."""

import numpy as np
import pytest

from hotloop.engine.env import GameError
from hotloop.engine.vecenv import make_envs
from hotloop.envs.catch import catch

LEFT, STAY, RIGHT = range(3)


def game_with_ball_in(column):
    envs = make_envs(catch(rows=3, columns=5), 1, target="python")
    envs.reset()
    envs.game(0).ball_column = column
    return envs


def play(envs, *actions):
    for action in actions:
        rewards, terminated, _ = envs.step(np.array([action], np.int32))
    return float(rewards[0]), bool(terminated[0])


def test_the_paddle_begins_in_the_middle_under_a_ball_at_the_top():
    envs = make_envs(catch(), 50, target="python")
    envs.reset()
    assert set(envs.games["paddle"]) == {2} and set(envs.games["ball_row"]) == {0} and set(envs.games["ball_column"]) == set(range(5))


def test_a_ball_on_the_paddle_is_caught():
    envs = game_with_ball_in(4)
    assert play(envs, RIGHT) == (0.0, False)
    np.testing.assert_array_equal(envs.obs["obs"][0], np.float32([4 / 4, 1 / 2, 3 / 4]))
    assert play(envs, RIGHT) == (1.0, True)
    assert envs.tally()["endings"] == {"cut off": 0, "caught": 1, "missed": 0}


def test_a_ball_beside_the_paddle_is_missed():
    envs = game_with_ball_in(0)
    assert play(envs, LEFT, STAY) == (-1.0, True)
    assert envs.tally()["endings"] == {"cut off": 0, "caught": 0, "missed": 1}


def test_the_paddle_stays_on_the_board():
    envs = make_envs(catch(rows=9, columns=3), 1, target="python")
    envs.reset()
    play(envs, LEFT, LEFT, LEFT)
    assert envs.game(0).paddle == 0


def test_the_picture_shows_ball_and_paddle():
    envs = game_with_ball_in(0)
    picture = envs.env.render(envs.game(0))
    assert picture.shape == (3, 5, 3) and picture.dtype == np.uint8
    assert {tuple(cell) for cell in np.argwhere((picture != picture[1, 1]).any(-1))} == {(0, 0), (2, 2)}


@pytest.mark.parametrize("settings", [{"rows": 1}, {"columns": 1}])
def test_a_board_without_room_is_refused(settings):
    with pytest.raises(GameError, match="at least 2, found .*; try"):
        catch(**settings)
