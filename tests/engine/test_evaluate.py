"""Evaluation: the first episode of every game and no other, and numbers worked by hand."""

import numpy as np
import pytest

from hotloop.engine.env import Box, Discrete, Env, state
from hotloop.engine.evaluate import Episodes, describe, play_episodes
from hotloop.engine.random import randint
from hotloop.engine.vecenv import make_envs

GAMES, LIMIT = 64, 12
GO_ON, GIVE_UP = 0, 1


def reset(s, rng):
    s.episode += 1
    s.at = 0
    s.length = 1 + 8 * randint(rng, 2)


def step(s, action, rng):
    s.at += 1
    if action == GIVE_UP:
        return -1.0, 2
    return float(s.at), int(s.at == s.length)


def observe(s, obs):
    obs[0], obs[1], obs[2] = s.episode, s.at, s.length


def score(s):
    return 100.0 * s.episode + s.at


def short_or_long(limit: int = LIMIT) -> Env:
    """Half of the episodes last one step, half nine; what is shown is which episode it is, how old and how long."""
    where, shown = state(episode="i4", at="i4", length="i4"), Box(0, 1e6, (3,))
    return Env("short-or-long", where, shown, Discrete(2), reset, step, observe, max_steps=limit, score=score, endings=("arrived", "gave up"))


@pytest.fixture(params=["python", "cpu"])
def envs(request):
    return make_envs(short_or_long(), GAMES, seed=3, target=request.param, threads=1)


class Watched:
    """A policy that goes on, and keeps the first row it sees."""

    first = None

    def __call__(self, obs, actions):
        if self.first is None:
            self.first = obs["obs"].astype(int)
        actions[...] = GO_ON


def assert_first_episodes(episodes: Episodes, first: np.ndarray) -> None:
    """Each game's entry is the episode it was in when the policy first saw it, from its beginning."""
    number, at, length = first.T
    assert not at.any() and set(length) == {1, 9}
    assert episodes.lengths.tolist() == length.tolist()
    assert episodes.scores.tolist() == (100 * number + length).tolist()
    assert episodes.returns.tolist() == np.where(length == 1, 1, 45).tolist()  # 1 + 2 + … + 9
    assert episodes.endings == ["arrived"] * len(first)


def test_every_game_is_described_by_its_first_episode(envs):
    policy = Watched()
    assert_first_episodes(play_episodes(envs, policy), policy.first)
    assert (policy.first[:, 0] == 1).all()


def test_games_in_progress_begin_anew_and_what_they_played_before_does_not_count(envs):
    envs.reset()
    for _ in range(7):
        envs.step(np.zeros(GAMES, np.int32))
    before = envs.obs["obs"][:, 0].copy()
    policy = Watched()
    assert_first_episodes(play_episodes(envs, policy), policy.first)
    assert (policy.first[:, 0] == before + 1).all()


def stop_at_as_many_episodes_as_games(envs, policy) -> Episodes:
    """The tempting way: count whatever ends until there are enough. Long episodes are still going on."""
    lengths, obs = [], envs.reset()
    while len(lengths) < envs.num_envs:
        policy(obs, envs.actions)
        _, terminated, _ = envs.step(envs.actions)
        lengths += envs.books["length"][terminated].tolist()
    return Episodes(np.array(lengths), np.array(lengths), np.array(lengths), [])


def test_short_episodes_are_not_favoured_and_it_would_be_noticed():
    """The true mean length is (1 + 9) / 2 = 5; the tempting way reports little more than 1."""
    games = [make_envs(short_or_long(), 400, threads=1) for _ in range(2)]
    assert 4.5 < play_episodes(games[0], Watched()).lengths.mean() < 5.5
    assert stop_at_as_many_episodes_as_games(games[1], Watched()).lengths.mean() < 2


def test_the_policy_sees_the_row_it_acts_on(envs):
    """Giving up at age 2 ends the long episodes at three steps, with a return of 1 + 2 - 1."""

    def give_up_at_two(obs, actions):
        actions[...] = obs["obs"][:, 1] == 2

    episodes = play_episodes(envs, give_up_at_two)
    assert set(zip(episodes.lengths.tolist(), episodes.returns.tolist(), episodes.endings)) == {(1.0, 1.0, "arrived"), (3.0, 2.0, "gave up")}


def test_an_episode_that_reached_the_limit_is_called_cut_off():
    episodes = play_episodes(make_envs(short_or_long(limit=4), GAMES, target="python"), Watched())
    assert set(zip(episodes.lengths.tolist(), episodes.endings)) == {(1.0, "arrived"), (4.0, "cut off")}


def test_progress_is_the_share_of_games_that_have_finished_told_when_it_changes(envs):
    told, policy = [], Watched()
    play_episodes(envs, policy, told.append)
    assert told == [(policy.first[:, 2] == 1).mean(), 1.0]


# ---------------------------------------------------------------- describing


def test_mean_and_median_are_those_worked_by_hand():
    found = describe(np.array([10, 1, 3, 2]))
    assert (found["mean"], found["median"]) == (4.0, 2.5)


@pytest.mark.parametrize("values", [[7.0], [7.0] * 30])
def test_where_nothing_varies_the_interval_is_a_point(values):
    assert describe(np.array(values)) == {"mean": 7.0, "median": 7.0, "low": 7.0, "high": 7.0}


def test_the_interval_is_as_wide_as_theory_says():
    """Half of 400 episodes score 0 and half 2: the mean's standard error is 1 / 20, so the interval is 1 ± 1.96 / 20."""
    found = describe(np.array([0.0, 2.0] * 200))
    assert (found["low"], found["high"]) == pytest.approx((0.902, 1.098), abs=0.01)


def test_ninety_five_intervals_in_a_hundred_hold_the_true_mean():
    """Of 300, 285 ± 4 should; 90 % intervals would give about 270."""
    draw = np.random.default_rng(1)
    found = [describe(draw.normal(3.0, 2.0, 60)) for _ in range(300)]
    assert 276 <= sum(one["low"] <= 3.0 <= one["high"] for one in found) <= 294


def test_equal_values_are_described_equally_every_time():
    values = np.random.default_rng(2).random(50)
    assert describe(values) == describe(values.copy())


def test_a_summary_has_every_number_and_counts_the_endings():
    episodes = Episodes(np.array([1.0, 2.0, 6.0]), np.array([10, 10, 10]), np.array([3, 4, 8]), ["lost", "cut off", "lost"])
    summary = episodes.summary()
    assert {name: summary[name]["mean"] for name in ("return", "score", "length")} == {"return": 3.0, "score": 10.0, "length": 5.0}
    assert {name: summary[name]["median"] for name in ("return", "score", "length")} == {"return": 2.0, "score": 10.0, "length": 4.0}
    assert summary["episodes"] == 3 and summary["endings"] == {"cut off": 1, "lost": 2}
