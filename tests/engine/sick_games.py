"""Games that break one rule each, and the well one they are made from."""

from __future__ import annotations

import math
import random as pythons_random
from dataclasses import replace

import numpy as np

from hotloop.engine.env import Box, Discrete, Env, compiled, state
from hotloop.engine.random import randint, random

State = state(x="i4", total="f8", cells=("i4", (5,)))


def reset(s, rng):
    s.x = 2
    s.total = random(rng)
    for i in range(5):
        s.cells[i] = randint(rng, 3)


def step(s, action, rng):
    s.x += action * 2 - 1
    if s.x < 0 or s.x > 4:
        return -1.0, 1
    s.cells[s.x] = randint(rng, 3)
    s.total += 0.5
    return float(s.cells[s.x]), 0


def observe(s, obs):
    obs[0] = s.x
    obs[1] = s.cells[2]


well = Env(
    name="well",
    state=State,
    observation=Box(-1, 5, (2,)),
    action=Discrete(2),
    reset=reset,
    step=step,
    observe=observe,
    max_steps=20,
)


def sick(**changes) -> Env:
    return replace(well, **changes)


# ---------------------------------------------------------------- one rule each


def observe_and_change(s, obs):
    observe(s, obs)
    s.cells[0] += 1


def score_and_change(s):
    s.total = 0.0
    return 1.0


def step_beyond_the_end(s, action, rng):
    s.x += 1
    s.cells[s.x] = 1
    return 0.0, 0


def step_before_the_start(s, action, rng):
    s.x -= 1
    s.cells[s.x] = 1
    return 0.0, s.x < -4


def step_to_an_unnamed_ending(s, action, rng):
    s.x += 1
    return 0.0, s.x


def step_with_one_part_too_few(s, action, rng):
    return (0.0, 1.0), 0


def step_to_nan(s, action, rng):
    s.total *= 1e200
    return s.total - s.total, 0


def step_by_foreign_luck(s, action, rng):
    s.x = np.random.randint(0, 5)  # noqa: NPY002 - that is what is wrong with it
    return 0.0, 0


def step_by_pythons_luck(s, action, rng):
    s.total = pythons_random.random()
    return 0.0, 0


MEMORY = np.zeros(1, np.int64)


def step_that_remembers(s, action, rng):
    MEMORY[0] += 1
    s.x = MEMORY[0] % 7
    return 0.0, 0


NARROW = np.array([200, 100], np.uint8)


def step_with_unsigned_numbers(s, action, rng):
    s.x = NARROW[1] - NARROW[0] < 0
    return 0.0, 0


def step_where_machines_differ(s, action, rng):
    s.x = machine_number(s.x)
    return 0.0, 0


def compiled_number(x):
    return x + 2 if x > 3 else x + 1


@compiled(machine=compiled_number)
def machine_number(x):
    return x + 1


def observe_beyond_its_box(s, obs):
    obs[0] = s.x
    obs[1] = s.x + 3


def observe_half(s, obs):
    obs[0] = s.x
    if s.cells[2] > 0:
        obs[1] = 1.0


def mask_everything(s, allowed):
    allowed[0] = s.x < 3
    allowed[1] = s.x < 3


def mask_one(s, allowed):
    allowed[0] = s.x > 1
    allowed[1] = s.x <= 1


def step_where_masked(s, action, rng):
    s.x += action * 2 - 1
    return 0.0, s.x > 4


def write_scratch(s, action, rng, scratch):
    scratch.room[0] = 1
    return float(scratch.room[0]), 0


def read_scratch(s, action, rng, scratch):
    scratch.room[0] += 1
    return float(scratch.room[0] % 7), 0


def read_scratch_of_step(s, obs, scratch):
    obs[0] = scratch.room[0]
    obs[1] = 0


def read_world(s, action, rng, world):
    s.x = world.table[action]
    return 0.0, 0


def write_world(s, action, rng, world):
    world.table[action] += 1
    return 0.0, 0


def step_for_ever(s, action, rng):
    return 0.0, 0


def step_by_zero(s, action, rng):
    s.x -= 1
    return 1 / s.x, 0


def step_too_wide(s, action, rng):
    s.x = 2**31 - 1
    s.x += 1
    return 0.0, 0


def step_with_sines(s, action, rng):
    s.total = math.sin(s.total + action) + 2.0
    return 0.0, 0


def render_grey(s):
    return np.zeros((4, 4), np.uint8)


def render_colours(s):
    return np.zeros((4, 4, 3), np.uint8)


def render_and_change(s):
    s.x = 0
    return np.zeros((4, 4, 3), np.uint8)


TABLE = {"table": np.arange(2)}
ROOM = state(room=("i4", (2,)))
