"""Steps PufferLib's C Snake: python step_puffer.py VISION solo|shared  (256 snakes, each alone on its field or all on one)"""

import sys
import time

import numpy as np
from measure import serve
from pufferlib.ocean.snake.snake import Snake

vision, layout = int(sys.argv[1]), sys.argv[2]
if layout == "solo":
    env = Snake(num_envs=256, num_snakes=1, num_food=1, width=10 + 2 * vision, height=10 + 2 * vision, vision=vision, leave_corpse_on_death=False, seed=0)
else:
    env = Snake(num_envs=1, num_snakes=256, vision=vision, seed=0)
env.reset(seed=0)
actions = np.random.default_rng(0).integers(0, 4, (256, env.num_agents)).astype(np.int32)


def block():
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < 0.5:
        for row in actions:
            env.step(row)
        steps += len(actions) * env.num_agents
    return {"steps": steps, "seconds": time.perf_counter() - began}


serve(block, bytes=(2 * vision + 1) ** 2)
