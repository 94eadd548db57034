"""Trains Stable-Baselines3's (or sbx's) DQN on 256 games: python dqn_sb3.py sb3|sbx python|hotloop UPDATES_PER_ROW BATCH

The same network, batch, replay and updates per transition as ours; `python` is a plain Python Snake under DummyVecEnv, `hotloop` our VecEnv.
"""

import sys
import time

import torch
from measure import serve

library, games, updates, batch = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
torch.set_num_threads(1)  # faster than two for networks of this size
if games == "python":
    from stable_baselines3.common.vec_env import DummyVecEnv
    from workers.python_snake import PythonSnake

    envs = DummyVecEnv([PythonSnake] * 256)
else:
    from hotloop.envs.snake import snake
    from hotloop.integrations.stable_baselines3 import SB3VecEnv

    envs = SB3VecEnv(snake(), 256)
if library == "sb3":
    from stable_baselines3 import DQN

    extra = {"device": "cpu", "policy_kwargs": {"net_arch": [128, 128]}, "max_grad_norm": 10.0}
else:
    from sbx import DQN

    extra = {"policy_kwargs": {"net_arch": [128, 128]}}
model = DQN(
    "MlpPolicy",
    envs,
    learning_rate=1e-3,
    batch_size=batch,
    buffer_size=100_000,
    learning_starts=256,
    train_freq=1,
    gradient_steps=updates,
    target_update_interval=500 * 256 // updates,
    exploration_fraction=1e-9,
    exploration_final_eps=0.1,
    gamma=0.99,
    seed=0,
    **extra,
)
rows = 100 if games == "hotloop" and updates == 1 else 40
model.learn(20 * 256)


def block():
    before, began = model._n_updates, time.perf_counter()
    model.learn(rows * 256, reset_num_timesteps=False)
    return {"steps": rows * 256, "updates": model._n_updates - before, "seconds": time.perf_counter() - began}


serve(block)
