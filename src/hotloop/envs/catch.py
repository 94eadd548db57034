"""Catch: slide a paddle under a falling ball.

    observation   column of the ball, row of the ball, column of the paddle, each 0 … 1
    actions       left, stay, right
    reward        1 for a catch, -1 for a miss
    ends          caught, missed

The ball begins in any column of the top row and falls one row a step; the paddle begins in the middle of the bottom row and moves one column a step.
"""

import numpy as np

from hotloop.engine.env import Box, Discrete, Env, GameError, state
from hotloop.engine.random import randint

CAUGHT, MISSED = 1, 2


def catch(
    rows: int = 10,  # the ball falls one a step
    columns: int = 5,
) -> Env:
    if rows < 2 or columns < 2:
        raise GameError(f"rows and columns must be at least 2, found {rows} and {columns}; try rows=10 columns=5")

    def reset(s, rng):
        s.ball_row = 0
        s.ball_column = randint(rng, columns)
        s.paddle = columns // 2

    def step(s, action, rng):
        s.paddle = min(max(s.paddle + action - 1, 0), columns - 1)
        s.ball_row += 1
        if s.ball_row < rows - 1:
            return 0.0, 0
        if s.paddle == s.ball_column:
            return 1.0, CAUGHT
        return -1.0, MISSED

    def observe(s, obs):
        obs[0] = s.ball_column / (columns - 1)
        obs[1] = s.ball_row / (rows - 1)
        obs[2] = s.paddle / (columns - 1)

    def render(s):
        picture = np.full((rows, columns, 3), (22, 26, 34), np.uint8)
        picture[rows - 1, s.paddle] = (126, 203, 112)
        picture[s.ball_row, s.ball_column] = (235, 87, 87)
        return picture

    return Env(
        name="catch",
        state=state(ball_row="i4", ball_column="i4", paddle="i4"),
        observation=Box(0.0, 1.0, (3,)),
        action=Discrete(3),
        reset=reset,
        step=step,
        observe=observe,
        max_steps=rows,
        render=render,
        endings=("caught", "missed"),
        settings={"rows": rows, "columns": columns},
    )
