"""Discovery: find the step, the store and the sample of a hand-written loop by how they behave, in a short look at every call; then get out of the way.

A *step* returns a reward and an end: a tuple with a number and a bool; one of many games was told as many actions. A *store* is handed what the last steps
returned, the very objects or rows of them, and gives nothing back. A *sample* returns several things of the same length, and no network computed them. The
look costs several times the speed while it lasts, a third of a second; imports are left out of it. It begins with the script, so no step is missed: the steps
made under it are counted, and what was found is probed from the next call on.
"""

from __future__ import annotations

import inspect
import sys
import time
import types
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from hotloop.lab.inside.anatomy import is_ours
from hotloop.lab.inside.answers import Ends, are_bools, length_of, looks_like_a_batch, looks_like_a_step
from hotloop.lab.inside.events import SAMPLE, STEP, STORE
from hotloop.lab.inside.imports import ImportsUnseen

LOOK_SECONDS = 0.3  # after the first step
PATIENCE_SECONDS = 3.0  # without any step
EVENTS_BETWEEN_CLOCKS = 256
ENOUGH_CALLS = 5
LOOKS_AT_ARGUMENTS = 50  # calls of a function whose arguments are looked at
FORWARD_PASS = "_wrapped_call_impl"  # every network's, in torch
LIBRARIES = ("site-packages", "dist-packages", "<frozen", "<string>", sys.prefix, sys.base_prefix)


class Found(NamedTuple):
    kinds: dict[types.CodeType, int]
    env_steps: int  # made under the look by a step found in it
    vector_steps: int
    episodes: int


