"""Stable-Baselines3's DQN on CartPole, as people run it; says how fast the second half of it went: python profiled_sb3.py STEPS"""

import sys
import time

import torch
from stable_baselines3 import DQN

torch.set_num_threads(1)
steps = int(sys.argv[1])
model = DQN("MlpPolicy", "CartPole-v1", learning_starts=1000, seed=0)
model.learn(steps // 2)
began = time.perf_counter()
model.learn(steps // 2, reset_num_timesteps=False)
print("@", steps // 2 / (time.perf_counter() - began))
