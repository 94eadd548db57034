"""Stable-Baselines3's PPO on vector environments: in this process, or in workers."""

import sys

import gymnasium as gym
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv
from truth import Truth, busy, now

truth, counted = Truth(), {"env_steps": 0, "episodes": 0}


class Slow(gym.Wrapper):
    def step(self, action):
        busy(200e-6)
        return self.env.step(action)


def timed(base):
    class Timed(base):
        def step(self, actions):
            truth.step()
            began = now()
            result = super().step(actions)
            truth.add("step", now() - began)
            counted["env_steps"] += self.num_envs
            counted["episodes"] += int(result[2].sum())
            return result

    return Timed


class TimedPPO(PPO):
    def train(self):
        began = now()
        super().train()
        truth.add("learn and sample", now() - began)


if __name__ == "__main__":
    torch.set_num_threads(1)
    base = {"dummy": DummyVecEnv, "workers": SubprocVecEnv}[sys.argv[1]]
    envs = make_vec_env("CartPole-v1", 4, vec_env_cls=timed(base), wrapper_class=Slow, seed=0)
    model = TimedPPO("MlpPolicy", envs, n_steps=64, n_epochs=4, seed=0)
    model.learn(int(sys.argv[2]))
    envs.close()
    weights = float(sum(p.detach().double().sum() for p in model.policy.parameters()))
    truth.tell(updates=model._n_updates // 4 * 4 * 4, trajectory=[weights], **counted)
