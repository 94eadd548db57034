"""Sampler: at every beat, which phase is it and on which lines does the stack stand? Looking keeps numbers only; names are read when somebody asks."""

from __future__ import annotations

import time
from types import CodeType, FrameType
from typing import Any

from hotloop.lab.inside.anatomy import is_ours
from hotloop.lab.inside.events import KINDS

MOST_STACKS = 20_000
DEEPEST = 120
START_UP = 2 * len(KINDS)

Key = tuple[int, ...]  # the state, then code and instruction of every frame, innermost first


class Sampler:
    """What the beats saw. A state is the kind of event it is within; between two events, K + the kind of the last one; before the first step, START_UP."""

    def __init__(self, outermost: CodeType | None = None) -> None:
        self.outermost = outermost  # the function of ours that runs the script: what is above it is not the script's
        self.beats = self.dropped = 0
        self.nanoseconds = 0  # what looking took
        self._first = self._last = 0
        self._codes: dict[int, CodeType] = {}
        self._counts: dict[Key, int] = {}

    def see(self, frame: FrameType | None, state: int) -> None:
        """One beat."""
        began = time.perf_counter_ns()
        codes, seen, depth = self._codes, [state], 0
        while frame is not None and depth < DEEPEST:
            code = frame.f_code
            if code is self.outermost:
                break
            number = id(code)
            codes[number] = code
            seen += (number, frame.f_lasti)
            frame, depth = frame.f_back, depth + 1
        key = tuple(seen)
        known = self._counts.get(key)
        if known is not None:
            self._counts[key] = known + 1
        elif len(self._counts) < MOST_STACKS:
            self._counts[key] = 1
        else:
            self.dropped += 1
        self.beats += 1
        self._first = self._first or began
        self._last = began
        self.nanoseconds += time.perf_counter_ns() - began

    def seen(self) -> dict[str, Any]:
        """As JSON: frames once each, stacks outermost first, ours left out; the same lines are one stack, whatever the instruction."""
        frames: dict[int, int] = {}
        lines: dict[tuple[int, int], int] = {}
        stacks: dict[tuple[str, tuple[tuple[int, int], ...]], int] = {}
        for key, count in dict(self._counts).items():  # a copy at once: a beat may come while tuples are being made
            places = [(key[i], key[i + 1]) for i in range(len(key) - 2, 0, -2) if not is_ours(self._codes[key[i]])]
            stack = tuple((frames.setdefault(code, len(frames)), self._line(code, at, lines)) for code, at in places)
            where = state_name(key[0]), stack
            stacks[where] = stacks.get(where, 0) + count
        return {
            "ticks": self.beats,
            "dropped": self.dropped,
            "seconds_each": (self._last - self._first) / 1e9 / max(self.beats - 1, 1),
            "frames": [frame_of(self._codes[code]) for code in frames],
            "stacks": [{"state": state, "stack": [list(place) for place in stack], "ticks": count} for (state, stack), count in stacks.items()],
        }

    def _line(self, code: int, at: int, known: dict[tuple[int, int], int]) -> int:
        line = known.get((code, at))
        if line is None:
            line = known[code, at] = line_of(self._codes[code], at)
        return line


def state_name(state: int) -> str:
    if state == START_UP:
        return "start-up"
    return KINDS[state] if state < len(KINDS) else f"after {KINDS[state - len(KINDS)]}"


def frame_of(code: CodeType) -> dict[str, Any]:
    return {"function": code.co_qualname, "file": code.co_filename, "line": code.co_firstlineno}


def line_of(code: CodeType, at: int) -> int:
    """The line an instruction stands on."""
    return next((line for start, end, line in code.co_lines() if start <= at < end and line is not None), code.co_firstlineno)