class Discovery:
    """One look. `done` is told what was found, `failed` what broke; steps of a known interface are told to `known_step`."""

    def __init__(
        self, done: Callable[[Found], None], failed: Callable[[str], None], *, steps_are_known: bool = False, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._done, self._failed, self._clock, self._steps_are_known = done, failed, clock, steps_are_known
        self._began, self._first_step, self._events = clock(), 0.0, 0
        self._steps, self._stores, self._samples = Counter[types.CodeType](), Counter[types.CodeType](), Counter[types.CodeType]()
        self._games, self._ended = Counter[types.CodeType](), Counter[types.CodeType]()  # env steps and ends of episodes, by step
        self._within: dict[types.CodeType, set[types.CodeType]] = {}  # what is on the stack above a step
        self._ends = Ends()
        self._looked_at = Counter[types.CodeType]()
        self._with_a_network: set[types.CodeType] = set()  # functions under which a network ran forward
        self._last: list[Any] = []  # what the last step returned, when it was no common object;
        self._before: list[Any] = []  # and the one before it
        self._answer = set[types.CodeType]()  # functions that give back more than a place
        self._stopped = False
        self._imports = ImportsUnseen(self._pause, self._go_on)

    def open(self) -> None:
        self._imports.begin()
        sys.setprofile(self._see)

    def close(self) -> None:
        self.stop()
        self._done(self.found())

    def stop(self) -> None:
        self._stopped = True
        if sys.getprofile() == self._see:
            sys.setprofile(None)
        self._imports.end()

    def loop_has_begun(self) -> None:
        """The script says that it has made a step, though perhaps nothing here looks like one."""
        self._first_step = self._first_step or self._clock()

    def known_step(self, result: Any) -> None:
        """A step of a known interface was made."""
        self._steps_are_known = True
        self.loop_has_begun()
        if result is not None:
            self._before, self._last = self._last, objects_in(result)

    def _pause(self) -> float | None:
        """When an import began, if anybody is looking in this thread."""
        if sys.getprofile() != self._see:
            return None
        sys.setprofile(None)
        return self._clock()

    def _go_on(self, paused: float | None) -> None:
        if paused is not None:
            self._began += self._clock() - paused
            sys.setprofile(self._see)

    # ------------------------------------------------------------------ seeing

    def _see(self, frame: types.FrameType, event: str, value: Any) -> None:
        if self._stopped:  # by another thread
            sys.setprofile(None)
            return
        try:
            self._look(frame, event, value)
        except Exception as error:  # a value whose methods fail, perhaps; never the script's business
            self._failed(f"discovery: {type(error).__name__}: {error}")

    def _look(self, frame: types.FrameType, event: str, value: Any) -> None:
        self._events += 1
        if event == "return":
            self._see_return(frame, value)
        elif event == "call" and frame.f_code.co_name == FORWARD_PASS:
            self._see_forward(frame)
        elif event == "call" and self._last:
            self._see_call(frame)
        if self._events % EVENTS_BETWEEN_CLOCKS == 0 and (self._steps_are_known or not self._steps) and self._is_over():
            self.close()

    def _is_over(self) -> bool:
        now = self._clock()
        return now - self._first_step > LOOK_SECONDS if self._first_step else now - self._began > PATIENCE_SECONDS

    def _see_return(self, frame: types.FrameType, value: Any) -> None:
        code = frame.f_code
        if value is None or not is_theirs(code):
            return
        if type(value) not in (int, bool):
            self._answer.add(code)
        if looks_like_a_step(value) and was_told_as_much(frame, value):
            if not self._steps_are_known:
                self._step(code, frame, value)
        elif looks_like_a_batch(value):
            self._samples[code] += 1

    def _step(self, code: types.CodeType, frame: types.FrameType, value: tuple) -> None:
        games, ended = self._ends.count(value)
        self._steps[code] += 1
        self._games[code] += games
        self._ended[code] += ended
        self._before, self._last = self._last, objects_in(value)
        self._first_step = self._first_step or self._clock()
        above = frame.f_back
        while above is not None:
            self._within.setdefault(code, set()).add(above.f_code)
            above = above.f_back
        if self._is_over() and code in self._outermost_steps():
            self.close()  # here, where a step has just ended: the next is the first that a probe sees

    def _see_forward(self, frame: types.FrameType) -> None:
        above = frame.f_back
        while above is not None and above.f_code not in self._with_a_network:
            self._with_a_network.add(above.f_code)
            above = above.f_back

    def _see_call(self, frame: types.FrameType) -> None:
        code = frame.f_code
        if self._looked_at[code] >= LOOKS_AT_ARGUMENTS or not is_theirs(code):
            return
        self._looked_at[code] += 1
        given = arguments_of(frame)
        parts = [part for part in (*self._last, *self._before) if any(is_part_of(argument, part) for argument in given)]
        if len(given) >= 3 and len(parts) >= min(2, len(self._last)):
            self._stores[code] += 1

    # ------------------------------------------------------------------ judging

    def steps_so_far(self) -> int:
        """Env steps made under this look by what seems to be the step."""
        return max((self._games[code] for code in self._outermost_steps()), default=0)

    def found(self) -> Found:
        """Steps that no other step calls; stores and samples that came several times."""
        steps = set() if self._steps_are_known else self._outermost_steps()
        kinds = dict.fromkeys(steps, STEP)
        kinds |= {code: STORE for code, count in self._stores.items() if count >= ENOUGH_CALLS and code not in kinds and code not in self._answer}
        remembered = {code: count for code, count in self._samples.items() if code not in self._with_a_network}
        kinds |= {code: SAMPLE for code, count in remembered.items() if count >= ENOUGH_CALLS and code not in kinds}
        games, calls, ended = (sum(counts[code] for code in steps) for counts in (self._games, self._steps, self._ended))
        return Found(kinds, games, calls, ended)

    def _outermost_steps(self) -> set[types.CodeType]:
        steps = {code for code, count in self._steps.items() if count >= ENOUGH_CALLS}
        outermost = {code for code in steps if not self._within.get(code, set()) & steps}
        return {code for code in outermost if "step" in code.co_name.lower()} or outermost


def objects_in(result: Any) -> list[Any]:
    """What can be recognised again: small numbers, bools and None are the same objects everywhere."""
    parts = result if isinstance(result, tuple) else (result,)
    apart = [value for part in parts for value in (part.values() if type(part) is dict and part else (part,))]
    return [part for part in apart if type(part) not in (int, bool, type(None), str)]


def is_part_of(value: Any, whole: Any) -> bool:
    """The very object, or a row of it that shares its memory: NumPy's, or torch's."""
    return value is whole or (whole is not None and (getattr(value, "base", None) is whole or getattr(value, "_base", None) is whole))


def is_theirs(code: types.CodeType) -> bool:
    """Code of the script and what came with it; libraries are known in other ways."""
    return not any(part in code.co_filename for part in LIBRARIES) and not is_ours(code) and not code.co_name.startswith("<")


def was_told_as_much(frame: types.FrameType, value: tuple) -> bool:
    """Whether a step of many games was called with something for each of them, as a batch that somebody only fetched was not."""
    games = next((len(part) for part in value if are_bools(part)), None)
    return games is None or any(games == length_of(given) for given in given_to(frame))


def given_to(frame: types.FrameType) -> list[Any]:
    """What a function was called with."""
    info = inspect.getargvalues(frame)
    values = [info.locals[name] for name in info.args if isinstance(name, str)]
    return [*values, *(info.locals[info.varargs] if info.varargs else ()), *(info.locals[info.keywords].values() if info.keywords else ())]


def arguments_of(frame: types.FrameType) -> list[Any]:
    """The same, tuples taken apart."""
    return [part for value in given_to(frame) for part in (value if isinstance(value, tuple) else (value,))]
