"""Steps the plain Python Snake: python step_python.py basic|flood"""

import random
import sys
import time

from measure import serve
from workers.python_snake import PythonSnake

env = PythonSnake(flood=sys.argv[1] == "flood")
env.reset(seed=0)
choose = random.Random(0)


def block():
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < 0.5:
        _, _, terminated, truncated, _ = env.step(choose.randrange(3))
        if terminated or truncated:
            env.reset()
        steps += 1
    return {"steps": steps, "seconds": time.perf_counter() - began}


serve(block)
