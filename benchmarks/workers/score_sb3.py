"""Seconds of training until SB3's DQN has a mean score of 10 and of 20: python score_sb3.py SETTING LIMIT; one seed a turn.

On our vector env, which is its fastest; the mean is of the last 100 training episodes. The clock runs inside learn() only.
"""

import sys
import time
from collections import deque

import numpy as np
import torch
from measure import serve
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback

from hotloop.envs.snake import snake
from hotloop.integrations.stable_baselines3 import SB3VecEnv

torch.set_num_threads(1)
GOALS = (10, 20)
SETTINGS = {  # games, and what DQN is told
    "256 games, 4 updates a row": (256, {"gradient_steps": 4, "batch_size": 64}),
    "32 games, 2 updates a row": (32, {"gradient_steps": 2, "batch_size": 64}),
    "4 games, 1 update a row of batch 128": (4, {"gradient_steps": 1, "batch_size": 128}),
}
num_envs, told = SETTINGS[sys.argv[1]]
limit = float(sys.argv[2])
seed = 0


class Watch(BaseCallback):
    def __init__(self):
        super().__init__()
        self.scores, self.at, self.began = deque(maxlen=100), {}, time.perf_counter()

    def _on_step(self):
        self.scores.extend(info["score"] for info in self.locals["infos"] if "score" in info)
        now = time.perf_counter() - self.began
        if len(self.scores) == 100:
            for goal in GOALS:
                if np.mean(self.scores) >= goal:
                    self.at.setdefault(goal, now)
        return now < limit and len(self.at) < len(GOALS)


def block():
    global seed
    model = DQN(
        "MlpPolicy",
        SB3VecEnv(snake(features="flood"), num_envs, seed=seed),
        learning_rate=1e-3,
        buffer_size=100_000,
        learning_starts=5_000,
        train_freq=1,
        target_update_interval=500 * num_envs // told["gradient_steps"],
        exploration_fraction=200_000 / 10_000_000,
        exploration_final_eps=0.01,
        gamma=0.97,
        policy_kwargs={"net_arch": [128, 128]},
        device="cpu",
        seed=seed,
        **told,
    )
    seed += 1
    watch = Watch()
    model.learn(10_000_000, callback=watch)
    return {f"seconds_to_{goal}": watch.at.get(goal) for goal in GOALS}


serve(block)
