"""Snake: eat, grow, and do not run into anything.

    observation   what the snake sees, one of the feature sets in snake_features.py
    actions       relative: left, straight, right; absolute: up, right, down, left (turning back on itself is ignored)
    rewards       named parts: food, death, step, distance, full; see `Rewards`
    ends          wall, self, trapped (no safe move was left), full (the board is all snake)

The snake starts at the centre, three cells long, heading right. Every step moves its head one cell on and its tail with it, unless it ate: then it grows,
and the next food appears on a free cell, each equally likely. Moving to where the tail is now is safe; it will have moved on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from hotloop.engine.binding import compiled
from hotloop.engine.env import Discrete, Env, GameError, state
from hotloop.engine.random import randint
from hotloop.envs.snake_board import RIGHT, START_LENGTH, Board, Place, ahead, body_cell, count_bits, flip, is_open, ways_on
from hotloop.envs.snake_features import view_of

Actions = Literal["relative", "absolute"]
Features = Literal["basic", "flood", "selective", "enhanced", "laptop", "compact", "planes", "board", "window"]
Preset = Literal["vector", "laptop", "plain"]

ENDINGS = ("wall", "self", "trapped", "full")
ON, WALL, SELF, TRAPPED, FULL = range(5)  # what `step` says of the game: it goes on, or how it ended


class Rewards(NamedTuple):
    food: float = 0.0  # for eating
    death: float = 0.0  # for dying
    step: float = 0.0  # for every other step, to which is added:
    closer: float = 0.0  # for coming closer to the food
    farther: float = 0.0  # for going away from it
    full: float = 0.0  # for filling the board, besides the food


REWARDS = {
    "vector": Rewards(food=10.0, death=-10.0, step=-0.01, closer=0.1, farther=-0.1, full=10.0),
    "laptop": Rewards(food=10.0, death=-10.0, closer=1.0, farther=-1.5),  # going in circles must not pay
    "plain": Rewards(food=1.0, death=-1.0, step=-0.01),
}


def snake(
    size: int | str = 10,  # of the board: a number, or ROWSxCOLUMNS
    actions: Actions = "relative",  # left, straight, right as the snake sees it; or up, right, down, left
    features: Features = "basic",  # what the snake sees
    rewards: Preset = "vector",  # what everything pays; the flags below change single ones
    max_steps: int = 1000,  # steps before a game is cut off
    vision: int = 2,  # features=window: how many cells it reaches from the head
    food: float | None = None,  # reward for eating
    death: float | None = None,  # reward for dying
    step: float | None = None,  # reward for every other step
    closer: float | None = None,  # reward for coming closer to the food
    farther: float | None = None,  # reward for going away from it
    full: float | None = None,  # reward for filling the board
) -> Env:
    settings = dict(locals())
    for name, known in (("actions", Actions), ("features", Features), ("rewards", Preset)):
        if settings[name] not in get_args(known):
            raise GameError(f"{name} must be one of {', '.join(get_args(known))}, found {settings[name]!r}; try {get_args(known)[0]}")
    board = Board.of(size)
    pays = REWARDS[rewards]._replace(**{name: settings[name] for name in Rewards._fields if settings[name] is not None})
    relative = actions == "relative"
    reset_game, step_game = rules(board, pays, turn_by if relative else turn_to)
    view = view_of(features, board, vision, relative)
    return Env(
        name="snake",
        state=state(head="i2", heading="i2", food="i2", length="i2", front="i2", open=("i8", (board.rows + 2,)), body=("i2", (board.ring,))),
        observation=view.observation,
        action=Discrete(3 if relative else 4),
        reset=reset_game,
        step=step_game,
        observe=view.observe,
        scratch=view.scratch,
        max_steps=max_steps,
        score=score,
        render=painter(board),
        reward_parts=("food", "death", "step", "distance", "full"),
        endings=ENDINGS,
        settings=settings,
    )


def rules(board: Board, pays: Rewards, turn: Callable) -> tuple[Callable, Callable]:
    rows, columns, cells, open_row = board.rows, board.columns, board.cells, board.open_row
    start = board.cell(*board.start)
    start_row, standing = start >> 6, sum(1 << (start - i & 63) for i in range(START_LENGTH - 1))  # the tail's cell is open
    food, death, each, closer, farther, full = (float(reward) for reward in pays)

    def reset(s, rng):
        for row in range(rows + 2):
            s.open[row] = 0 if row == 0 or row > rows else open_row if row != start_row else open_row & ~standing
        for i in range(START_LENGTH):
            s.body[i] = start + 1 - START_LENGTH + i
        s.head = start
        s.front = START_LENGTH - 1
        s.length = START_LENGTH
        s.heading = RIGHT
        place_food(s, rng)

    def step(s, action, rng):
        heading, before, goal = turn(s.heading, action), s.head, s.food
        cell = ahead(before, heading)
        s.heading = heading
        if not is_open(s, cell):
            return (0.0, death, 0.0, 0.0, 0.0), cause_of_death(s, before, cell)
        s.front = (s.front + 1) & (len(s.body) - 1)
        s.body[s.front] = cell
        s.head = cell
        flip(s, cell)
        if cell != goal:
            flip(s, body_cell(s, s.length - 1))  # the tail moves on to a cell that opens
            return (0.0, 0.0, each, closer if distance(cell, goal) < distance(before, goal) else farther, 0.0), ON
        s.length += 1
        if s.length == cells:
            return (food, 0.0, 0.0, 0.0, full), FULL
        place_food(s, rng)
        return (food, 0.0, 0.0, 0.0, 0.0), ON

    @compiled
    def place_food(s, rng):
        """The n-th free cell, row by row: every open one but the tail's."""
        n = randint(rng, cells - s.length)
        tail = body_cell(s, s.length - 1)
        row = 0
        free = skipped = 0
        while n >= skipped:  # this row has too few
            n -= skipped
            row += 1
            free = s.open[row] & ~(1 << (tail & 63)) if row == tail >> 6 else s.open[row]
            skipped = count_bits(free)
        for _ in range(n):
            free &= free - 1  # drops the lowest bit
        s.food = row * 64 + count_bits((free & -free) - 1)

    @compiled
    def cause_of_death(s, head, cell):
        if ways_on(s, head) == 0:
            return TRAPPED
        if 1 <= cell >> 6 <= rows and 1 <= cell & 63 <= columns:
            return SELF
        return WALL

    return reset, step


