"""Blocks: how far everything had come at a few hundred moments of the run, always between two steps. Drift is read from these."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from hotloop.lab.account import owner
from hotloop.lab.inside.events import KINDS, K, Recorder
from hotloop.lab.inside.passes import Clocks
from hotloop.records.machine import memory_mb
from hotloop.records.phases import ALL_PHASES, PHASES

FIRST_SECONDS = 0.25
MOST_ROWS = 400
COUNTS = ("seconds", *Clocks._fields, "rss_mb", "heap_blocks", "gc_seconds", "looking_seconds")
COLUMNS = (*COUNTS, *(f"{phase}_seconds" for phase in ALL_PHASES), *(f"{phase}_calls" for phase in PHASES))
OWNERS = [owner(f"{KINDS[k // K]}>{KINDS[k % K]}") for k in range(K * K)]  # whose the time between two events is


class Blocks:
    """Rows of cumulative numbers. Where there are too many, every second goes and the next are twice as far apart."""

    def __init__(self, began: int, seconds: float = FIRST_SECONDS, most: int = MOST_ROWS) -> None:
        self.rows: list[list[float]] = []
        self.due = began  # when the next row is: nanoseconds on the recorder's clock
        self.garbage = Garbage()
        self.began, self._every, self._most = began, int(1e9 * seconds), most

    def take(self, now: int, recorder: Recorder, clocks: Clocks) -> None:
        counted = [(now - self.began) / 1e9, *clocks, memory_mb(), sys.getallocatedblocks(), self.garbage.seconds, recorder.looked / 1e9]
        self.rows.append(counted + spent(recorder))
        if len(self.rows) > self._most:
            self.rows, self._every = self.rows[::2], 2 * self._every
        self.due = now + self._every

    def table(self) -> dict[str, Any]:
        return {"columns": list(COLUMNS), "rows": self.rows}


class Garbage:
    """How long the garbage collector has worked; Python calls it at both ends of every collection."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds, self._clock, self._began = 0.0, clock, 0.0

    def __call__(self, moment: str, info: dict[str, int]) -> None:
        if moment == "start":
            self._began = self._clock()
        else:
            self.seconds += self._clock() - self._began


def spent(recorder: Recorder) -> list[float]:
    """Seconds of every phase and of the glue so far, then calls."""
    seconds, calls = dict.fromkeys(ALL_PHASES, 0), dict.fromkeys(PHASES, 0)
    for kind, inside, times in zip(KINDS, recorder.inside, recorder.calls, strict=True):
        if kind in calls:
            seconds[kind] += inside
            calls[kind] += times
    for name, gap in zip(OWNERS, recorder.gaps, strict=True):
        if gap and name in seconds:
            seconds[name] += gap
    return [nanoseconds / 1e9 for nanoseconds in seconds.values()] + list(calls.values())
