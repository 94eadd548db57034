"""Phases: the named parts of a training loop, and the stopwatch that shares out every nanosecond among them.

    watch = Stopwatch()
    watch.start()
    while training:
        actions = act(row);  watch.lap(ACT)     # the time since the last lap was spent choosing actions
        envs.step(actions);  watch.lap(STEP)

A lap says what has just happened, so no time can fall between two phases: what belongs to none is `glue`. The sum over all phases
is the wall time by construction, not by luck.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

PHASES = ("reset", "act", "step", "store", "sample", "learn", "sync", "evaluate", "log", "save")
ALL_PHASES = (*PHASES, "glue")
RESET, ACT, STEP, STORE, SAMPLE, LEARN, SYNC, EVALUATE, LOG, SAVE, GLUE = range(len(ALL_PHASES))


Number = TypeVar("Number", int, float)


class Stopwatch:
    """Wall time since `start`, shared out among the phases. A lap costs about 0.15 µs, two clock reads' worth of Python."""

    __slots__ = ("_calls", "_clock", "_last", "_nanoseconds", "_taken")

    def __init__(self, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._clock = clock
        self._nanoseconds = [0] * len(ALL_PHASES)
        self._calls = [0] * len(ALL_PHASES)
        self._taken = [0] * len(ALL_PHASES)
        self._last = clock()

    def start(self) -> None:
        """Time counts from now on; what passed since the last lap is dropped (set-up, or the pause before a resume)."""
        self._last = self._clock()

    def lap(self, phase: int) -> None:
        """The time since the last lap belonged to this phase."""
        now = self._clock()
        self._nanoseconds[phase] += now - self._last
        self._calls[phase] += 1
        self._last = now

    def wall_seconds(self) -> float:
        """All the time counted so far, including what no lap has claimed yet."""
        return (sum(self._nanoseconds) + self._clock() - self._last) / 1e9

    def seconds(self) -> dict[str, float]:
        """Seconds by phase; time that no lap has claimed yet reads as glue. Looking changes nothing."""
        totals = list(self._nanoseconds)
        totals[GLUE] += self._clock() - self._last
        return _by_name([nanoseconds / 1e9 for nanoseconds in totals])

    def calls(self) -> dict[str, int]:
        """How many laps each phase had."""
        return _by_name(self._calls)

    def take_block(self) -> dict[str, float]:
        """Seconds by phase since the last block was taken. Unclaimed time becomes glue, so blocks add up to the whole."""
        now = self._clock()
        self._nanoseconds[GLUE] += now - self._last
        self._last = now
        block = [total - taken for total, taken in zip(self._nanoseconds, self._taken, strict=True)]
        self._taken = list(self._nanoseconds)
        return _by_name([nanoseconds / 1e9 for nanoseconds in block])

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps: plain numbers by phase name."""
        nanoseconds = list(self._nanoseconds)
        nanoseconds[GLUE] += self._clock() - self._last
        return {"nanoseconds": _by_name(nanoseconds), "calls": self.calls(), "taken": _by_name(self._taken)}

    def restore(self, state: Mapping[str, Mapping[str, int]]) -> None:
        """Go on from a saved state, as if no time had passed since; phases the state does not know start at zero."""
        self._nanoseconds = [int(state["nanoseconds"].get(name, 0)) for name in ALL_PHASES]
        self._calls = [int(state["calls"].get(name, 0)) for name in ALL_PHASES]
        self._taken = [int(state["taken"].get(name, 0)) for name in ALL_PHASES]
        self.start()


def _by_name(values: list[Number]) -> dict[str, Number]:
    return dict(zip(ALL_PHASES, values, strict=True))
