"""What a snake sees: the feature sets, each a table of what its numbers mean and the function that writes them.

Vectors, in `NAMES` number by number. *Danger* is 1 where a move would end the game; *room* is the share of the open cells that could be reached from
there, were the snake to stand still; directions are the board's (up, down, left, right) or the snake's (straight, left, right, back).

    basic      11   danger in the snake's four directions, direction of the food, heading (up: none of the three)
    flood      14   basic, and room in the three directions the snake can turn to
    selective  19   flood, and direction of the tail, and whether any move leaves a way to it
    enhanced   24   selective, and escape routes in three directions (ways on from there, of 3), distance to the food, length
    laptop     19   in the board's directions: danger, food, heading, signed distances to the food, how far the snake sees; length
    compact    16   danger (the tail counts as body), heading, food, signed distances, length

Pictures, in bytes:

    planes     [3, rows, columns]       body, head, food: each 0 or 1
    board      [rows * columns]         0 empty, 1 body, 2 head, 3 food
    window     [(2 * vision + 1)²]      the same around the head, walls counting as body; turned so that ahead is up where actions are relative
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from gymnasium.spaces import Box as GymBox

from hotloop.engine.binding import compiled
from hotloop.engine.env import Box, GameError, state
from hotloop.envs.snake_board import DOWN, LEFT, RIGHT, UP, Board, ahead, body_cell, count_bits, is_open, ways_on

FOOD = ("food is up", "food is down", "food is left", "food is right")
BASIC = ("danger straight", "danger left", "danger right", "danger back", *FOOD, "heading right", "heading down", "heading left")
FLOOD = (*BASIC, "room straight", "room left", "room right")
SELECTIVE = (*FLOOD, "tail is up", "tail is down", "tail is left", "tail is right", "tail in reach")
ENHANCED = (*SELECTIVE, "escape routes straight", "escape routes left", "escape routes right", "distance to food", "length")
LAPTOP = (
    *("danger up", "danger right", "danger down", "danger left"),
    *FOOD,
    *("heading up", "heading right", "heading down", "heading left"),
    *("rows down to food", "columns right to food"),
    *("sight up", "sight right", "sight down", "sight left"),
    "length",
)
COMPACT = (
    *("danger straight", "danger right", "danger back", "danger left"),
    *("heading up", "heading right", "heading down", "heading left"),
    *FOOD,
    *("rows down to food", "columns right to food"),
    *("length", "always 0"),
)
NAMES = {"basic": BASIC, "flood": FLOOD, "selective": SELECTIVE, "enhanced": ENHANCED, "laptop": LAPTOP, "compact": COMPACT}

TURNS = (0, 3, 1, 2)  # straight, left, right, back: quarter turns to the right
MOST_VISION = 31  # a row of the window fits a word


class View(NamedTuple):
    observation: GymBox
    observe: Callable
    scratch: np.dtype | None = None


def view_of(features: str, board: Board, vision: int, relative: bool) -> View:
    if features == "window":
        return window(board, vision, relative)
    return VIEWS[features](board)


# ---------------------------------------------------------------- vectors


def basic(board: Board) -> View:
    return View(Box(0.0, 1.0, (len(BASIC),)), write_basic)


def flood(board: Board) -> View:
    write_rooms = rooms_writer(board)

    def observe(s, obs, scratch):
        write_basic(s, obs)
        write_rooms(s, obs, scratch)

    return View(Box(0.0, 1.0, (len(FLOOD),)), observe, room_to_flood(board))


def selective(board: Board) -> View:
    write_rooms = rooms_writer(board)

    def observe(s, obs, scratch):
        write_basic(s, obs)
        obs[18] = write_rooms(s, obs, scratch)
        write_direction(obs, 14, s.head, body_cell(s, s.length - 1))

    return View(Box(0.0, 1.0, (len(SELECTIVE),)), observe, room_to_flood(board))


def enhanced(board: Board) -> View:
    cells, farthest = board.cells, board.rows + board.columns - 2
    write_rooms = rooms_writer(board)

    def observe(s, obs, scratch):
        head = s.head
        write_basic(s, obs)
        obs[18] = write_rooms(s, obs, scratch)
        write_direction(obs, 14, head, body_cell(s, s.length - 1))
        for i in range(3):
            cell = ahead(head, (s.heading + TURNS[i]) & 3)
            obs[19 + i] = ways_on(s, cell) / 3 if is_open(s, cell) else 0.0
        obs[22] = (abs((s.food >> 6) - (head >> 6)) + abs((s.food & 63) - (head & 63))) / farthest
        obs[23] = s.length / cells

    return View(Box(0.0, 1.0, (len(ENHANCED),)), observe, room_to_flood(board))


def laptop(board: Board) -> View:
    rows, columns, cells = board.rows, board.columns, board.cells

    def observe(s, obs):
        head = s.head
        for heading in range(4):
            distance = clear_cells(s, head, heading)
            obs[heading] = distance == 0
            obs[8 + heading] = s.heading == heading
            obs[14 + heading] = distance / (columns if heading & 1 else rows)
        write_direction(obs, 4, head, s.food)
        obs[12] = ((s.food >> 6) - (head >> 6)) / rows
        obs[13] = ((s.food & 63) - (head & 63)) / columns
        obs[18] = s.length / cells

    return View(Box(*bounds(LAPTOP), (len(LAPTOP),)), observe)


def compact(board: Board) -> View:
    each_row, each_column, each_cell = 1.0 / board.rows, 1.0 / board.columns, 1.0 / board.cells  # a product costs a GPU a tenth of a division

    def observe(s, obs):
        head, tail = s.head, body_cell(s, s.length - 1)
        heading, food = s.heading, s.food
        obs[14] = s.length * each_cell
        for i in range(4):
            cell = ahead(head, (heading + i) & 3)
            obs[i] = 1 - is_open(s, cell) | int(cell == tail)
            obs[4 + i] = heading == i
        write_direction(obs, 8, head, food)
        obs[12] = ((food >> 6) - (head >> 6)) * each_row
        obs[13] = ((food & 63) - (head & 63)) * each_column
        obs[15] = 0.0

    return View(Box(*bounds(COMPACT), (len(COMPACT),)), observe)


def bounds(names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Signed distances reach from -1 to 1, everything else from 0."""
    return np.array([-1.0 if name.endswith("to food") else 0.0 for name in names]), np.ones(len(names))


