"""Gymnasium's environments under our algorithms."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from hotloop.algos.dqn import DQNConfig, train
from hotloop.engine.checkpoint import load_checkpoint
from hotloop.engine.evaluate import play_episodes
from hotloop.envs.gymnasium import GymnasiumVecEnv, gym_envs, make_gym_envs
from hotloop.records.run import Run

SMALL = {"hidden": (32,), "learning_starts": 200, "replay_ratio": 1 / 8, "batch_size": 32, "epsilon_steps": 1500, "replay_capacity": 4000, "log_seconds": 60.0}


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.name)
def test_dqn_trains_on_cartpole_in_every_mode(mode):
    envs = GymnasiumVecEnv(gymnasium.make_vec("CartPole-v1", 8, "sync", {"autoreset_mode": mode}), seed=1)
    session = train(envs, DQNConfig(num_envs=8, max_steps=3000, **SMALL))
    tally = envs.tally()
    assert session.steps == tally["steps"] and 3000 <= session.steps < 3008  # resets are not env steps
    assert session.updates == int((session.steps - 200) / 8) or abs(session.updates - (session.steps - 200) / 8) <= 2
    assert tally["episodes"] > 20 and tally["return_sum"] == tally["length_sum"]  # a reward of 1 a step
    assert tally["endings"]["ended"] + tally["endings"]["cut off"] == tally["episodes"]


def test_a_vector_environment_of_its_own_trains_and_is_as_gymnasium_steps_it():
    envs = gym_envs("CartPole-v1", 8, seed=1, vectorization_mode="vector_entry_point")
    session = train(envs, DQNConfig(num_envs=8, max_steps=1000, **SMALL))
    assert session.steps == envs.tally()["steps"]


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.name)
def test_whatever_the_mode_the_episodes_are_the_same(mode):
    """Equal seeds, and actions by the step of the episode: returns come out as single environments play them, the resets' luck included."""
    envs = GymnasiumVecEnv(gymnasium.make_vec("CartPole-v1", 3, "sync", {"autoreset_mode": mode}, max_episode_steps=12), seed=5)
    assert envs.env.max_steps == 12
    found: list[list[int]] = [[], [], []]
    envs.reset()
    while min(map(len, found)) < 8:
        episodes = envs.books["episodes"].copy()
        envs.step(envs.books["age"] // 2 % 2)
        for i in np.flatnonzero(envs.books["episodes"] > episodes):
            found[i].append(int(envs.books["length"][i]) if envs.books["ending"][i] else 0)
    assert [lengths[:8] for lengths in found] == [single(seed, 8) for seed in (5, 6, 7)]


def single(seed: int, episodes: int) -> list[int]:
    """Lengths of a single environment's episodes; 0: cut off."""
    env, lengths = gymnasium.make("CartPole-v1", max_episode_steps=12), []
    env.reset(seed=seed)
    while len(lengths) < episodes:
        age = 0
        while True:
            *_, terminated, truncated, _ = env.step(age // 2 % 2)
            age += 1
            if terminated or truncated:
                break
        lengths.append(age if terminated else 0)
        env.reset()
    return lengths


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.name)
def test_equal_seeds_give_equal_games_across_resets_and_others_do_not(mode):
    def rows(seed):
        envs = GymnasiumVecEnv(gymnasium.make_vec("CartPole-v1", 2, "sync", {"autoreset_mode": mode}), seed=seed)
        seen = [envs.reset()["obs"].copy()]
        for _ in range(60):
            envs.step(np.zeros(2, np.int32))
            seen.append(envs.obs["obs"].copy())
        return np.stack(seen)

    first = rows(3)
    assert np.array_equal(first, rows(3)) and not np.array_equal(first, rows(4))
    begins = first[np.abs(first).max(-1) < 0.05]
    assert len(np.unique(begins, axis=0)) == len(begins) > 8  # no episode begins as another did


def test_a_run_is_saved_and_goes_on_in_new_episodes(tmp_path):
    run = Run.create(tmp_path / "run", config={}, command=[], name="cartpole")
    first = gym_envs("CartPole-v1", 8, seed=1)
    train(first, DQNConfig(num_envs=8, max_steps=800, **SMALL), run)
    second = gym_envs("CartPole-v1", 8, seed=1)
    session = train(second, DQNConfig(num_envs=8, max_steps=1600, **SMALL), checkpoint=load_checkpoint(run.checkpoints()[-1]))
    assert first.tally()["steps"] == 800 and session.steps == second.tally()["steps"] == 1600
    assert second.tally()["episodes"] > first.tally()["episodes"] > 0


def test_evaluation_plays_one_episode_in_each():
    envs = gym_envs("CartPole-v1", 4, seed=2)
    episodes = play_episodes(envs, lambda obs, actions: actions.fill(0))
    assert (episodes.returns == episodes.lengths).all() and (episodes.returns > 5).all() and episodes.endings == ["ended"] * 4
    assert episodes.returns.tolist() == play_episodes(gym_envs("CartPole-v1", 4, seed=2), lambda obs, actions: actions.fill(0)).returns.tolist()


def test_the_limit_is_read_from_where_it_is_known():
    assert gym_envs("CartPole-v1", 2).env.max_steps == 500
    assert gym_envs("CartPole-v1", 2, max_episode_steps=20).env.max_steps == 20
    assert gym_envs("CartPole-v1", 2, vectorization_mode="vector_entry_point", max_episode_steps=20).env.max_steps == 20
    assert GymnasiumVecEnv(gymnasium.make_vec("CartPole-v1", 2), max_steps=7).env.max_steps == 7


class Odd(gymnasium.Env):
    """Parts of other types, actions that count from 5, a mask."""

    observation_space = spaces.Dict(
        {"suit": spaces.Discrete(4, start=1), "heat": spaces.Box(-1, 1, (), np.float64), "picture": spaces.Box(0, 255, (2, 2), np.uint8)}
    )
    action_space = spaces.Discrete(3, start=5)

    def __init__(self):
        self.at = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return self._seen()

    def step(self, action):
        assert 5 <= action <= 7
        self.at += 1
        obs, info = self._seen()
        return obs, float(action), False, self.at == 3, info

    def _seen(self):
        obs = {"suit": np.int64(1 + self.at), "heat": np.array(self.at / 4), "picture": np.full((2, 2), self.at, np.uint8)}
        return obs, {"action_mask": np.array([1, self.at > 0, self.at > 1], np.int8)}


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.name)
def test_spaces_of_other_kinds_become_rows_of_numbers(mode):
    envs = GymnasiumVecEnv(SyncVectorEnv([Odd, Odd], autoreset_mode=mode))
    assert {name: (box.shape, box.dtype.name) for name, box in envs.env.parts.items()} == {
        "suit": ((4,), "float32"),
        "heat": ((1,), "float32"),
        "picture": ((2, 2), "uint8"),
        "allowed": ((3,), "bool"),
    }
    assert envs.env.num_choices == 3 and list(envs.env.observations) == ["heat", "picture", "suit"]
    envs.reset()
    for _ in range(2):
        envs.step(np.array([0, 2], np.int32))
    assert envs.outcome.rewards.tolist() == [5.0, 7.0] and envs.obs["suit"].tolist() == [[0, 0, 1, 0]] * 2
    assert envs.obs["heat"].tolist() == [[0.5]] * 2 and envs.obs["allowed"].tolist() == [[True, True, True]] * 2
    envs.step(np.array([0, 2], np.int32))
    assert envs.outcome.truncated.all() and envs.last["suit"].tolist() == [[0, 0, 0, 1]] * 2 and envs.last["allowed"].all()
    if mode is not AutoresetMode.NEXT_STEP:
        assert envs.obs["suit"].tolist() == [[1, 0, 0, 0]] * 2 and envs.obs["allowed"].tolist() == [[True, False, False]] * 2


