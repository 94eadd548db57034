"""Showing a game: frames of an agent at play, and frames on a terminal."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hotloop.cli.errors import UsageError
from hotloop.cli.games import make_games

if TYPE_CHECKING:
    from hotloop.engine.evaluate import Policy
    from hotloop.engine.vecenv import VecEnv

SMALLEST = 40  # pixels the longer side of a frame gets at least, where the terminal has them
HIDE_CURSOR, SHOW_CURSOR, HOME, TO_END_OF_LINE, TO_END_OF_SCREEN, CLEAR = "\x1b[?25l", "\x1b[?25h", "\x1b[H", "\x1b[K", "\x1b[J", "\x1b[2J"
OTHER_SCREEN, USUAL_SCREEN = "\x1b[?1049h", "\x1b[?1049l"


class Shown(NamedTuple):
    """A moment of a game."""

    frame: np.ndarray  # [height, width, 3]
    steps: int
    score: float
    ending: str  # how the episode ended with this step; empty while it goes on


def one_game(name: str, settings: Mapping[str, Any], seed: int, target: str) -> VecEnv:
    """A game that can be drawn."""
    drawn = {"render_mode": "rgb_array"} if name.startswith("gym:") else {}
    envs = make_games(name, {**settings, **drawn}, 1, seed=seed, target=target)
    if envs.env.render is None:
        raise UsageError(f"expected a game that can be drawn, found {envs.env.name} without render; try giving its Env a render(s) -> picture")
    return envs


def moments(envs: VecEnv, policy: Policy, episodes: int) -> Iterator[Shown]:
    """Every moment of so many episodes. An ending is told over the last picture: the game itself is already the next one."""
    envs.reset()
    for _ in range(episodes):
        moment = look(envs, 0)
        yield moment
        while not moment.ending:
            policy(envs.obs, envs.actions)
            before, moment = moment, step(envs, moment.steps + 1)
            yield moment._replace(frame=before.frame) if moment.ending else moment


def step(envs: VecEnv, steps: int) -> Shown:
    """One step with the actions written, and what can be seen then. (After an ending that is already the next episode.)"""
    outcome = envs.step(envs.actions)
    if not (outcome.terminated[0] or outcome.truncated[0]):
        return look(envs, steps)
    books = envs.books[0]
    return Shown(picture(envs), int(books["length"]), float(books["score"]), ("cut off", *envs.env.endings)[int(books["ending"])])


def look(envs: VecEnv, steps: int) -> Shown:
    score = getattr(envs.env, "score", None)
    return Shown(picture(envs), steps, float(score(envs.game(0))) if score else math.nan, "")


def picture(envs: VecEnv) -> np.ndarray:
    assert envs.env.render is not None
    return np.asarray(envs.env.render(envs.game(0)))


# ---------------------------------------------------------------- on a terminal


@contextmanager
def screen(output: IO[str]) -> Iterator[None]:
    """A screen of its own, without a cursor; the former one comes back whatever happens."""
    output.write(OTHER_SCREEN + HIDE_CURSOR + CLEAR)
    try:
        yield
    finally:
        output.write(SHOW_CURSOR + USUAL_SCREEN)
        output.flush()


def draw(frame: np.ndarray, below: str, output: IO[str] | None = None) -> None:
    """A frame in the top left corner, and a line of text under it."""
    from hotloop.report.animation import to_text

    output = output or sys.stdout
    columns, lines = shutil.get_terminal_size()
    text = to_text(fitted(frame, columns, 2 * (lines - 2))).replace("\n", TO_END_OF_LINE + "\n")
    output.write(f"{HOME}{text}{TO_END_OF_LINE}\n{below[:columns]}{TO_END_OF_LINE}{TO_END_OF_SCREEN}")
    output.flush()


def fitted(frame: np.ndarray, width: int, height: int) -> np.ndarray:
    """A large frame reduced to what fits, a tiny one enlarged, both in whole pixels so that squares stay squares."""
    from PIL import Image

    rows, columns, _ = frame.shape
    if rows > height or columns > width:
        return np.asarray(Image.fromarray(frame).reduce(max(math.ceil(rows / height), math.ceil(columns / width))))
    times = max(1, min(SMALLEST // max(rows, columns), height // rows, width // columns))
    return frame.repeat(times, 0).repeat(times, 1)


def caption(moment: Shown) -> str:
    score = "" if math.isnan(moment.score) else f"score {moment.score:g}   "
    return f"{score}step {moment.steps}   {moment.ending}"


def needs_terminal(stream: Any, for_what: str) -> None:
    if not stream.isatty():
        raise UsageError(f"expected a terminal {for_what}, found a pipe or a file; try it in a terminal window")
