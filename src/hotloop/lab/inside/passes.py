"""Passes: when the counting is done. Counting costs several times the speed, so it is a moment of the run, whose time is given to nobody.

The moment begins where learning has just happened and a step was made, and lasts for whole rounds of the loop. A loop that plays for long before it learns for
long is counted in two moments: some steps, then some updates; what happens in a step is divided by steps, and what happens in learning by updates.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

SETTLING_SECONDS = 1.0  # after the anatomy is known, so that first calls and their caches are over
MOMENT_SECONDS = 0.5
ENOUGH_ROUNDS = 100
ENOUGH_STEPS, ENOUGH_UPDATES = 64, 8
LONGEST_SECONDS = 10.0  # for one round


class Clocks(NamedTuple):
    """How often everything had happened."""

    env_steps: int
    vector_steps: int
    updates: int
    episodes: int


class Counts(Protocol):
    """What counting.Counting is to this file."""

    def open(self) -> None: ...
    def close(self) -> Any: ...
    def stop(self) -> None: ...


class CountPass:
    """Asked between two steps and before every update. What is added up between `hold` and `release` is not believed."""

    def __init__(
        self,
        counting: Callable[[], Counts],
        calls: Callable[[], dict[str, int]],  # of every kind of event so far
        hold: Callable[[], None],
        release: Callable[[], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._make, self._calls, self._hold, self._release, self._clock = counting, calls, hold, release, clock
        self.moments: list[dict[str, Any]] = []
        self.is_over = False
        self._counting: Counts | None = None
        self._begun, self._began, self._rounds = Clocks(0, 0, 0, 0), 0.0, 0
        self._last_updates, self._called = 0, dict[str, int]()
        self._ready_at: float | None = None

    @property
    def is_open(self) -> bool:
        return self._counting is not None

    def settled(self) -> None:
        """The loop is known from now on."""
        if self._ready_at is None:
            self._ready_at = self._clock() + SETTLING_SECONDS

    def is_due(self) -> bool:
        """Whether it wants to be asked at every step."""
        return not self.is_over and self._ready_at is not None and (self.is_open or self._clock() >= self._ready_at)

    def between_steps(self, now: Clocks) -> None:
        begins_round, self._last_updates = now.updates != self._last_updates or not now.updates, now.updates
        if self.is_over or self._ready_at is None:
            return
        if not self.is_open:
            if begins_round and not self.moments and self._clock() >= self._ready_at:
                self._open(now)
            return
        self._rounds += begins_round
        took = self._clock() - self._began
        whole = begins_round and self._rounds >= 1 and (took >= MOMENT_SECONDS or self._rounds >= ENOUGH_ROUNDS)
        played = now.vector_steps - self._begun.vector_steps >= ENOUGH_STEPS and took >= MOMENT_SECONDS
        if whole or played or took >= LONGEST_SECONDS:
            self._close(now)

    def before_update(self, now: Clocks) -> None:
        """Learning goes on: where no moment has seen enough of it, one begins or ends here."""
        if self.is_over or not self.moments:
            return
        if not self.is_open:
            self._open(now)
        elif now.updates - self._begun.updates >= ENOUGH_UPDATES and self._clock() - self._began >= MOMENT_SECONDS:
            self._close(now)

    def _open(self, now: Clocks) -> None:
        self._hold()
        self._counting = self._make()
        self._begun, self._began, self._rounds, self._called = now, self._clock(), 0, self._calls()
        self._counting.open()

    def _close(self, now: Clocks) -> None:
        assert self._counting is not None
        counted, self._counting = self._counting.close(), None
        calls = {kind: after - self._called.get(kind, 0) for kind, after in self._calls().items()}
        self._release()
        clocks = {name: after - before for name, after, before in zip(Clocks._fields, now, self._begun, strict=True)}
        self.moments.append({"clocks": clocks, "calls": calls, "counted": counted})
        learned = sum(moment["clocks"]["updates"] for moment in self.moments)
        self.is_over = learned >= ENOUGH_UPDATES or not now.updates or len(self.moments) > 1

    def stop(self) -> None:
        """Count no more, whatever is open; nothing of it is kept."""
        self.is_over = True
        if self._counting is not None:
            self._counting.stop()
            self._counting = None

    def end(self, now: Clocks) -> None:
        """The script is over, or stopped."""
        if self.is_open:
            self._close(now)
        self.is_over = True
