"""Drift: a car on a track seen from above, 96×96 bytes a frame. The tutorial of pictures by pixel and of a world that games share.

    observation   the track ahead, turned with the car: one byte a pixel
    actions       left, straight, right
    reward        speed on the track, nothing off it
    ends          off the track's picture
"""

import math

import numpy as np

from hotloop import Box, Discrete, Env, random, state

SIDE = 96  # pixels of a frame
WORLD = 512  # pixels of the track


def drift() -> Env:
    def reset(s, rng):
        bearing = random(rng) * 2.0 * math.pi
        s.x, s.y = 256.0 + 180.0 * math.cos(bearing), 256.0 + 180.0 * math.sin(bearing)
        s.angle = bearing + 0.5 * math.pi
        s.speed = 1.0

    def step(s, action, rng, world):
        s.angle += 0.06 * (action - 1)
        s.speed = 0.98 * s.speed + 0.05
        s.x += s.speed * math.cos(s.angle)
        s.y += s.speed * math.sin(s.angle)
        outside = s.x < 0.0 or s.y < 0.0 or s.x >= WORLD or s.y >= WORLD
        if outside:
            return -1.0, True
        return (0.1 * s.speed if world.track[int(s.y), int(s.x)] == 200 else 0.0), False

    def look(s):
        return s.x, s.y, math.cos(s.angle), math.sin(s.angle), int(s.speed * 30.0)

    def pixel(s, view, row, column, world):
        x, y, ahead, aside, bar = view
        if row >= 88:  # the dashboard: how fast
            return 255 if column < bar else 0
        if 70 <= row < 76 and 46 <= column < 50:  # the car itself
            return 50
        right, forward = 0.5 * (column - 48), 0.5 * (72 - row)
        at_x = int(x + ahead * forward - aside * right)
        at_y = int(y + aside * forward + ahead * right)
        if at_x < 0 or at_y < 0 or at_x >= WORLD or at_y >= WORLD:
            return 0
        return world.track[at_y, at_x]

    return Env(
        name="drift",
        state=state(x="f8", y="f8", angle="f8", speed="f8"),
        observation=Box(0, 255, (SIDE, SIDE), np.uint8),
        action=Discrete(3),
        reset=reset,
        step=step,
        look=look,
        pixel=pixel,
        world={"track": track()},
        max_steps=1000,
    )


def track() -> np.ndarray:
    """A ring of tarmac (200) with three bends on a field of grass."""
    y, x = np.mgrid[:WORLD, :WORLD] - 256.0
    grass = 100 + 20 * (((x // 16) + (y // 16)) % 2)
    bends = 180 + 20 * np.sin(3 * np.arctan2(y, x))
    return np.where(np.abs(np.hypot(x, y) - bends) < 14, 200, grass).astype(np.uint8)
