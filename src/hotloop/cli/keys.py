"""Keys: single key presses from a terminal, without Enter; the terminal is left as it was found, whatever happens."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ARROWS = {"\x1b[A": "up", "\x1b[B": "down", "\x1b[C": "right", "\x1b[D": "left", "\x1bOA": "up", "\x1bOB": "down", "\x1bOC": "right", "\x1bOD": "left"}
WINDOWS_ARROWS = {"H": "up", "P": "down", "M": "right", "K": "left"}
LETTERS = {"w": "up", "s": "down", "d": "right", "a": "left", " ": "pause", "q": "quit", "\x03": "quit", "\x1b": "quit"}

Read = Callable[[float], str]  # waits so many seconds at most; empty if nothing was pressed


def meaning(pressed: str) -> str:
    """`up`, `down`, `left`, `right`, `pause`, `quit`, or the character itself."""
    return ARROWS.get(pressed) or LETTERS.get(pressed.lower()) or pressed


@contextmanager
def keyboard() -> Iterator[Read]:
    if sys.platform == "win32":
        yield _read_windows
        return
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        yield lambda seconds: _read_unix(terminal, seconds)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _read_unix(terminal: int, seconds: float) -> str:
    """What arrives within the time; an arrow's three characters arrive together. Of several presses the last counts."""
    import select

    if not select.select([terminal], [], [], max(0.0, seconds))[0]:
        return ""
    return meaning(last_press(os.read(terminal, 256).decode(errors="replace")))


def last_press(text: str) -> str:
    """The last key in what was typed."""
    for arrow in ARROWS:
        if text.endswith(arrow):
            return arrow
    return text[-1:]


def _read_windows(seconds: float) -> str:
    import msvcrt  # Windows only

    until = time.monotonic() + seconds
    while not msvcrt.kbhit():  # type: ignore[attr-defined]
        if time.monotonic() >= until:
            return ""
        time.sleep(0.005)
    pressed: str = msvcrt.getwch()  # type: ignore[attr-defined]
    if pressed in ("\x00", "\xe0"):
        return WINDOWS_ARROWS.get(msvcrt.getwch(), "")  # type: ignore[attr-defined]
    return meaning(pressed)
