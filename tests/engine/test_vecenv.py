"""VecEnv: games side by side on a target; threads, saving, given rows, bad input."""

import numpy as np
import pytest
import sick_games as games
from sick_games import sick, well

from hotloop.engine.trial import Trial, difference, play_strictly, seen, side_by_side
from hotloop.engine.vecenv import Outcome, VecEnv, make_envs
from hotloop.envs import make_env


@pytest.fixture(scope="module", params=["python", "cpu"])
def envs(request):
    return make_envs(well, 6, seed=1, target=request.param, threads=1)


def actions(envs, step: int = 0) -> np.ndarray:
    return np.random.default_rng(step).integers(0, 2, envs.num_envs).astype(np.int32)


@pytest.mark.parametrize("threads", [2, 3, 6])
def test_threads_play_what_one_plays(threads):
    trial = Trial(well, ("cpu",), games=6, steps=100)
    one, several = make_envs(well, 6, threads=1), make_envs(well, 6, threads=threads)
    try:
        side_by_side(trial, one, several, "threads differ", "with one", f"with {threads}")
    finally:
        several.close()


def test_threads_are_measured_without_leaving_a_trace_in_the_games():
    measured, told = make_envs(well, 50, seed=9), make_envs(well, 50, seed=9, threads=1)
    for envs in (measured, told):
        envs.reset()
    assert difference(seen(told), seen(measured)) is None
    measured.close()


def test_saved_games_are_a_copy_that_play_cannot_change(envs):
    envs.reset(seed=2)
    saved = envs.save()
    before = {name: array.tobytes() for name, array in saved.items()}
    envs.step(actions(envs))
    assert {name: array.tobytes() for name, array in saved.items()} == before


def test_saved_games_put_back_go_on_the_same(envs):
    envs.reset(seed=2)
    for step in range(30):
        envs.step(actions(envs, step))
    saved, ways = envs.save(), []
    for _ in range(2):
        envs.restore(saved)
        for step in range(40):
            envs.step(actions(envs, step))
        ways.append({name: array.tobytes() for name, array in envs.save().items()})
    assert ways[0] == ways[1]


def test_saved_games_go_on_in_another_vecenv_and_on_another_target(envs):
    envs.reset(seed=2)
    envs.step(actions(envs))
    other = make_envs(well, 6, seed=77, target="python")
    other.restore(envs.save())
    for step in range(30):
        envs.step(actions(envs, step)), other.step(actions(envs, step))
    assert {n: a.tobytes() for n, a in other.save().items()} == {n: a.tobytes() for n, a in envs.save().items()}


def test_saved_games_have_no_trace_of_what_memory_held_before():
    envs = make_envs(make_env("snake", size=5), 4, target="python")
    envs.reset()
    for _ in range(20):
        dirty = [np.full(envs.games.nbytes, 255, np.uint8) for _ in range(50)]
        del dirty
        assert envs.save()["games"].tobytes() == envs.games.tobytes()


def test_what_does_not_fit_is_not_put_back_in_part(envs):
    envs.reset(seed=2)
    saved, before = envs.save(), envs.streams.copy()
    envs.step(actions(envs))
    for wrong in ({"obs_obs": saved["obs_obs"][:, :1]}, {"streams": saved["streams"].astype(float)}, {"books": saved["books"]["age"]}):
        now = {name: array.tobytes() for name, array in envs.save().items()}
        with pytest.raises(ValueError, match="of another kind of game; expected 6 of well"):
            envs.restore({**saved, **wrong})
        assert {name: array.tobytes() for name, array in envs.save().items()} == now
    with pytest.raises(ValueError, match="saved obs_obs are missing"):
        envs.restore({"games": saved["games"], "streams": before, "books": saved["books"]})


def test_games_of_another_number_or_kind_are_not_put_back(envs):
    with pytest.raises(ValueError, match="saved games are 5 of another kind of game; expected 6 of well"):
        envs.restore(make_envs(well, 5, target="python").save())
    with pytest.raises(ValueError, match="of another kind of game; expected 6 of well"):
        envs.restore(make_envs(make_env("catch"), 6, target="python").save())


def test_a_reset_of_some_games_leaves_the_others_where_they_are(envs):
    envs.reset(seed=4)
    for step in range(3):
        envs.step(actions(envs, step))
    before, row = envs.games.copy(), envs.obs["obs"].copy()
    only = np.array([False, True, False, False, True, False])
    envs.reset(only=only)
    assert (envs.games[~only] == before[~only]).all() and (envs.obs["obs"][~only] == row[~only]).all()
    assert (envs.games["x"][only] == 2).all() and (envs.books["age"][only] == 0).all()
    assert (envs.games["total"][only] != before["total"][only]).all()  # the stream went on