@compiled
def write_basic(s, obs):
    head = s.head
    for i in range(4):
        obs[i] = 1 - is_open(s, ahead(head, (s.heading + TURNS[i]) & 3))
    write_direction(obs, 4, head, s.food)
    obs[8] = s.heading == RIGHT
    obs[9] = s.heading == DOWN
    obs[10] = s.heading == LEFT


@compiled
def write_direction(obs, i, head, goal):
    """Four numbers from the i-th on: is the goal up, down, left, right of the head?"""
    obs[i] = goal >> 6 < head >> 6
    obs[i + 1] = goal >> 6 > head >> 6
    obs[i + 2] = goal & 63 < head & 63
    obs[i + 3] = goal & 63 > head & 63


@compiled
def clear_cells(s, cell, heading):
    """How many cells lie open in a direction."""
    distance = 0
    cell = ahead(cell, heading)
    while is_open(s, cell):
        distance += 1
        cell = ahead(cell, heading)
    return distance


# ---------------------------------------------------------------- flood fill


def room_to_flood(board: Board) -> np.dtype:
    return state(reached=("i8", (board.rows + 2,)))


def rooms_writer(board: Board) -> Callable:
    """A function that writes the room in three directions (numbers 11, 12, 13) and returns whether the tail is in reach of any."""
    cells = board.cells
    fill = filler(board)

    @compiled
    def write_rooms(s, obs, scratch):
        head, tail, reached = s.head, body_cell(s, s.length - 1), scratch.reached
        room, tail_in_reach = 0, 0
        for turn in range(-1, 2):
            cell = ahead(head, (s.heading + turn) & 3)
            share = 0.0
            if is_open(s, cell):
                if room == 0 or not holds(reached, cell):  # mostly the last fill holds this cell too
                    room = fill(s, cell, reached)
                share = room / (cells - s.length + 1)
                tail_in_reach |= holds(reached, tail)
            obs[(12, 11, 13)[turn + 1]] = share
        return tail_in_reach

    return write_rooms


