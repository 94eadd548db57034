"""Scripted players: each does what its name promises."""

import numpy as np
import pytest

from hotloop.engine.vecenv import make_envs
from hotloop.envs import make_env
from hotloop.envs.players import PLAYERS, hamiltonian_cycle
from hotloop.envs.snake import snake
from hotloop.envs.snake_board import Board


def play(name, env, seed=0):
    """The tally of one game played to its end."""
    envs = make_envs(env, 1, seed=seed, target="python")
    envs.reset()
    player = PLAYERS[name](env)
    while not envs.tally()["episodes"]:
        envs.step(np.array([player(envs.game(0))], np.int32))
    return envs.tally()


@pytest.mark.parametrize("actions", ["relative", "absolute"])
@pytest.mark.parametrize("size", [6, "4x5", "5x4", "2x7"])
def test_the_cycle_fills_the_board(size, actions):
    board = Board.of(size)
    tally = play("hamiltonian", snake(size, actions, max_steps=3000))
    assert tally["endings"]["full"] == 1
    assert tally["score_sum"] == board.cells - 3


@pytest.mark.parametrize("size", [4, "2x3", "3x4", "6x5", "5x6"])
def test_a_cycle_visits_every_cell_once_in_single_steps(size):
    board = Board.of(size)
    cycle = hamiltonian_cycle(board)
    assert len(cycle) == len(set(cycle)) == board.cells
    assert all(abs(a.row - b.row) + abs(a.column - b.column) == 1 for a, b in zip(cycle, cycle[1:] + cycle[:1]))


@pytest.mark.parametrize("size", [5, "3x7", "1x6"])
def test_a_board_without_a_cycle_is_refused(size):
    with pytest.raises(ValueError, match=r"even number of cells in at least two rows, found \d+x\d+; try 10x10"):
        PLAYERS["hamiltonian"](snake(size))


@pytest.mark.parametrize("actions", ["relative", "absolute"])
def test_better_players_eat_more(actions):
    env = snake(10, actions)
    eaten = {name: np.mean([play(name, env, seed)["score_sum"] for seed in range(8)]) for name in ("random", "greedy", "astar")}
    assert eaten["random"] < 2 < 12 < eaten["greedy"] < eaten["astar"]


def test_astar_goes_round_the_body():
    """The food is two cells away behind a wall of body; greedy would not get round it."""
    envs = make_envs(snake(5, "absolute"), 1, target="python")
    envs.reset()
    s, board = envs.game(0), Board.of(5)
    body = [(2, 2), (2, 1), (1, 1), (0, 1), (0, 2), (0, 3), (1, 3), (2, 3), (3, 3), (3, 2)]  # head first; the way is down past the tail
    s.head, s.front, s.length, s.heading, s.food = board.cell(*body[0]), len(body) - 1, len(body), 1, board.cell(2, 4)
    for row in range(5):
        s.open[row + 1] = board.open_row
    for i, place in enumerate(body):
        s.body[len(body) - 1 - i] = board.cell(*place)
        if i < len(body) - 1:
            s.open[place[0] + 1] &= ~(1 << (place[1] + 1))
    player = PLAYERS["astar"](envs.env)
    for _ in range(8):
        _, terminated, _ = envs.step(np.array([player(envs.game(0))], np.int32))
        assert not terminated[0]
        if envs.game(0).length == 11:
            return
    raise AssertionError("eight steps were enough to reach the food, and it was not reached")


def test_a_player_of_another_game_is_refused():
    with pytest.raises(ValueError, match="scripted players play snake, found catch"):
        PLAYERS["greedy"](make_env("catch"))


def test_the_random_player_is_the_same_for_the_same_seed():
    first, second, other = (PLAYERS["random"](snake(), seed=seed) for seed in (1, 1, 2))
    actions = [[player(None) for _ in range(50)] for player in (first, second, other)]
    assert actions[0] == actions[1] != actions[2] and set(actions[0]) == {0, 1, 2}
