"""Stable-Baselines3's DQN (or SAC) with an environment and a buffer that take known time."""

import sys

import gymnasium as gym
import torch
from stable_baselines3 import DQN, SAC
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.vec_env import DummyVecEnv
from truth import Truth, busy, now

torch.set_num_threads(1)
truth, counted = Truth(), {"env_steps": 0, "episodes": 0}
base = {"dqn": DQN, "sac": SAC}[sys.argv[1]]


class Slow(gym.Wrapper):
    def step(self, action):
        busy(250e-6)
        return self.env.step(action)


class TimedEnvs(DummyVecEnv):
    def step(self, actions):
        truth.step()
        began = now()
        result = super().step(actions)
        truth.add("step", now() - began)
        counted["env_steps"] += 1
        counted["episodes"] += int(result[2].sum())
        return result


class Buffer(ReplayBuffer):
    def sample(self, *args, **kwargs):
        began = now()
        busy(200e-6)
        batch = super().sample(*args, **kwargs)
        truth.add("sample", now() - began)
        return batch


class Timed(base):
    def train(self, *args, **kwargs):
        began, sampled = now(), truth.spent.get("sample", 0.0)
        super().train(*args, **kwargs)
        truth.add("learn", now() - began - (truth.spent.get("sample", 0.0) - sampled))

    def _sample_action(self, *args, **kwargs):
        began = now()
        busy(100e-6)
        chosen = super()._sample_action(*args, **kwargs)
        truth.add("act", now() - began)
        return chosen


envs = TimedEnvs([lambda: Slow(gym.make({"dqn": "CartPole-v1", "sac": "Pendulum-v1"}[sys.argv[1]]))])
model = Timed("MlpPolicy", envs, learning_starts=200, seed=0, replay_buffer_class=Buffer, policy_kwargs={"net_arch": [64, 64]})
model.learn(int(sys.argv[2]))
weights = float(sum(p.detach().double().sum() for p in model.policy.parameters()))
truth.tell(updates=model._n_updates, trajectory=[weights], **counted)
