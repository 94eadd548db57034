"""Games that use what a plain one does not: several observations, a mask, a world, scratch, named rewards and endings, pictures."""

from __future__ import annotations

import numpy as np

from hotloop.engine.env import Box, Discrete, Env, state
from hotloop.engine.random import randint, random

HILLS = np.array([[3, 1, 4], [1, 5, 9], [2, 6, 5]])


def everything() -> Env:
    """A walk over hills: `near` is where one stands, `far` what lies around; uphill is masked when tired."""

    def reset(s, rng):
        s.at, s.age = randint(rng, 9), 0
        s.strength = 1.0 + random(rng)

    def step(s, action, rng, world, scratch):
        height = world.hills[s.at // 3, s.at % 3]
        for k in range(3):
            scratch.heights[k] = world.hills[s.at // 3, k]
        highest = 0
        for k in range(3):
            highest = max(highest, scratch.heights[k])
        s.age += 1
        s.at = (s.at + action + randint(rng, 2)) % 9
        s.strength -= 0.125 * height
        ending = 0
        if s.strength < -20.0:
            ending = 2
        elif s.at == 5:
            ending = 1
        return (0.25 * height, float(highest), -0.5 * action), ending

    def observe(s, near, far, world):
        near[0], near[1] = s.at, s.strength
        for row in range(3):
            for column in range(3):
                far[row, column] = world.hills[row, column] + (1 if row * 3 + column == s.at else 0)

    def mask(s, allowed):
        allowed[0] = True
        allowed[1] = s.strength > 0.0
        allowed[2] = s.age % 2 == 0

    return Env(
        name="everything",
        state=state(at="i4", age="i2", strength="f8"),
        observation={"near": Box(-1e3, 1e3, (2,)), "far": Box(0, 255, (3, 3), np.uint8)},
        action=Discrete(3),
        reset=reset,
        step=step,
        observe=observe,
        mask=mask,
        max_steps=9,
        reward_parts=("height", "highest", "effort"),
        endings=("arrived", "exhausted"),
        world={"hills": HILLS},
        scratch=state(heights=("i4", (3,))),
    )


def picture() -> Env:
    """A dot that moves over a floor; the picture is drawn by pixel, its speed told in numbers beside it."""

    def reset(s, rng):
        s.x, s.y = randint(rng, 12), randint(rng, 7)

    def step(s, action, rng):
        s.x += action - 1
        return 1.0, s.x < 0 or s.x >= 12

    def observe(s, place):
        place[0], place[1] = s.x, s.y

    def look(s):
        return s.x, s.y

    def pixel(s, view, row, column, world):
        x, y = view
        return 255 if row == y and column == x else world.floor[row % 2, column % 3]

    return Env(
        name="picture",
        state=state(x="i4", y="i4"),
        observation={"frame": Box(0, 255, (7, 12), np.uint8), "place": Box(-1, 12, (2,))},
        action=Discrete(3),
        reset=reset,
        step=step,
        observe=observe,
        look=look,
        pixel=pixel,
        max_steps=6,
        world={"floor": np.array([[10, 20, 30], [40, 50, 60]])},
    )
