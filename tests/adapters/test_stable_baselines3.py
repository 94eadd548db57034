"""Stable-Baselines3 trains on our games, unmodified."""

import gymnasium
import numpy as np
import pytest
from stable_baselines3 import DQN
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv
from test_as_gymnasium import game

from hotloop.envs.as_gymnasium import GameEnv
from hotloop.integrations.stable_baselines3 import SB3VecEnv


def test_dqn_trains_on_a_registered_game():
    model = DQN("MlpPolicy", gymnasium.make("hotloop/Snake-v0", size=6), learning_starts=50, buffer_size=1000, seed=0, device="cpu")
    model.learn(300)
    assert model.num_timesteps == 300 and len(model.ep_info_buffer) > 0


def test_dqn_trains_on_many_games_and_is_told_of_their_episodes():
    envs = SB3VecEnv("snake", 16, seed=1, size=6)
    model = DQN("MlpPolicy", envs, learning_starts=100, buffer_size=2000, train_freq=2, gradient_steps=2, seed=0, device="cpu")
    model.learn(640)
    assert model.num_timesteps == 640 and {"r", "l", "t"} <= model.ep_info_buffer[0].keys()
    mean, spread = evaluate_policy(model, envs, n_eval_episodes=16)  # without a warning that there is no Monitor
    assert np.isfinite([mean, spread]).all()


@pytest.mark.parametrize("name", ["snake", "cartpole", "masked"])
def test_it_is_sb3s_own_vector_of_single_games(name):
    env = game(name)
    ours, theirs = SB3VecEnv(env, 3), DummyVecEnv([lambda: GameEnv(env)] * 3)
    ours.seed(5), theirs.seed(5)
    same(ours.reset(), theirs.reset())
    rng, ends = np.random.default_rng(0), 0
    for _ in range(200):
        actions = rng.integers(0, env.num_choices, 3)
        (obs, rewards, ended, infos), (their_obs, their_rewards, they_ended, their_infos) = ours.step(actions), theirs.step(actions)
        same(obs, their_obs)
        assert rewards.tolist() == their_rewards.tolist() and ended.tolist() == they_ended.tolist()
        for info, expected, over in zip(infos, their_infos, ended, strict=True):
            if not over:
                assert info == {}
                continue
            ends += 1
            same(info["terminal_observation"], expected["terminal_observation"])
            assert [info[key] for key in ("TimeLimit.truncated", "score", "ending")] == [expected[key] for key in ("TimeLimit.truncated", "score", "ending")]
            assert info["reward_parts"] == expected.get("reward_parts", {})
            assert (info["episode"]["r"], info["episode"]["l"]) == (expected["return"], expected["length"])
    assert ends > 5


def same(one, other) -> None:
    one, other = (seen if isinstance(seen, dict) else {"obs": seen} for seen in (one, other))
    assert {n: a.tolist() for n, a in one.items()} == {n: a.tolist() for n, a in other.items()}


def test_masks_are_where_sb3_contrib_asks_for_them():
    envs = SB3VecEnv(game("masked"), 2)
    envs.reset()
    assert envs.has_attr("action_masks") and np.stack(envs.env_method("action_masks")).shape == (2, 3)
    assert not SB3VecEnv("snake", 2).has_attr("action_masks")
