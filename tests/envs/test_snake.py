"""Snake: equal to a slow, obvious one step by step, on machines and by hand."""

from typing import get_args

import numpy as np
import pytest
from slow_snake import COMPASS, SlowSnake, far

from hotloop.engine.env import GameError
from hotloop.engine.vecenv import make_envs
from hotloop.envs.snake import ENDINGS, REWARDS, TILE, Actions, Features, Preset, snake
from hotloop.envs.snake_board import Board, ahead, body_cell
from hotloop.envs.snake_features import NAMES, VIEWS

FEATURES = get_args(Features)
LIMIT = 30


# ---------------------------------------------------------------- against the slow snake


def compare(target, size, actions, features, *, games=3, steps=150, seed=0, vision=2):
    """Play both with the same actions, mostly towards the food; everything that is written must be the same."""
    env = snake(size, actions, features, max_steps=LIMIT, vision=vision)
    envs = make_envs(env, games, seed=seed, target=target, threads=1)
    board = Board.of(size)
    twins = [SlowSnake(board.rows, board.columns, actions, seed, i) for i in range(games)]
    rng = np.random.default_rng(seed)
    envs.reset()
    seen = []
    for _ in range(steps):
        for i, twin in enumerate(twins):
            assert_same_view(envs.obs["obs"][i], twin.see(features, vision))
        chosen = np.array([choose(twin, rng) for twin in twins], np.int32)
        rewards, terminated, truncated = envs.step(chosen)
        for i, twin in enumerate(twins):
            event, closer = twin.step(chosen[i])
            assert rewards[i] == np.float32(paid(event, closer))
            assert terminated[i] == (event in ENDINGS)
            assert truncated[i] == (event not in ENDINGS and twin.age == LIMIT)
            if terminated[i] or truncated[i]:
                assert_same_view(envs.last["obs"][i], twin.see(features, vision))
                seen.append(event)
                twin.begin()
    return seen


def assert_same_view(row, view):
    np.testing.assert_array_equal(row, np.array(view, row.dtype))


def choose(twin, rng):
    """Towards the food where that is safe, and now and then anything."""
    num_actions = 3 if twin.actions == "relative" else 4
    if rng.random() < 0.08:
        return int(rng.integers(num_actions))
    before = twin.heading

    def how_good(action):
        twin.turn(action)
        cell = twin.next_cell(twin.heading)
        twin.heading = before
        return twin.deadly(cell), far(cell, twin.food)

    return min(range(num_actions), key=how_good)


def paid(event, closer):
    """The 'vector' rewards, added up in their order."""
    return {"ate": 10.0, "full": 10.0 + 10.0}.get(event, -10.0) if event != "on" else -0.01 + (0.1 if closer else -0.1)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("actions", get_args(Actions))
@pytest.mark.parametrize("size", [6, "5x8", "8x3"])
def test_snake_in_python_is_the_slow_snake(size, actions, features):
    compare("python", size, actions, features)


@pytest.mark.parametrize(
    ("features", "size", "actions", "vision"),
    [
        ("basic", 10, "relative", 2),
        ("flood", "2x62", "absolute", 2),
        ("selective", "7x9", "relative", 2),
        ("enhanced", 6, "absolute", 2),
        ("laptop", 10, "absolute", 2),
        ("compact", "4x5", "relative", 2),
        ("planes", "9x7", "absolute", 2),
        ("board", "1x6", "relative", 2),
        ("window", "6x62", "relative", 4),
        ("window", 10, "absolute", 5),
    ],
)
def test_snake_in_machine_code_is_the_slow_snake(features, size, actions, vision):
    compare("cpu", size, actions, features, games=4, steps=300, seed=1, vision=vision)


def test_a_snake_with_one_rule_wrong_is_noticed(monkeypatch):
    """The comparison must be able to fail: here the slow snake thinks that the tail's cell is deadly."""
    monkeypatch.setattr(SlowSnake, "deadly", lambda twin, cell: not twin.inside(cell) or cell in twin.body)
    with pytest.raises(AssertionError):
        compare("python", "3x4", "relative", "basic", games=4, steps=200)


