"""Probes: one thing this machine can do, done again and again. A figure is the best and the median of its samples.

Machines are busy in stretches, so every probe is sampled in several rounds, seconds apart: what disturbs one round misses the next. The best sample
is the roof; how far the median lies from it says how much the machine was disturbed. Work that keeps one thread busy from beginning to end is timed by
that thread's own clock, which stands still while the system gives its core to somebody else.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Clock = Callable[[], float]
Run = Callable[[int], object]  # does its work so many times over

SECONDS = "s"  # the unit of a probe whose figure is the time of one; every other unit is so much a second
FEWEST = 2  # samples a round takes however long each is
MOST = 10_000  # samples, where a clock stands still
MOST_REPEATS = 4_000_000  # in a sample, for the same reason
SIDE_BY_SIDE = 0.9  # of the slowest thread's time, in which all of them ran
DISTURBED = 1.25  # best and median apart by more than this


class Clocks(NamedTuple):
    """Two ways to tell how long something took."""

    wall: Clock
    own: Clock  # of the thread that asks


def clocks() -> Clocks:
    """This machine's; where a thread's own clock is too coarse, the wall's does for both."""
    is_fine = time.get_clock_info("thread_time").resolution <= 1e-6
    return Clocks(time.perf_counter, time.thread_time if is_fine else time.perf_counter)


class Effort(NamedTuple):
    """How long to look."""

    rounds: int  # of everything
    rounds_more: int  # of what was disturbed
    seconds: float  # a probe gets in each round
    sample_seconds: float  # a sample takes at least: a clock's own cost vanishes in it
    limit: float  # seconds after which no round but the first goes on


FULL = Effort(rounds=3, rounds_more=3, seconds=0.03, sample_seconds=0.002, limit=19.0)
QUICK = Effort(rounds=2, rounds_more=2, seconds=0.01, sample_seconds=0.001, limit=6.0)


@dataclass(frozen=True)
class Probe:
    """What is done, how much work that is, and how it is called."""

    group: str  # memory, arithmetic, calls, processes, disk, gpu
    name: str
    unit: str  # SECONDS: the figure is the time of one; else what is counted a second
    work: float  # how much of it one repeat does, in each thread
    runs: Sequence[Run]  # one for each thread that works on it side by side
    at: Mapping[str, Any] = field(default_factory=dict)  # size, threads, shape, type
    within: Callable[[], AbstractContextManager[Any]] = nullcontext  # settings that hold while it is sampled, and no longer
    is_busy: bool = False  # every run keeps the thread it is in busy, and waits for nothing: no disk, device, process or other thread


class Samples:
    """What a probe has shown so far."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.values: list[float] = []
        self._repeats = 0

    def take(self, effort: Effort, clocks: Clocks) -> None:
        """One round. The first begins with as many repeats as make a sample long enough, which also warms up."""
        clock = clocks.own if self.probe.is_busy and len(self.probe.runs) == 1 else clocks.wall
        with self.probe.within():
            self._repeats = self._repeats or long_enough(self.probe.runs, effort.sample_seconds, clock)
            until = clocks.wall() + effort.seconds
            for taken in range(MOST):
                if taken >= FEWEST and clocks.wall() >= until:
                    break
                seconds = seconds_of(self.probe.runs, self._repeats, clock)
                if seconds > 0:
                    self.values.append(value(self.probe, self._repeats, seconds))

    @property
    def is_disturbed(self) -> bool:
        return not self.values or apart(self.best, statistics.median(self.values))

    @property
    def best(self) -> float:
        return min(self.values) if self.probe.unit == SECONDS else max(self.values)

    def figure(self) -> dict[str, Any]:
        """Best and median, ready for JSON."""
        facts = {"group": self.probe.group, "name": self.probe.name, "at": dict(self.probe.at), "unit": self.probe.unit}
        return {**facts, "best": self.best, "median": statistics.median(self.values), "samples": len(self.values)}


def apart(best: float, median: float) -> bool:
    """Whether half of the samples were far from the best."""
    return max(best, median) > DISTURBED * min(best, median)


def value(probe: Probe, repeats: int, seconds: float) -> float:
    done = probe.work * repeats * len(probe.runs)
    return seconds / done if probe.unit == SECONDS else done / seconds


def long_enough(runs: Sequence[Run], sample_seconds: float, clock: Clock) -> int:
    """Repeats that take at least so long."""
    repeats = 1
    seconds_of(runs, 1, clock)  # the first call may compile, allocate or look something up
    while repeats < MOST_REPEATS:
        seconds = seconds_of(runs, repeats, clock)
        if seconds >= sample_seconds:
            return repeats
        repeats = max(2 * repeats, min(64 * repeats, int(1.2 * repeats * sample_seconds / seconds))) if seconds > 0 else 2 * repeats
    return repeats


def seconds_of(runs: Sequence[Run], repeats: int, clock: Clock) -> float:
    """How long the work took. Threads that ran side by side took as long as the slowest; else, from when the first began to when the last ended."""
    if len(runs) == 1:
        began = clock()
        runs[0](repeats)
        return clock() - began
    ready, spans, mistakes = threading.Barrier(len(runs)), list[tuple[float, float]](), list[Exception]()

    def work(run: Run) -> None:
        ready.wait()
        began = clock()
        try:
            run(repeats)
        except Exception as mistake:
            mistakes.append(mistake)
        spans.append((began, clock()))

    threads = [threading.Thread(target=work, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if mistakes:
        raise mistakes[0]
    return time_side_by_side(spans)


def time_side_by_side(spans: Sequence[tuple[float, float]]) -> float:
    """Of threads that each (began, ended). Those that hardly met did not share anything, so nothing is known but the whole."""
    together = min(ended for _, ended in spans) - max(began for began, _ in spans)
    slowest = max(ended - began for began, ended in spans)
    return slowest if together >= SIDE_BY_SIDE * slowest else max(ended for _, ended in spans) - min(began for began, _ in spans)


def in_rounds(
    probes: Sequence[Probe], effort: Effort, clocks: Clocks, told: Callable[[Probe], None], failed: Callable[[Probe, Exception], None]
) -> list[dict[str, Any]]:
    """The figures of all probes, sampled in turn; then, as long as there is time, more of what was disturbed. One that fails takes no other with it."""
    series = [Samples(probe) for probe in probes]
    until = clocks.wall() + effort.limit
    for number in range(effort.rounds + effort.rounds_more):
        for samples in list(series) if number < effort.rounds else [samples for samples in series if samples.is_disturbed]:
            if number > 0 and clocks.wall() > until:
                break
            told(samples.probe)
            try:
                samples.take(effort, clocks)
            except Exception as mistake:  # a library without this type, a full disk: the rest of the machine can still be measured
                failed(samples.probe, mistake)
                series.remove(samples)
    return [samples.figure() for samples in series if samples.values]