def filler(board: Board) -> Callable:
    """A function that marks every open cell in reach of one, and counts them.

    A whole row is filled at once, in a word; sweeps down and up carry the fill from row to row until one of them adds nothing.
    """
    rows, doublings = board.rows, (board.columns - 1).bit_length()

    @compiled
    def along(row, seeds):
        """The open cells of a row that can be walked to, along it, from the seeds."""
        reached = seeds | ((row + seeds) ^ row) & row  # rightwards: the carry of the sum runs on until it meets a wall
        path = row
        for i in range(doublings):  # leftwards: 1, 2, 4, … cells at a time, where all of them are open
            reached |= path & (reached >> (1 << i))
            path &= path >> (1 << i)
        return reached

    @compiled
    def fill(s, cell, reached):
        for row in range(rows + 2):
            reached[row] = 0
        reached[cell >> 6] = along(s.open[cell >> 6], 1 << (cell & 63))
        row, onward, growing = cell >> 6, 1, True
        while True:
            row += onward
            if 0 < row <= rows:
                seeds = reached[row] | (reached[row - 1] | reached[row + 1]) & s.open[row]
                if seeds != reached[row]:
                    reached[row] = along(s.open[row], seeds)
                    growing = True
            elif growing:
                onward, growing = -onward, False
            else:
                break
        count = 0
        for row in range(1, rows + 1):
            count += count_bits(reached[row])
        return count

    return fill


@compiled
def holds(reached, cell):
    return reached[cell >> 6] >> (cell & 63) & 1


# ---------------------------------------------------------------- pictures


def planes(board: Board) -> View:
    rows, columns, open_row = board.rows, board.columns, board.open_row

    def observe(s, obs):
        obs[:] = 0
        for row in range(rows):
            if s.open[row + 1] != open_row:  # most rows have nothing on them
                closed = ~s.open[row + 1] >> 1
                for column in range(columns):
                    obs[0, row, column] = closed >> column & 1
        head, tail = s.head, body_cell(s, s.length - 1)
        obs[0, (tail >> 6) - 1, (tail & 63) - 1] = 1
        obs[0, (head >> 6) - 1, (head & 63) - 1] = 0
        obs[1, (head >> 6) - 1, (head & 63) - 1] = 1
        obs[2, (s.food >> 6) - 1, (s.food & 63) - 1] = 1

    return View(Box(0, 1, (3, rows, columns), np.uint8), observe)


def flat_board(board: Board) -> View:
    rows, columns, open_row = board.rows, board.columns, board.open_row

    def observe(s, obs):
        obs[:] = 0
        for row in range(rows):
            if s.open[row + 1] != open_row:
                closed = ~s.open[row + 1] >> 1
                for column in range(columns):
                    obs[row * columns + column] = closed >> column & 1
        head, tail = s.head, body_cell(s, s.length - 1)
        obs[((tail >> 6) - 1) * columns + (tail & 63) - 1] = 1
        obs[((s.food >> 6) - 1) * columns + (s.food & 63) - 1] = 3
        obs[((head >> 6) - 1) * columns + (head & 63) - 1] = 2

    return View(Box(0, 3, (board.cells,), np.uint8), observe)


def window(board: Board, vision: int, turning: bool) -> View:
    if not 1 <= vision <= MOST_VISION:
        raise GameError(f"vision must be 1 to {MOST_VISION} cells, found {vision}; try 2")
    rows, width = board.rows, 2 * vision + 1
    within = vision == 1  # so small a window never reaches beyond the rim

    def observe(s, obs):
        head, heading = s.head, s.heading if turning else UP
        down = strides(width, heading)
        right = strides(width, (heading + 1) & 3)
        centre = vision * width + vision
        tail = body_cell(s, s.length - 1)
        left = (head & 63) - vision
        for y in range(-vision, vision + 1):
            row = (head >> 6) + y
            seen = s.open[row] if within or 0 < row <= rows else 0
            seen &= ~(int(row == tail >> 6) << (tail & 63))  # the tail is there until the next step
            closed = ~(seen >> left if within or left >= 0 else seen << -left)
            for x in range(width):
                obs[centre + y * down + (x - vision) * right] = closed >> x & 1
        y, x = (s.food >> 6) - (head >> 6), (s.food & 63) - (head & 63)
        if abs(y) <= vision and abs(x) <= vision:
            obs[centre + y * down + x * right] = 3
        obs[centre] = 2

    return View(Box(0, 3, (width * width,), np.uint8), observe)


@compiled
def strides(width, heading):
    """How far apart in the window are two cells of the board one below the other, when the window is turned to this heading?"""
    if heading & 1:
        return 2 - heading
    return (1 - heading) * width


VIEWS: dict[str, Callable[[Board], View]] = {
    "basic": basic,
    "flood": flood,
    "selective": selective,
    "enhanced": enhanced,
    "laptop": laptop,
    "compact": compact,
    "planes": planes,
    "board": flat_board,
}