def test_our_own_games_come_back_through_gymnasium_as_they_were():
    from hotloop.engine.vecenv import make_envs
    from hotloop.envs import make_env

    there_and_back = GymnasiumVecEnv(gymnasium.make_vec("hotloop/Snake-v0", num_envs=4, size=5), seed=9)
    raw = make_envs(make_env("snake", size=5), 4, seed=9)
    there_and_back.reset(), raw.reset()
    rng = np.random.default_rng(0)
    for _ in range(100):
        actions = rng.integers(0, 3, 4).astype(np.int32)
        one, other = there_and_back.step(actions), raw.step(actions)
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
        assert np.array_equal(there_and_back.obs["obs"], raw.obs["obs"]) and np.array_equal(there_and_back.last["obs"], raw.last["obs"])
    assert there_and_back.tally()["episodes"] == raw.tally()["episodes"] > 10


def test_bad_requests_are_answered():
    with pytest.raises(ValueError, match=r"Gymnasium cannot make 'CartPool-v1'.*"):
        make_gym_envs("gym:CartPool-v1", 2)
    with pytest.raises(ValueError, match="try gym:CartPole-v1"):
        make_gym_envs("CartPole-v1", 2)
    undeclared = SyncVectorEnv([Odd])
    undeclared.metadata = {}
    with pytest.raises(ValueError, match="does not say when it resets"):
        GymnasiumVecEnv(undeclared)
    with pytest.raises(ValueError, match="'obs' must be a Box or Discrete, found Tuple"):
        make_gym_envs("gym:Blackjack-v1", 2)