@compiled
def turn_by(heading, action):
    """Action 0 is left, 1 straight on, 2 right."""
    return (heading + action - 1) & 3


@compiled
def turn_to(heading, action):
    """The action is the new heading, unless that is back into its own neck."""
    return heading if action == heading ^ 2 else action


@compiled
def distance(cell, other):
    """In steps, were nothing in the way."""
    return abs((cell >> 6) - (other >> 6)) + abs((cell & 63) - (other & 63))


def score(s):
    """Food eaten."""
    return s.length - START_LENGTH


# ---------------------------------------------------------------- drawing

TILE = 8  # pixels; the one at (4, 4) has the colour of the cell, so picture[4::8, 4::8] is a small picture
CHEQUER = np.array([(22, 26, 34), (27, 31, 41)], np.uint8)
FOOD, HEAD, EYE = (235, 87, 87), (220, 248, 160), (22, 26, 34)
NECK, TAIL = np.array((126, 203, 112)), np.array((30, 104, 108))
EYES = (((2, 2), (2, 5)), ((2, 5), (5, 5)), ((5, 2), (5, 5)), ((2, 2), (5, 2)))  # heading up, right, down, left


def painter(board: Board) -> Callable[[Any], np.ndarray]:
    squares = np.add.outer(np.arange(board.rows), np.arange(board.columns)) % 2
    floor = CHEQUER[squares].repeat(TILE, 0).repeat(TILE, 1)

    def render(s):
        picture = floor.copy()
        body = [board.place(body_cell(s, i)) for i in range(s.length)]
        food, head = board.place(s.food), body[0]
        area(picture, food, food, inset=1)[1:-1] = FOOD
        area(picture, food, food, inset=1)[:, 1:-1] = FOOD
        for i in range(s.length - 1, 0, -1):  # each reaches over to the one before it, which is drawn on top
            area(picture, body[i], body[i - 1], inset=1)[:] = NECK + (TAIL - NECK) * i // s.length
        tile = area(picture, head, head)
        tile[1:-1, 1:-1] = HEAD
        for row, column in EYES[s.heading]:
            tile[row, column] = EYE
        return picture

    return render


def area(picture: np.ndarray, one: Place, other: Place, inset: int = 0) -> np.ndarray:
    """The pixels of two cells and what is between them, less a margin."""
    (top, bottom), (left, right) = (sorted(pair) for pair in zip(one, other, strict=True))
    return picture[top * TILE + inset : (bottom + 1) * TILE - inset, left * TILE + inset : (right + 1) * TILE - inset]
