"""Scripted Snake players: what an agent has to beat.

    player = PLAYERS["greedy"](env)
    action = player(envs.game(0))

Each is made for an env, reads the plain state of a game and answers with an action in the env's own scheme.

    random        any action
    greedy        the safe move that ends nearest to the food
    astar         the shortest way to the food round the body as it lies; where there is none, the move with the most room
    hamiltonian   one cycle through every cell, for ever: slow, and fills the board; needs an even number of cells
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hotloop.engine.env import Env
from hotloop.envs.snake import distance
from hotloop.envs.snake_board import Board, Place, ahead, body_cell, is_open

Player = Callable[[Any], int]  # game -> action
HEADINGS = range(4)


def random_player(env: Env, seed: int = 0) -> Player:
    rng = np.random.default_rng(seed)
    num_actions = env.num_choices

    def act(game: Any) -> int:
        return int(rng.integers(num_actions))

    return act


def greedy(env: Env, seed: int = 0) -> Player:
    def choose(game: Any) -> int | None:
        return min(safe_headings(game), key=lambda heading: distance(ahead(game.head, heading), game.food), default=None)

    return steering(env, choose)


def astar(env: Env, seed: int = 0) -> Player:
    def choose(game: Any) -> int | None:
        heading = way_to_food(game)
        if heading is not None:
            return heading
        return max(safe_headings(game), key=lambda heading: len(reachable(game, ahead(game.head, heading))), default=None)

    return steering(env, choose)


def hamiltonian(env: Env, seed: int = 0) -> Player:
    board = board_of(env)
    cycle = [board.cell(*place) for place in hamiltonian_cycle(board)]
    after = dict(zip(cycle, cycle[1:] + cycle[:1], strict=True))
    before = {cell: previous for previous, cell in after.items()}

    def choose(game: Any) -> int | None:
        head, neck = game.head, body_cell(game, 1)
        target = before[head] if after[head] == neck else after[head]  # round the cycle the way the snake is already going
        return next(heading for heading in HEADINGS if ahead(head, heading) == target)

    return steering(env, choose)


PLAYERS: dict[str, Callable[..., Player]] = {"random": random_player, "greedy": greedy, "astar": astar, "hamiltonian": hamiltonian}


def steering(env: Env, choose: Callable[[Any], int | None]) -> Player:
    """A player from what chooses a heading (None: straight on), in the env's own actions."""
    board_of(env)
    relative = env.settings["actions"] == "relative"

    def act(game: Any) -> int:
        heading = choose(game)
        if heading is None:
            heading = game.heading
        return (heading - game.heading + 1) & 3 if relative else heading

    return act


def board_of(env: Env) -> Board:
    if env.name != "snake":
        raise ValueError(f"scripted players play snake, found {env.name}; try random")
    return Board.of(env.settings["size"])


def safe_headings(game: Any) -> list[int]:
    return [heading for heading in HEADINGS if is_open(game, ahead(game.head, heading))]


def reachable(game: Any, start: int) -> set[int]:
    """The cells that can be walked to, were the snake to stand still."""
    reached, border = {start}, [start]
    while border:
        for cell in ways_from(game, border.pop()):
            if cell not in reached:
                reached.add(cell)
                border.append(cell)
    return reached


def ways_from(game: Any, cell: int) -> Iterator[int]:
    return (there for heading in HEADINGS if is_open(game, there := ahead(cell, heading)))


def way_to_food(game: Any) -> int | None:
    """The first heading of a shortest way to the food, by A*; None where the body closes every way."""
    head, food = game.head, game.food
    border = [(distance(ahead(head, heading), food), 1, ahead(head, heading), heading) for heading in safe_headings(game)]
    heapq.heapify(border)
    visited = set()
    while border:
        _, steps, cell, first = heapq.heappop(border)
        if cell == food:
            return first
        if cell in visited:
            continue
        visited.add(cell)
        for there in ways_from(game, cell):
            heapq.heappush(border, (steps + 1 + distance(there, food), steps + 1, there, first))
    return None


def hamiltonian_cycle(board: Board) -> list[Place]:
    """Down in snaking rows through all columns but the first, and back up the first; on its side where only the columns are even."""
    if board.rows % 2 == 0:
        return [Place(row, column) for row, column in snaking(board.rows, board.columns)]
    if board.columns % 2 == 0 and board.rows > 1:
        return [Place(row, column) for column, row in snaking(board.columns, board.rows)]
    raise ValueError(f"a cycle through every cell needs an even number of cells in at least two rows, found {board.rows}x{board.columns}; try 10x10")


def snaking(rows: int, columns: int) -> Iterator[tuple[int, int]]:
    for row in range(rows):
        along = range(1, columns)
        yield from ((row, column) for column in (along if row % 2 == 0 else reversed(along)))
    yield from ((row, 0) for row in reversed(range(rows)))