def test_every_ending_has_been_compared():
    seen = [event for seed in range(6) for event in compare("python", "3x4", "relative", "basic", games=4, steps=200, seed=seed)]
    assert set(seen) >= {*ENDINGS, "on"}  # 'on': cut off


# ---------------------------------------------------------------- worked by hand


def one_game(size, actions="absolute", **settings):
    envs = make_envs(snake(size, actions, **settings), 1, target="python")
    envs.reset()
    return envs


def put(envs, body, heading, food):
    """Lay the snake out by hand, head first; cells are (row, column)."""
    s, board = envs.game(0), Board.of(envs.env.settings["size"])
    s.head, s.front, s.length, s.heading, s.food = board.cell(*body[0]), len(body) - 1, len(body), heading, board.cell(*food)
    for row in range(board.rows):
        s.open[row + 1] = board.open_row
    for i, place in enumerate(body):
        s.body[len(body) - 1 - i] = board.cell(*place)
        if i < len(body) - 1:  # the tail stays open
            s.open[place[0] + 1] &= ~(1 << (place[1] + 1))


def body_of(envs):
    s = envs.game(0)
    return [tuple(Board.place(body_cell(s, i))) for i in range(s.length)]


def step(envs, action):
    """(reward, how it ended)"""
    rewards, terminated, _ = envs.step(np.array([action], np.int32))
    return float(rewards[0]), ENDINGS[envs.books["ending"][0] - 1] if terminated[0] else None


UP, RIGHT, DOWN, LEFT = range(4)


def test_the_start_is_three_cells_at_the_centre_heading_right():
    envs = one_game(10)
    assert body_of(envs) == [(5, 5), (5, 4), (5, 3)] and envs.game(0).heading == RIGHT
    assert body_of(one_game("2x3")) == [(1, 2), (1, 1), (1, 0)]


def test_moving_to_the_cell_the_tail_leaves_is_safe():
    envs = one_game(4)
    put(envs, [(1, 1), (1, 2), (2, 2), (2, 1)], LEFT, food=(0, 0))
    assert step(envs, DOWN)[1] is None
    assert body_of(envs) == [(2, 1), (1, 1), (1, 2), (2, 2)]


def test_a_snake_that_eats_keeps_its_tail_and_grows():
    envs = one_game(4, rewards="plain")
    put(envs, [(1, 2), (1, 1), (1, 0)], RIGHT, food=(1, 3))
    assert step(envs, RIGHT) == (1.0, None)
    assert body_of(envs) == [(1, 3), (1, 2), (1, 1), (1, 0)]
    assert envs.env.score(envs.game(0)) == 1


def test_turning_back_on_itself_is_ignored():
    envs = one_game(5)
    put(envs, [(2, 2), (2, 1), (2, 0)], RIGHT, food=(0, 0))
    step(envs, LEFT)
    assert body_of(envs)[0] == (2, 3) and envs.game(0).heading == RIGHT


def test_relative_actions_are_left_straight_and_right():
    for action, head in ((0, (1, 2)), (1, (2, 3)), (2, (3, 2))):
        envs = one_game(5, "relative")
        put(envs, [(2, 2), (2, 1), (2, 0)], RIGHT, food=(0, 0))
        step(envs, action)
        assert body_of(envs)[0] == head


@pytest.mark.parametrize(
    ("body", "heading", "action", "ending"),
    [
        ([(0, 2), (0, 1), (0, 0)], RIGHT, UP, "wall"),
        ([(1, 1), (1, 2), (2, 2), (2, 1), (2, 0)], LEFT, DOWN, "self"),
        ([(0, 0), (0, 1), (1, 1), (1, 0), (2, 0)], LEFT, UP, "trapped"),
        ([(0, 0), (0, 1), (1, 1), (1, 0), (2, 0)], LEFT, DOWN, "trapped"),
    ],
)
def test_a_death_has_a_cause(body, heading, action, ending):
    envs = one_game(4)
    put(envs, body, heading, food=(3, 3))
    assert step(envs, action) == (-10.0, ending)


