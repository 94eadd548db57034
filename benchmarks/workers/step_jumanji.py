"""Steps Jumanji's Snake 12×12 on the CPU, 256 games, a whole rollout in one jit; the observation is used."""

import time

import jax
import numpy as np
from jumanji.environments import Snake
from jumanji.wrappers import VmapAutoResetWrapper
from measure import serve

GAMES, STEPS = 256, 200
env = VmapAutoResetWrapper(Snake(num_rows=12, num_cols=12, time_limit=4000))


@jax.jit
def rollout(state, actions):
    def step(state, action):
        state, timestep = env.step(state, action)
        return state, (timestep.reward.sum(), timestep.last().sum(), timestep.observation.grid.sum())

    return jax.lax.scan(step, state, actions)


state, _ = jax.jit(env.reset)(jax.random.split(jax.random.PRNGKey(0), GAMES))
actions = jax.numpy.asarray(np.random.default_rng(0).integers(0, 4, (STEPS, GAMES)))
jax.block_until_ready(rollout(state, actions))


def block():
    global state
    began = time.perf_counter()
    for _ in range(4):
        state, out = jax.block_until_ready(rollout(state, actions))
    return {"steps": 4 * GAMES * STEPS, "seconds": time.perf_counter() - began}


serve(block)
