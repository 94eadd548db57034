"""Events: what happens in a training loop, when, and what lay between. The probes add up nanoseconds and judge nothing.

A probe stands around a function that is known to be an env's step, a network's forward pass, a buffer's sample … Time inside goes to its kind; time between two
of them goes to the pair (what was before, what came after); account.py decides what a pair means. A forward pass *waits* for the next decisive event: a
step makes it acting, a backward pass or an update makes it learning.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from hotloop.lab.inside.shortcuts import probe_shortcut
from hotloop.lab.inside.trampoline import Shortcut

START, STEP, RESET, ACT, LEARN, SAMPLE, STORE, SYNC, LOG, SAVE, EVALUATE, FORWARD = range(12)
KINDS = ("start", "step", "reset", "act", "learn", "sample", "store", "sync", "log", "save", "evaluate", "forward")
K = len(KINDS)
NOWHERE = -1  # between events
MOST_LOGGED = 3000  # events in a window of single ones

Look = Callable[[int, Any], None]  # (kind, frame the event came from)
Seen = Callable[[bool], None]
Make = Callable[[Callable[..., Any]], Callable[..., Any]]


def nobody(outermost: bool) -> None:
    """Nobody asked."""


class Recorder:
    """Sums of a window, and the probes that add to them. Other threads than the one it was made in are let through unmeasured."""

    def __init__(self, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self.inside = [0] * K  # nanoseconds within events of a kind, less what other events within them took
        self.gaps = [0] * (K * K)  # [before * K + after] nanoseconds between events
        self.calls = [0] * K
        self._look: Look | None = None
        self.on_step: Callable[[Any, Any], None] | None = None  # (what step returned, its first argument): counts games and episodes
        self.on_memory: Callable[[Any], None] | None = None  # given what a store or a sample was called with, while the anatomy is being found
        self.batches: dict[int, int] = {}  # rows of the first tensor of learning forward passes → how often, while the anatomy is being found
        self.looked = 0  # nanoseconds spent on finding the anatomy, which belong to no event
        self.clock, self.thread = clock, threading.get_ident()
        self.may_move = True  # until the first env step: the loop is in the thread that makes it
        self._stepping, self._rows = False, 0
        self._marked = False  # the script says itself what it is doing
        self.on_mark: Callable[[], None] | None = None  # told of every end of a mark that says: a step
        self._attentive = False  # somebody wants to be told of every event, or its times to be kept
        self.logs: list[list[list[int]]] = []  # windows of single events: [kind, began, ended, depth]
        self._logging, self._open, self._waiting_log = False, list[list[int]](), list[list[int]]()
        self._kind, self._before, self._last = NOWHERE, START, clock()
        self._waiting, self._waiting_gap, self._waiting_inside, self._waiting_calls = False, 0, 0, 0

    @property
    def look(self) -> Look | None:
        """Told of every event while the anatomy is being found."""
        return self._look

    @look.setter
    def look(self, look: Look | None) -> None:
        self._look = look
        self._attentive = look is not None or self._logging

    # ------------------------------------------------------------------ probes

    def probe(self, kind: int, seen: Seen = nobody) -> Make:
        """What stands around a function of this kind. While the anatomy is being found, `seen` is told whether it was the outermost of its kind."""
        ident = threading.get_ident

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def probed(*args: Any, **kwargs: Any) -> Any:
                outer = self._kind
                if outer == kind or outer == EVALUATE or self._marked or ident() != self.thread:  # noqa: SIM109 - a tuple would be made at every call
                    if self._look is not None:
                        seen(False)
                    return original(*args, **kwargs)
                return self._probed(kind, seen, original, args, kwargs)

            return probed

        return make

    def _probed(self, kind: int, seen: Seen, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if self._look is not None:
            seen(True)
            if self.on_memory is not None and kind in (STORE, SAMPLE):
                self.on_memory(args)
        outer = self.enter(kind)
        try:
            return original(*args, **kwargs)
        finally:
            self.leave(kind, outer)

    def probe_step(self, seen: Seen = nobody) -> Make:
        """What stands around an environment's own step, wrappers' included: the outermost is measured and counted."""
        ident = threading.get_ident

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def probed(*args: Any, **kwargs: Any) -> Any:
                kind = self._kind
                if self._stepping or kind == EVALUATE or (ident() != self.thread and not self._moves_here()):
                    if self._look is not None:
                        seen(False)
                    return original(*args, **kwargs)
                self._stepping = True
                try:
                    if kind == STEP or self._marked:  # within a function that is the step, or is said to be something
                        result = original(*args, **kwargs)
                    else:
                        result = self._probed(STEP, seen, original, args, kwargs)
                finally:
                    self._stepping = False
                if self.on_step is not None:
                    if kind != NOWHERE:
                        self._account_up_to_now()
                    self.on_step(result, args[0] if args else None)
                    now = self.clock()
                    self.looked += now - self._last  # counting is our business, not the loop's
                    self._last = now
                return result

            return probed

        return make

    def shortcut(self, kind: int, *, step: bool = False) -> Shortcut:
        """The same where nothing is unusual: between two events, with nobody looking, in the thread that is measured."""
        return probe_shortcut(self, kind, K, step=step)

    def __reduce__(self) -> Any:
        """Where a script sends a probed function to another process, this goes along: somebody in the middle of an event, so that nothing is measured there."""
        return SimpleNamespace, (), {"_kind": START, "_stepping": True}

    def _moves_here(self) -> bool:
        """Whether the loop turns out to be in this thread, and not where the script began. A pool's threads do what a loop elsewhere tells them to."""
        if not self.may_move or self._kind != NOWHERE or self.thread == NOWHERE or is_of_a_pool(threading.current_thread()):
            return False
        self.thread = threading.get_ident()
        return True

    def mark(self, kind: int) -> tuple[int, bool] | None:
        """The script says that it does this, until `unmark`. What is inferred meanwhile is a part of it."""
        if threading.get_ident() != self.thread:
            return None
        begun = self.enter(kind), self._marked
        self._marked = True
        return begun

    def unmark(self, kind: int, begun: tuple[int, bool] | None) -> None:
        if begun is not None:
            outer, self._marked = begun
            self.leave(kind, outer)
            if kind == STEP and self.on_mark is not None:
                self.on_mark()

    def forward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """What stands around a network's forward pass: inside any other event it is that event's business."""
        ident = threading.get_ident

        def probed(*args: Any, **kwargs: Any) -> Any:
            if self._kind != NOWHERE or ident() != self.thread:
                return original(*args, **kwargs)
            self.enter_forward(args[1] if len(args) > 1 else None)
            try:
                return original(*args, **kwargs)
            finally:
                self.leave_forward()

        return probed

    def enter(self, kind: int) -> int:
        """An event begins; gives what to tell `leave`."""
        now, outer = self.clock(), self._kind
        if outer == NOWHERE:
            if self._waiting:
                self._settle(LEARN if kind in (LEARN, SAMPLE) else ACT)
            self.gaps[self._before * K + kind] += now - self._last
        else:
            self.inside[outer] += now - self._last
        self.calls[kind] += 1
        if outer == NOWHERE and self._look is not None:
            self._look(kind, sys._getframe(2))
            self.looked += self.clock() - now
            now = self.clock()
        if self._logging:
            self._log(kind, now)
        self._kind, self._last = kind, now
        return outer

    def leave(self, kind: int, outer: int) -> None:
        now = self.clock()
        self.inside[kind] += now - self._last
        self._kind, self._last = outer, now
        if self._open:
            self._open.pop()[2] = now
        if outer == NOWHERE:
            self._before = kind

    def enter_forward(self, given: Any) -> None:
        now = self.clock()
        if self._waiting:
            self._waiting_inside += now - self._last
        else:
            self._waiting, self._waiting_gap, self._waiting_inside, self._waiting_calls = True, now - self._last, 0, 0
        if self._look is not None:
            self._look(FORWARD, sys._getframe(2))
            self._rows = rows_of(given)
            self.looked += self.clock() - now
            now = self.clock()
        if self._logging:
            self._waiting_log.append(self._log(FORWARD, now))
        self._kind, self._last = FORWARD, now

    def leave_forward(self) -> None:
        now = self.clock()
        self._waiting_inside += now - self._last
        self._waiting_calls += 1
        self._kind, self._last = NOWHERE, now
        if self._open:
            self._open.pop()[2] = now

    def _settle(self, kind: int) -> None:
        """The forward passes that waited were of this kind all along."""
        self.gaps[self._before * K + kind] += self._waiting_gap
        self.inside[kind] += self._waiting_inside
        self.calls[kind] += self._waiting_calls
        self._before, self._waiting = kind, False
        for event in self._waiting_log:
            event[0] = kind
        self._waiting_log.clear()
        if self._look is not None and kind == LEARN:
            self.batches[self._rows] = self.batches.get(self._rows, 0) + 1

    # ------------------------------------------------------------------ events one by one, for a moment

    def begin_log(self) -> None:
        """Keep the times of the next few thousand events, each; one that has begun already is left out."""
        self.logs.append([])
        self._logging = self._attentive = True

    def _log(self, kind: int, now: int) -> list[int]:
        log, event = self.logs[-1], [kind, now, now, len(self._open)]
        log.append(event)
        self._open.append(event)
        if len(log) >= MOST_LOGGED and len(self._open) == 1:
            log.pop()
            self._open.clear()
            self._logging, self._attentive = False, self._look is not None
        return event

    # ------------------------------------------------------------------ sums

    def start(self) -> None:
        """Time counts from now on."""
        self._last = self.clock()

    def hold(self) -> None:
        """What is added up from now on is not to be believed: a look at every call makes everything slower."""
        self._settle_what_waits()
        at = self._account_up_to_now()
        self._held = list(self.inside), list(self.gaps), list(self.calls), at - self.looked

    def release(self) -> None:
        """Believe again; what was added up in between is forgotten, and its time is the look's."""
        self._settle_what_waits()
        at = self._account_up_to_now()
        self.inside[:], self.gaps[:], self.calls[:], began = self._held
        self.looked = at - began

    def _settle_what_waits(self) -> None:
        if self._waiting and self._kind == NOWHERE:
            self._settle(ACT)

    def _account_up_to_now(self) -> int:
        now = self.clock()
        if self._kind == NOWHERE:
            self.gaps[self._before * K + self._before] += now - self._last
        elif self._kind == FORWARD:
            self._waiting_inside += now - self._last
        else:
            self.inside[self._kind] += now - self._last
        self._last = now
        return now

    def since_the_last(self) -> int:
        """Nanoseconds since the last event was over; none while there is one."""
        return self.clock() - self._last if self._kind == NOWHERE else 0

    def stop(self) -> None:
        """From now on every probe lets through: for a forked child, which is nobody we measure."""
        self.thread = -1

    def sums(self, now: bool = False) -> dict[str, Any]:
        """What was added up so far, as JSON; zeros are left out. `now`: time since the last event is added to what came before it."""
        if now:
            self._settle_what_waits()
            self._account_up_to_now()
        gaps = {f"{KINDS[k // K]}>{KINDS[k % K]}": value for k, value in enumerate(self.gaps) if value}
        return {"inside": _named(self.inside), "calls": _named(self.calls), "gaps": gaps}


def rows_of(given: Any) -> int:
    """Of a tensor, a TensorDict or a Batch: how many things a network was asked about at once."""
    if hasattr(given, "batch_size"):
        return int(given.batch_size[0]) if len(given.batch_size) else 1
    shape: Sequence[int] = getattr(given, "shape", ())
    return int(shape[0]) if len(shape) > 1 or (shape and not hasattr(given, "ndim")) else 1


def is_of_a_pool(thread: threading.Thread) -> bool:
    return getattr(getattr(thread, "_target", None), "__module__", "").startswith(("concurrent.futures", "multiprocessing"))


def _named(values: list[int]) -> dict[str, int]:
    return {kind: value for kind, value in zip(KINDS, values, strict=True) if value}
