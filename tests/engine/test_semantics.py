"""docs/semantics.md, sentence by sentence, on a game that counts: its observation says which episode and step it is in."""

import numpy as np
import pytest

from hotloop.engine.env import Box, Discrete, Env, GameError, state
from hotloop.engine.random import randint
from hotloop.engine.vecenv import make_envs

GO_ON, WIN, LOSE = 0, 1, 2  # the counting game's actions are the endings they lead to
LIMIT = 4
LUCK = 1 << 20


def reset(s, rng):
    s.episode += 1
    s.step = 0
    s.luck = randint(rng, LUCK)


def step(s, action, rng):
    s.step += 1
    return 0.1 * s.step, action


def observe(s, obs):
    obs[0] = s.episode
    obs[1] = s.step
    obs[2] = s.luck


def score(s):
    return 100.0 * s.episode + s.step


counting = Env(
    name="counting",
    state=state(episode="i4", step="i4", luck="i4"),
    observation=Box(0, LUCK, (3,)),
    action=Discrete(3),
    reset=reset,
    step=step,
    observe=observe,
    max_steps=LIMIT,
    score=score,
    endings=("won", "lost"),
)


@pytest.fixture(scope="module", params=["python", "cpu"])
def two_games(request):
    return make_envs(counting, 2, target=request.param, threads=1)


@pytest.fixture
def envs(two_games):
    """Two games at the first row of their first episode."""
    two_games.games[...] = np.zeros(2, counting.state)
    two_games.books[...] = np.zeros(2, two_games.books.dtype)
    for array in (*two_games.last.values(), *two_games.outcome):
        array[...] = 0
    two_games.reset(seed=3)
    return two_games


def act(envs, *actions: int):
    return envs.step(np.array(actions, np.int32))


def shown(envs) -> list[list[int]]:
    """Episode and step of every game, as the current row shows them."""
    return envs.obs["obs"][:, :2].astype(int).tolist()


def stopped(envs) -> list[list[int]]:
    return envs.last["obs"][:, :2].astype(int).tolist()


# One step of one game ------------------------------------------------------------------------------------------------


def test_a_step_plays_once_and_shows_the_state_it_leads_to(envs):
    rewards, terminated, truncated = act(envs, GO_ON, GO_ON)
    assert rewards.tolist() == [np.float32(0.1)] * 2
    assert not terminated.any() and not truncated.any()
    assert shown(envs) == [[1, 1], [1, 1]]
    assert envs.books["age"].tolist() == [1, 1] and envs.books["steps"].tolist() == [1, 1]


def test_an_ending_terminates_that_game_alone(envs):
    outcome = act(envs, LOSE, GO_ON)
    assert outcome.terminated.tolist() == [True, False] and outcome.truncated.tolist() == [False, False]


def test_an_ended_game_shows_the_first_row_of_its_next_episode_in_the_same_step(envs):
    act(envs, GO_ON, GO_ON)
    act(envs, WIN, GO_ON)
    assert shown(envs) == [[2, 0], [1, 2]]


def test_where_an_episode_stopped_is_kept_in_last(envs):
    act(envs, GO_ON, GO_ON)
    act(envs, WIN, GO_ON)
    assert stopped(envs)[0] == [1, 2]


def test_the_limit_truncates_and_does_not_terminate(envs):
    for _ in range(LIMIT - 1):
        assert not act(envs, GO_ON, GO_ON).truncated.any()
    outcome = act(envs, GO_ON, GO_ON)
    assert outcome.truncated.all() and not outcome.terminated.any()
    assert stopped(envs) == [[1, LIMIT]] * 2 and shown(envs) == [[2, 0]] * 2


def test_a_game_that_ends_at_the_limit_was_terminated(envs):
    for _ in range(LIMIT - 1):
        act(envs, GO_ON, GO_ON)
    outcome = act(envs, WIN, GO_ON)
    assert outcome.terminated.tolist() == [True, False] and outcome.truncated.tolist() == [False, True]


def test_the_limit_counts_from_the_latest_reset(envs):
    act(envs, WIN, GO_ON)
    for _ in range(LIMIT - 1):
        outcome = act(envs, GO_ON, GO_ON)
    assert outcome.truncated.tolist() == [False, True]


def test_an_episode_is_booked_with_return_length_score_and_ending(envs):
    act(envs, GO_ON, GO_ON)
    act(envs, LOSE, GO_ON)
    book = envs.books[0]
    assert (book["length"], book["total"], book["score"], book["ending"]) == (2, 0.1 + 0.2, 102.0, LOSE)
    assert (book["age"], book["running"], book["episodes"]) == (0, 0.0, 1)
    assert envs.books["episodes"].tolist() == [1, 0]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("ending", [3, 2**40, -1, -(2**40)])
