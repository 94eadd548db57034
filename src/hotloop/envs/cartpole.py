"""CartPole: push a cart left and right so that the pole on it does not fall.

    observation   position of the cart (m), its speed (m/s), angle of the pole (rad), its speed (rad/s)
    actions       push left, push right
    reward        1 a step
    ends          position (off the track), angle (fallen); cut off after 500 steps

The same game as Gymnasium's CartPole-v1: Barto, Sutton and Anderson's cart (1983), moved on by Euler's method.
"""

from __future__ import annotations

import math

import numpy as np
from PIL import Image, ImageDraw

from hotloop.engine.env import Box, Discrete, Env, state
from hotloop.engine.random import random

GRAVITY = 9.8  # m/s²
CART_MASS, POLE_MASS = 1.0, 0.1  # kg
TOTAL_MASS = CART_MASS + POLE_MASS
HALF_POLE = 0.5  # m
PUSH = 10.0  # N
SECONDS = 0.02  # a step
END_OF_TRACK = 2.4  # m
FALLEN = 12 * 2 * math.pi / 360  # rad
POSITION, ANGLE = 1, 2


def cartpole(
    max_steps: int = 500,  # steps before a game is cut off
) -> Env:
    farthest = np.array([2 * END_OF_TRACK, np.inf, 2 * FALLEN, np.inf], np.float32)  # twice the limits, as Gymnasium has it
    return Env(
        name="cartpole",
        state=state(x="f8", speed="f8", angle="f8", turning="f8"),
        observation=Box(-farthest, farthest),
        action=Discrete(2),
        reset=reset,
        step=step,
        observe=observe,
        max_steps=max_steps,
        render=render,
        endings=("position", "angle"),
        settings={"max_steps": max_steps},
    )


def reset(s, rng):
    s.x = 0.1 * random(rng) - 0.05
    s.speed = 0.1 * random(rng) - 0.05
    s.angle = 0.1 * random(rng) - 0.05
    s.turning = 0.1 * random(rng) - 0.05


def step(s, action, rng):
    sine, cosine = math.sin(s.angle), math.cos(s.angle)
    push = PUSH if action == 1 else -PUSH
    pushed = (push + POLE_MASS * HALF_POLE * (s.turning * s.turning) * sine) / TOTAL_MASS
    turned = (GRAVITY * sine - cosine * pushed) / (HALF_POLE * (4.0 / 3.0 - POLE_MASS * (cosine * cosine) / TOTAL_MASS))
    moved = pushed - POLE_MASS * HALF_POLE * turned * cosine / TOTAL_MASS
    s.x += SECONDS * s.speed
    s.speed += SECONDS * moved
    s.angle += SECONDS * s.turning
    s.turning += SECONDS * turned
    if abs(s.x) > END_OF_TRACK:
        return 1.0, POSITION
    if abs(s.angle) > FALLEN:
        return 1.0, ANGLE
    return 1.0, 0


def observe(s, obs):
    obs[0] = s.x
    obs[1] = s.speed
    obs[2] = s.angle
    obs[3] = s.turning


# ---------------------------------------------------------------- drawing

WIDTH, HEIGHT, TRACK = 300, 160, 120  # pixels
METRE = WIDTH / (2 * END_OF_TRACK)


def render(s):
    picture = Image.new("RGB", (WIDTH, HEIGHT), (22, 26, 34))
    draw = ImageDraw.Draw(picture)
    x = WIDTH / 2 + s.x * METRE
    tip = (x + 2 * HALF_POLE * METRE * math.sin(s.angle), TRACK - 2 * HALF_POLE * METRE * math.cos(s.angle))
    draw.line((0, TRACK, WIDTH, TRACK), (70, 78, 94))
    draw.rectangle((x - 20, TRACK - 10, x + 20, TRACK + 10), (126, 203, 112))
    draw.line(((x, TRACK), tip), (220, 248, 160), 6)
    draw.ellipse((x - 3, TRACK - 3, x + 3, TRACK + 3), (235, 87, 87))
    return np.asarray(picture)