def test_a_snake_with_only_its_tail_to_go_to_is_not_trapped():
    envs = one_game(4)
    put(envs, [(0, 0), (0, 1), (1, 1), (1, 0)], LEFT, food=(3, 3))
    assert step(envs, UP) == (-10.0, "wall")


def test_filling_the_board_ends_the_game():
    envs = one_game("1x4")
    assert step(envs, RIGHT) == (20.0, "full")  # the food could only be at the end of the corridor
    assert envs.books["score"][0] == 1


def test_food_falls_on_every_free_cell_and_nowhere_else():
    envs = make_envs(snake(4), 600, target="python")
    envs.reset()
    counts = {}
    for i in range(600):
        counts[envs.game(i).food] = counts.get(envs.game(i).food, 0) + 1
    free = {Board.cell(row, column) for row in range(4) for column in range(4)} - {Board.cell(2, column) for column in range(3)}
    assert set(counts) == free
    assert sum((n - 600 / 13) ** 2 / (600 / 13) for n in counts.values()) < 32.9  # chi-squared, 12 degrees of freedom: 1 in 1000


def test_reward_parts_are_named_and_booked():
    envs = one_game("2x4", food=3.0, step=-0.5, closer=0.25, farther=-0.25)
    put(envs, [(1, 2), (1, 1), (1, 0)], RIGHT, food=(0, 3))
    assert step(envs, RIGHT)[0] == -0.25  # a step, and closer
    assert step(envs, UP)[0] == 3.0
    assert envs.tally()["reward_parts"] == {"food": 3.0, "death": 0.0, "step": -0.5, "distance": 0.25, "full": 0.0}


def test_every_preset_can_be_chosen_and_no_more():
    assert set(REWARDS) == set(get_args(Preset))
    assert {*VIEWS, "window"} == set(FEATURES)


@pytest.mark.parametrize("features", NAMES)
def test_every_number_of_a_vector_has_a_name(features):
    assert snake(features=features).observation.shape == (len(NAMES[features]),)


# ---------------------------------------------------------------- pictures


def test_the_middle_of_every_tile_is_a_small_picture():
    envs = one_game("3x5")
    put(envs, [(1, 3), (1, 2), (1, 1)], RIGHT, food=(0, 0))
    picture = envs.env.render(envs.game(0))
    assert picture.shape == (3 * TILE, 5 * TILE, 3) and picture.dtype == np.uint8
    small = picture[TILE // 2 :: TILE, TILE // 2 :: TILE]
    assert small.shape == (3, 5, 3)
    body = {tuple(small[1, column]) for column in (1, 2, 3)}
    floor = {tuple(small[row, column]) for row in (0, 2) for column in range(1, 5)}
    assert len(body) == 3 and len(floor) == 2 and not body & floor
    assert tuple(small[0, 0]) not in body | floor


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("size", ["1x1", "1x3", 2, "5x2", 0, -3, 63, "4x63", "501x5", "3x4x5", "ten", "", "10x", 2.5])
def test_an_impossible_board_is_refused_in_one_line(size):
    with pytest.raises(GameError, match=r"^size must be .*, found .*; try ") as error:
        snake(size)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("size", [3, 4, "1x4", "2x3", "500x3", "2x62", "10", "8X12"])
def test_a_possible_board_is_made(size):
    make_envs(snake(size), 1, target="python").reset()


@pytest.mark.parametrize(
    "settings", [{"actions": "diagonal"}, {"features": "flod"}, {"rewards": "none"}, {"features": "window", "vision": 0}, {"max_steps": 0}]
)
def test_an_impossible_setting_is_refused(settings):
    with pytest.raises(GameError, match="must be"):
        snake(**settings)


def test_directions_agree_with_the_slow_snake():
    for heading, (down, right) in enumerate(COMPASS):
        assert Board.place(ahead(Board.cell(5, 5), heading)) == (5 + down, 5 + right)
