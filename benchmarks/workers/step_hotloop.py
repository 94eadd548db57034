"""Steps hotloop's envs on one core: python step_hotloop.py ENV NUM_ENVS JSON_SETTINGS"""

import json
import sys
import time

import numpy as np
from measure import ROOT, serve

from hotloop.engine.vecenv import make_envs
from hotloop.envs import make_env

name, num_envs, settings = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
env = make_env(str(ROOT / name) if name.endswith(".py") else name, **settings)
envs = make_envs(env, num_envs, threads=1, final_observations=False)
envs.reset()
actions = np.random.default_rng(0).integers(0, env.action.n, (256, num_envs)).astype(np.int32)
seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 0.5


def block():
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        for row in actions[: max(1, 65536 // num_envs)]:
            envs.step(row)
            steps += num_envs
    return {"steps": steps, "seconds": time.perf_counter() - began}


serve(block, bytes=sum(array.nbytes for array in envs.obs.values()) // num_envs)