def test_results_go_where_they_are_told_to_go(envs):
    envs.reset(seed=5)
    row = {"obs": np.full((6, 2), -1, np.float32)}
    into = Outcome(np.full(6, -9, np.float32), np.zeros(6, bool), np.zeros(6, bool))
    own = envs.obs["obs"].copy()
    assert envs.step(actions(envs), into=into, obs=row) is into
    assert envs.obs is row and (row["obs"] != -1).all() and (into.rewards != -9).all()
    assert not (row["obs"] == own).all()
    envs.obs = {"obs": own}


def every_other(array: np.ndarray) -> np.ndarray:
    """A view of the same values and shape whose rows are twice as far apart."""
    room = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    room[::2] = array
    return room[::2]


def read_only(array: np.ndarray) -> np.ndarray:
    return np.frombuffer(array.tobytes(), array.dtype)


def wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.int64)


@pytest.mark.parametrize("other", [wide, every_other, read_only])
def test_actions_may_lie_in_memory_as_they_like(other):
    usual, unusual = (make_envs(well, 6, seed=1, threads=1) for _ in range(2))
    for step in range(40):
        given = actions(usual, step)
        usual.step(given)
        unusual.step(other(given))
        assert difference(seen(usual), seen(unusual)) is None


def test_results_may_go_where_memory_is_not_laid_out_as_ours():
    usual, unusual = (make_envs(well, 6, seed=1, threads=1) for _ in range(2))
    into = Outcome(*(every_other(array) for array in unusual.outcome))
    obs = {name: every_other(array) for name, array in unusual.obs.items()}
    for step in range(40):
        usual.step(actions(usual, step))
        unusual.step(actions(usual, step), into=into, obs=obs)
        assert all(np.array_equal(given, own) for given, own in zip(into, usual.outcome))
        assert all(np.array_equal(obs[name], usual.obs[name]) for name in obs)
        unusual.step(actions(usual, step))  # what was given last is the row games are seen in now
        usual.step(actions(usual, step))
        assert difference(seen(usual), seen(unusual)) is None
        assert not any(array[1::2].any() for array in (rows.base for rows in (*into, *obs.values())))


def test_a_game_is_printed_by_field(envs):
    envs.reset(seed=6)
    assert envs.game(2).x == 2 and repr(envs.game(2)).splitlines()[0] == "x = 2"
    with pytest.raises(AttributeError, match="this state has no field 'y'; its fields are x, total, cells"):
        envs.game(0).y  # noqa: B018


def test_named_reward_parts_are_added_up_in_order_and_booked_apart():
    def step(s, action, rng):
        return (1.0, -0.25 * action), 0

    envs = make_envs(sick(step=step, reward_parts=("food", "toll")), 2, target="python")
    envs.reset()
    outcome = envs.step(np.array([0, 1], np.int32))
    assert outcome.rewards.tolist() == [1.0, 0.75]
    assert envs.tally()["reward_parts"] == {"food": 2.0, "toll": -0.25}


def test_a_picture_is_the_same_on_python_and_cpu_and_shows_every_pixel():
    from hotloop.engine.env import Box

    def look(s):
        return (s.x + 1) * 10

    def pixel(s, view, row, column):
        return view + row * 3 + column

    env = sick(observe=None, observation=Box(0, 255, (4, 3), np.uint8), look=look, pixel=pixel)
    python, cpu = make_envs(env, 2, target="python"), make_envs(env, 2, threads=1)
    side_by_side(Trial(env, games=2, steps=30), python, cpu, "pictures differ", "on python", "on cpu")
    assert (cpu.obs["obs"][0] - cpu.obs["obs"][0, 0, 0] == np.arange(12).reshape(4, 3)).all()


def test_strict_games_play_as_others_do():
    play_strictly(Trial(well, games=3, steps=50))


@pytest.mark.parametrize(
    ("settings", "sentence"), [({"num_envs": 0}, "num_envs must be at least 1, found 0"), ({"num_envs": 1, "target": "tpu"}, "unknown target")]
)
def test_games_that_cannot_be_made_say_why(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_envs(well, **settings)


@pytest.mark.parametrize("name", ["look", "pixel"])
def test_scratch_is_refused_where_many_threads_draw(name):
    from hotloop.engine.env import Box, GameError

    def look(s):
        return 0

    def pixel(s, view, row, column):
        return 0

    def look_in_scratch(s, scratch):
        return 0

    def pixel_in_scratch(s, view, row, column, scratch):
        return 0

    drawn = {"look": look, "pixel": pixel} | {name: {"look": look_in_scratch, "pixel": pixel_in_scratch}[name]}
    with pytest.raises(GameError, match=f"{name} cannot have scratch"):
        sick(observe=None, observation=Box(0, 255, (4, 3), np.uint8), scratch=games.ROOM, **drawn)


def test_closing_twice_does_no_harm():
    envs: VecEnv = make_envs(well, 4, threads=2)
    envs.close(), envs.close()
