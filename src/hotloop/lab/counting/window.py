"""Counting: how often everything happens in a window of the run. Nothing is timed while it is open, because counting costs several times the speed.

    counting = Counting(phase=lambda: recorder._kind, failed=mistakes.append)
    counting.open()         # at the end of a step, once learning is going
    …                       # the script goes on as it would have
    counted = counting.close()

Python tells of every call of a Python or C function, with the line it came from; a mode of torch's tells of every operation, with its tensors. Together they
see what neither sees alone: `tolist` is no operation, `if tensor` is no call, and torch.FloatTensor(x) is an operation of a line that made no call. The hot
part is a look at where an event comes from and one addition; names are found when the window is closed.

Not seen: imports, other threads (but backward passes, wherever they run), NumPy's ufuncs and operators, and what C does without asking Python.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
import types
from collections.abc import Callable, Hashable
from typing import Any

from hotloop.lab.counting.names import Counted, Row
from hotloop.lab.counting.operations import Operations
from hotloop.lab.counting.phases import Counts, PhaseCounts
from hotloop.lab.counting.places import FORWARD, OUTERMOST, PLAIN, SLEEP, Place, c_place, python_place
from hotloop.lab.counting.process import Written, process_counts, since
from hotloop.lab.counting.rows import Names, Seen, counted
from hotloop.lab.counting.sites import LAB, LIBRARY, SCRIPT, Origins
from hotloop.lab.inside.events import STEP
from hotloop.lab.inside.imports import ImportsUnseen

MOST_PLACES = 20_000  # calls from further places are counted, but not told apart


class Counting:
    """One window. Only the thread that opens it is looked at. `failed` is told of a mistake of ours, after which nothing more is counted."""

    def __init__(
        self, phase: Callable[[], int], failed: Callable[[str], None], *, before: int = STEP, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._phase, self._failed, self._clock = phase, failed, clock
        self._phases = PhaseCounts(before)
        self._origins = Origins()
        self._places: dict[Hashable, Place] = {}
        self._codes: dict[int, types.CodeType | None] = {id(None): None}
        self._networks: dict[int, dict[str, Any]] = {}
        self._sleeping: tuple[types.FrameType, float] | None = None
        self._dropped, self._thread, self._began = 0, 0, 0.0
        self._before: dict[str, int] = {}
        self._blind: list[str] = []
        self._written: Written | None = None
        self.counts: Counts = {}  # of the phase that is on
        self.is_open = False
        self.sees_calls = False
        self._operations = Operations(self, self._origins, self._stop_for)
        self._see: Callable[[types.FrameType, str, Any], None] | None = None
        self._imports = ImportsUnseen(self.pause, self.go_on)

    def open(self) -> None:
        self._thread, self._began, self.is_open = threading.get_ident(), self._clock(), True
        try:
            self._written, self._before = Written(), process_counts()
            self.enter()
            gc.callbacks.append(self._collected)
            self.sees_calls = sys.getprofile() is None
            if not self.sees_calls:
                self._blind.append("calls: the script has a profile function of its own")
            self._blind += self._operations.open(self._thread)
            if self.sees_calls:
                self._see = self._make_see()
                self._imports.begin()
                sys.setprofile(self._see)
        except Exception as error:  # a torch that is made otherwise, perhaps
            self._stop_for("counting", error)

    def close(self) -> Counted:
        """What was counted so far. From another thread than the one that opened it, the looking ends with the next event there."""
        self.stop()
        self._book_what_was_written()
        names = Names(self._places, self._codes, self._operations.kinds, self._operations.codes, self._origins)
        return counted(
            self._phases.by_phase(),
            names,
            seconds=self._clock() - self._began,
            networks=list(self._networks.values()),
            process=since(self._before, process_counts()),
            blind=self._blind,
            dropped=self._dropped + self._operations.dropped,
        )

    def stop(self) -> None:
        """Count no more."""
        self._let_go()
        self.is_open = False
        self._imports.end()
        if self._collected in gc.callbacks:
            gc.callbacks.remove(self._collected)

    def _let_go(self) -> None:
        if threading.get_ident() != self._thread:
            return
        is_off = self._operations.close()
        if self._see is not None and sys.getprofile() in (self._see, self._leave):
            sys.setprofile(None if is_off else self._leave)

    def _leave(self, frame: types.FrameType, event: str, value: Any) -> None:
        """In the middle of an operation its mode cannot be taken away: soon, then."""
        self._let_go()

    def _stop_for(self, where: str, error: Exception) -> None:
        self.stop()
        mistake = f"{where}: {type(error).__name__}: {error}"
        self._blind.append(f"all after a mistake of the lab's ({mistake})")
        self._failed(mistake)

    def pause(self) -> bool:
        """See no calls for a moment, if any are seen in this thread; says what to tell `go_on`."""
        seen = self.sees_calls and sys.getprofile() == self._see
        if seen:
            sys.setprofile(None)
        return seen

    def go_on(self, seen: bool) -> None:
        if seen:
            sys.setprofile(self._see if self.is_open else self._leave)

    # ------------------------------------------------------------------ seeing

    def _make_see(self) -> Callable[[types.FrameType, str, Any], None]:
        """What Python calls at every call and return. A function with cells instead of attributes: it runs thousands of times a step."""
        phase, aside, (asks, comes) = self._phase, self._operations.aside, self._operations.codes_of_a_mode()
        at: int | None = None
        counts: Counts = {}

        def see(frame: types.FrameType, event: str, value: Any) -> None:
            nonlocal at, counts
            try:
                if event == "c_call":
                    now = phase()
                    if now != at:
                        at, counts = now, self.enter()
                    key: Hashable = (id(frame.f_code), frame.f_lasti, value.__name__)
                elif event == "call":
                    now = phase()
                    if now != at:
                        at, counts = now, self.enter()
                    code = frame.f_code
                    if (code is comes or code is asks) and aside(frame):
                        return
                    caller = frame.f_back or frame
                    key = (id(code), id(caller.f_code), caller.f_lasti)
                else:
                    if self._sleeping is not None and event != "return":
                        self._slept(frame)
                    return
                try:
                    counts[key] += 1
                except KeyError:
                    self._first(key, frame, value)
            except Exception as error:  # never the script's business
                self._stop_for("counting", error)

        return see

    def enter(self) -> Counts:
        """The phase has changed: count into its counts. What was written up to now was written by the last."""
        if not self.is_open:
            self._let_go()
        self._book_what_was_written()
        self.counts = self._phases.enter(self._phase())
        return self.counts

    def _book_what_was_written(self) -> None:
        written = self._written.since() if self._written else 0
        if written:
            self._add("file_bytes", written)

    def _first(self, key: Hashable, frame: types.FrameType, value: Any) -> None:
        """The first call from a place in this phase, or one that has to be looked at each time."""
        if not self.is_open:
            self._let_go()
            return
        place = self._places.get(key)
        if place is None:
            if len(self._places) >= MOST_PLACES:
                self._drop(frame, "python_calls" if value is None else "c_calls")
                return
            place = self._places[key] = python_place(frame, self._origins) if value is None else c_place(frame, value, self._origins)
        if place.how == PLAIN:
            self._add(key)
        elif place.how == FORWARD:
            self._forward(key, frame)
        elif place.how == OUTERMOST:
            self._outermost(key, frame)
        else:
            self._from_script(key, frame.f_back if value is None else frame)
            if place.how == SLEEP:
                self._sleeping = frame, self._clock()

    def _drop(self, frame: types.FrameType, name: str) -> None:
        if self._origins[frame.f_code.co_filename] != LAB:
            self._dropped += 1
            self._add(name)

    def place(self, caller: types.CodeType, at: int, name: str) -> Place | None:
        """Where a C function of that name was called from, if it was."""
        return self._places.get((id(caller), at, name))

    def _add(self, key: Hashable, value: float = 1) -> None:
        self.counts[key] = self.counts.get(key, 0) + value

    # ------------------------------------------------------------------ what is looked at each time

    def _from_script(self, key: Hashable, frame: types.FrameType | None, what: str = "") -> None:
        """Count a call by the line of the script under which a library, or a probe of ours, made it."""
        origins, near = self._origins, None
        above = frame
        while above is not None:
            origin = origins[above.f_code.co_filename]
            if origin == SCRIPT:
                break
            if near is None and origin == LIBRARY:
                near = above
            above = above.f_back
        found = above or near
        if found is None:
            self._add(Seen(key))
            return
        near_code = near.f_code if near else None
        seen = Seen(key, id(near_code), id(found.f_code), found.f_lasti, what)
        try:
            self.counts[seen] += 1
        except KeyError:
            if len(self._codes) >= MOST_PLACES:
                self._dropped += 1
                self._add(Seen(key))
                return
            self._codes[id(near_code)], self._codes[id(found.f_code)] = near_code, found.f_code
            self.counts[seen] = 1

    def _outermost(self, key: Hashable, frame: types.FrameType) -> None:
        """What calls itself counts once."""
        code, above = frame.f_code, frame.f_back
        while above is not None:
            if above.f_code is code or (code.co_name == "render" and above.f_code.co_name == "render"):
                self._add(Seen(key))
                return
            above = above.f_back
        self._from_script(key, frame.f_back)

    def _slept(self, frame: types.FrameType) -> None:
        sleeper, since = self._sleeping or (frame, self._clock())
        if sleeper is frame:
            self._add("slept_seconds", self._clock() - since)
            self._sleeping = None

    def _forward(self, key: Hashable, frame: types.FrameType) -> None:
        """A network ran, not a layer of one: by network, and whether gradients were on."""
        above = frame.f_back
        while above is not None:
            if above.f_code is frame.f_code:
                self._add(Seen(key))
                return
            above = above.f_back
        import torch

        gradients = "with" if torch.is_grad_enabled() else "without"
        self._from_script(key, frame.f_back, f"forward of {self._name(frame.f_locals['self'])} {gradients} gradients")

    def _name(self, network: Any) -> str:
        known = self._networks.get(id(network))
        if known is None:
            sizes = [parameter.numel() for parameter in network.parameters()]
            name = f"{type(network).__name__} {len(self._networks) + 1}"
            known = self._networks[id(network)] = {"name": name, "parameters": sum(sizes), "tensors": len(sizes)}
        return str(known["name"])

    def _collected(self, moment: str, info: dict[str, int]) -> None:
        if moment == "stop" and threading.get_ident() == self._thread:
            seen = self.pause()
            self._add(Row("garbage", f"collection of generation {info['generation']}"))
            self.go_on(seen)
