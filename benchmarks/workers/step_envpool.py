"""Steps EnvPool on one thread: python step_envpool.py TASK NUM_ENVS"""

import sys
import time

import envpool
import numpy as np
from measure import serve

task, num_envs = sys.argv[1], int(sys.argv[2])
env = envpool.make(task, env_type="gymnasium", num_envs=num_envs, num_threads=1, seed=0)
env.reset()
space = env.action_space
draw = np.random.default_rng(0)
if hasattr(space, "n"):
    actions = draw.integers(0, space.n, (64, num_envs)).astype(np.int32)
else:
    actions = draw.uniform(space.low, space.high, (64, num_envs, *space.shape)).astype(np.float32)


def block():
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < 0.5:
        env.step(actions[steps // num_envs % 64])
        steps += num_envs
    return {"steps": steps, "seconds": time.perf_counter() - began}


serve(block)
