"""Trains hotloop's DQN on 256 games: python dqn_hotloop.py UPDATES_PER_ROW BATCH [plain]"""

import sys

from measure import serve

from hotloop.algos.dqn import DQNConfig, train
from hotloop.engine.vecenv import make_envs
from hotloop.envs.snake import snake

updates, batch = int(sys.argv[1]), int(sys.argv[2])
steps = 400_000 if updates == 1 else 100_000
config = DQNConfig(
    num_envs=256,
    batch_size=batch,
    replay_ratio=updates / 256,
    learning_starts=256,
    double=False,
    epsilon_start=0.1,
    epsilon_end=0.1,
    max_steps=steps,
    native="plain" not in sys.argv,
)
envs = make_envs(snake(), config.num_envs)


def block():
    session = train(envs, config)
    return {"steps": session.steps, "updates": session.updates, "seconds": session.watch.wall_seconds()}


serve(block)