def test_an_ending_that_was_never_named_is_booked_as_the_last_and_nowhere_else(target, ending):
    from dataclasses import replace

    def step(s, action, rng):
        return 1.0, ending

    envs = make_envs(replace(counting, step=step), 3, target=target, threads=1)
    envs.reset()
    assert act(envs, GO_ON, GO_ON, GO_ON).terminated.all()
    assert envs.books["ending"].tolist() == [2] * 3 and envs.books["endings"].tolist() == [[0, 0, 1]] * 3
    assert envs.books["episodes"].tolist() == [1] * 3 and envs.books["best_score"].tolist() == [envs.books["score"][0]] * 3


def test_a_cut_off_is_booked_as_ending_0(envs):
    for _ in range(LIMIT):
        act(envs, GO_ON, GO_ON)
    assert envs.books["ending"].tolist() == [0, 0] and envs.books["endings"].tolist() == [[1, 0, 0]] * 2


def test_a_game_without_a_score_is_scored_by_its_return():
    from dataclasses import replace

    envs = make_envs(replace(counting, score=None), 1, target="python")
    envs.reset()
    act(envs, GO_ON)
    act(envs, WIN)
    assert envs.books["score"][0] == envs.books["total"][0] == 0.1 + 0.2


# Counting ------------------------------------------------------------------------------------------------------------


def test_a_tally_adds_up_steps_episodes_and_endings_of_all_games(envs):
    act(envs, WIN, GO_ON)
    act(envs, GO_ON, LOSE)
    for _ in range(LIMIT - 1):
        act(envs, GO_ON, GO_ON)
    tally = envs.tally()
    assert tally["steps"] == 2 * (LIMIT + 1)
    assert tally["episodes"] == 3
    assert tally["endings"] == {"cut off": 1, "won": 1, "lost": 1}
    assert tally["length_sum"] == 1 + 2 + LIMIT
    assert tally["score_sum"] == 101.0 + 102.0 + 204.0 and tally["best_score"] == 204.0


def test_rewards_are_rounded_once_to_float32_and_booked_as_doubles(envs):
    assert act(envs, GO_ON, GO_ON).rewards.dtype == np.float32
    act(envs, WIN, WIN)
    assert envs.books["total"][0] == 0.1 + 0.2 != float(np.float32(0.1)) + float(np.float32(0.2))


# Randomness ----------------------------------------------------------------------------------------------------------


def test_games_have_different_luck_and_so_have_their_episodes(envs):
    first = envs.obs["obs"][:, 2].copy()
    act(envs, WIN, WIN)
    assert len({*first.tolist(), *envs.obs["obs"][:, 2].tolist()}) == 4


def test_a_reset_with_a_seed_starts_the_streams_again_and_one_without_goes_on(envs):
    first = envs.obs["obs"][:, 2].copy()
    assert (envs.reset()["obs"][:, 2] != first).all()
    assert (envs.reset(seed=3)["obs"][:, 2] == first).all()
    assert (envs.reset(seed=4)["obs"][:, 2] != first).all()


def test_looking_draws_no_luck(envs):
    act(envs, GO_ON, GO_ON)
    assert envs.streams[:, 1].tolist() == [1, 1]  # one draw: that of the reset


# Numbers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["u1", "u8", "f4", "f2", "c16"])
def test_fields_that_machines_disagree_about_are_refused(kind):
    with pytest.raises(GameError, match="which compiled code and Python compute with differently; expected one of i1, i2, i4, i8, f8, bool; try"):
        state(x=kind)


def arithmetic(s, action, rng):
    """Signs, rounding and division of whole numbers, where languages differ."""
    s.a = s.a * 7 // -3
    s.b = s.a % 5 - (-s.a) % 5
    s.c = (s.a >> 1) ^ (s.b << 2)
    s.x = s.x / 3 + s.a * 0.1
    s.t = s.x > 1
    if abs(s.a) > 10**9:
        s.a = action - 1
    return s.x + s.t, s.c == 77


def start(s, rng):
    s.a = randint(rng, 100) - 50
    s.x = 0.1
    s.b = 0
    s.c = 0
    s.t = False


def see(s, obs):
    obs[0] = s.x
    obs[1] = s.t
    obs[2] = s.b


def test_whole_numbers_doubles_and_booleans_compute_alike_in_python_and_compiled():
    from hotloop.engine.trial import Trial, side_by_side

    fields = state(a="i8", b="i4", c="i8", x="f8", t="bool")
    env = Env(name="sums", state=fields, observation=Box(-1e12, 1e12, (3,)), action=Discrete(2), reset=start, step=arithmetic, observe=see, max_steps=30)
    trial = Trial(env, games=8, steps=60)
    side_by_side(trial, trial.envs("python"), trial.envs("cpu"), "machines differ", "on python", "on cpu")
