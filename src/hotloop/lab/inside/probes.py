"""Probes: which functions are measured at the moment, how that is decided, and what is counted besides time."""

from __future__ import annotations

import functools
import gc
import threading
import types
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from hotloop.lab.counting.window import Counting
from hotloop.lab.inside.anatomy import Stack, regions, stack_of
from hotloop.lab.inside.answers import FEW, Ends
from hotloop.lab.inside.blocks import Blocks
from hotloop.lab.inside.discovery import Discovery, Found
from hotloop.lab.inside.events import ACT, EVALUATE, FORWARD, KINDS, LEARN, NOWHERE, SAMPLE, STEP, STORE, K, Recorder
from hotloop.lab.inside.holdings import holdings
from hotloop.lab.inside.passes import Clocks, CountPass
from hotloop.lab.inside.sampler import START_UP
from hotloop.lab.inside.trampoline import Detour, can_be_detoured

ENOUGH = 40  # events of a kind whose stacks are read
STEPS_FIRST, MOST_STEPS = 200, 1000  # steps looked at before a script is taken for one that does not learn yet; for one that does not act with a network
MOST_MEMORIES, MOST_MISTAKES = 8, 10
NEVER_LEARNS_NS = 10_000_000_000  # a loop that has not learned by then is looked at as one that does not
LOG_AFTER_SECONDS = (0.2, 5.0, 30.0)  # after that, the events of a moment are kept one by one


def harmless(method: Callable[..., None]) -> Callable[..., None]:
    """A mistake of ours never reaches the script: it is noted, and nothing more is measured."""

    @functools.wraps(method)
    def call(self: Probes, *args: Any) -> None:
        try:
            method(self, *args)
        except Exception as error:
            self.give_up(f"{method.__name__}: {type(error).__name__}: {error}")

    return call


class Probes:
    """Everything that stands in a script's process. `finish` is called from the thread that is measured."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.updates: dict[str, int] = {}  # by optimiser: how many steps it made
        self.env_steps = self.vector_steps = self.episodes = 0
        self.first_update_at: int | None = None  # env steps
        self.startup: dict[str, Any] | None = None  # what had been added up when the first step was made
        self.regions: dict[types.CodeType, int] = {}
        self.by_behaviour: dict[types.CodeType, int] = {}  # what was found by how it behaves
        self._detours: dict[types.FunctionType, Detour] = {}
        self._outermost: set[types.FunctionType] = set()  # functions seen as the outermost of their kind,
        self._inner: set[types.FunctionType] = set()  # and seen within another
        self._places: set[types.FunctionType] = set()  # the outermost before the anatomy was known
        self._kinds: dict[types.FunctionType, int] = {}
        self._forward: list[types.FunctionType] = []
        self._stacks: list[list[Stack]] = [[] for _ in KINDS]
        self._waiting: list[Stack] = []  # of forward passes whose kind is not known yet
        self._names: dict[int, str] = {}
        self._outer_update = NOWHERE
        self._steps_seen = 0
        self.discovery: Discovery | None = None
        self._held = False
        self.mistakes: list[str] = []  # ours
        self._ends = Ends()
        self.blocks = Blocks(recorder._last)
        self._due = self.blocks.due
        self._next_holding = 500  # vector steps
        self._settled = 0  # when it was known what the loop is made of, learning included
        self._windows = [round(1e9 * after) for after in LOG_AFTER_SECONDS]
        self.passes = CountPass(self._counting, self._calls, self._hold, self._release)
        self._memories: list[Any] = []  # what may be the replay: references that keep nothing alive, where there can be such
        self.holds: dict[str, Any] | None = None
        self._errand: Callable[[], None] | None = None
        self.marked_steps, self.tells_itself = 0, False
        recorder.on_mark = self.on_mark
        recorder.look, recorder.on_step, recorder.on_memory = self.look, self.on_step, self.on_memory

    def give_up(self, why: str) -> None:
        if len(self.mistakes) < MOST_MISTAKES:
            self.mistakes.append(why)
        self.recorder.look = self.recorder.on_step = None
        self.recorder.stop()
        if self.discovery is not None:
            self.discovery.stop()

    # ------------------------------------------------------------------ standing around functions

    def add(self, function: Any, kind: int) -> None:
        """Measure a function (or what a class, a decorator or a method object made of one) as this kind of event."""
        if isinstance(function, classmethod | staticmethod):
            function = function.__func__
        if not can_be_detoured(function) or function in self._detours:
            return
        self._kinds[function] = kind
        probe = self.recorder.probe_step if kind == STEP else functools.partial(self.recorder.probe, kind)
        shortcut = self.recorder.shortcut(kind, step=kind == STEP)
        self._detours[function] = Detour(function, probe(functools.partial(self._seen, function)), shortcut)

    def add_forward(self, function: types.FunctionType) -> None:
        self._forward.append(function)
        self._detours[function] = Detour(function, self.recorder.forward)

    def places(self) -> list[tuple[int, types.CodeType]]:
        """The functions that are phases: those the anatomy found, then known ones that were the outermost of their kind."""
        known = [(self._kinds[f], self._detours[f].code) for f in list(self._outermost | self._places) if f in self._detours]
        return [(kind, code) for code, kind in list(self.regions.items())] + sorted(known, key=lambda place: place[1].co_filename)

    def remove(self, function: types.FunctionType) -> None:
        self._detours.pop(function).remove()

    def _seen(self, function: types.FunctionType, outermost: bool) -> None:
        (self._outermost if outermost else self._inner).add(function)

    # ------------------------------------------------------------------ what behaves like a step, a store, a sample

    def discover(self) -> None:
        """Look at every call from now on, for a moment."""
        self.discovery = Discovery(self._discovered, self.give_up, steps_are_known=self.vector_steps > 0)
        if self.vector_steps:  # before the first step all is start-up anyway
            self._hold()
        self.discovery.open()

    def _hold(self) -> None:
        self.recorder.hold()
        self._held = True

    @harmless
    def _discovered(self, found: Found) -> None:
        self.discovery = None
        if self._held:
            self._release()
        if found.vector_steps and self.startup is None:
            self.startup, self.recorder.may_move = self.recorder.sums(now=True), False
        self.env_steps += found.env_steps
        self.vector_steps += found.vector_steps
        self.episodes += found.episodes
        for function in functions_of(found.kinds):
            self.add(function, found.kinds[function.__code__])
        self.by_behaviour |= found.kinds
        if found.vector_steps:  # without steps, forward passes were taken for what they are not
            self._stacks, self._steps_seen = [[] for _ in KINDS], 0
            self._waiting.clear()
        if found.kinds:
            self.recorder.look = self.look

    @property
    def steps_so_far(self) -> int:
        return self.env_steps + (0 if self.discovery is None else self.discovery.steps_so_far())

    # ------------------------------------------------------------------ counting

    def on_step(self, result: Any, env: Any) -> None:
        """A step was made: of how many games, and how many episodes did it end?"""
        try:  # as `harmless`, without the price of another call at every step
            if self.discovery is not None:
                self.discovery.known_step(result)
                if not self._held:
                    self._hold()
            games, ended = self._ends.count(result, env)
            if not games:  # a player looked, or a step began an episode
                return
            if not self.vector_steps:
                self.startup = self.recorder.sums() if self.startup is None else self.startup
                self.recorder.may_move = False
                self._look_where_we_may()
            self.vector_steps += 1
            self.env_steps += games
            self.episodes += ended
            if self.recorder._last >= self._due:
                self._between_steps(self.recorder._last)
        except Exception as error:
            self.give_up(f"on_step: {type(error).__name__}: {error}")

    def send(self, errand: Callable[[], None]) -> None:
        """Do this between two steps, soon."""
        self._errand, self._due = errand, 0

    def _usual_step(self) -> Callable[[Any, Any], None]:
        """`on_step` for answers of the usual shape, in as few lines as can be: it runs at every step, cold every time."""
        usual, slow, few = self._ends.usual(), self.on_step, FEW
        if usual is None:
            return slow
        parts, first, last, are_arrays = usual
        recorder = self.recorder

        def on_step(result: Any, env: Any) -> None:
            if self.discovery is not None or type(result) is not tuple or len(result) != parts:
                return slow(result, env)
            if are_arrays:
                ended = result[first]
                if type(ended).__name__ != "ndarray" or len(ended) > few or first != last:
                    return slow(result, env)
                ends = ended.tolist()
                self.env_steps += len(ends)
                self.episodes += sum(ends)
            else:
                self.env_steps += 1
                if result[first] or result[last]:
                    self.episodes += 1
            self.vector_steps += 1
            if recorder._last >= self._due:
                self._between_steps_safely()
            return None

        return on_step

    @harmless
    def _between_steps_safely(self) -> None:
        self._between_steps(self.recorder._last)

    @property
    def clocks(self) -> Clocks:
        return Clocks(self.env_steps, self.vector_steps, max(self.updates.values(), default=0), self.episodes)

    def _between_steps(self, now: int) -> None:
        """Something may be due: a moment of counting, a row of the blocks, the events of a moment."""
        if self.discovery is None and self.passes.is_due():
            self._due = 0  # at every step, until it is over
            self.passes.between_steps(self.clocks)
        if self._held:
            return
        if self._errand is not None:
            errand, self._errand = self._errand, None
            errand()
        if now >= self.blocks.due:
            self.blocks.take(now, self.recorder, self.clocks)
            if self.vector_steps >= self._next_holding:
                self._next_holding = 2 * self.vector_steps
                self._look_into_memory()
        if self._settled and self._windows and now - self._settled >= self._windows[0]:
            self._windows.pop(0)
            self.recorder.begin_log()
        if not self.passes.is_due():
            self._due = self.blocks.due
        if self.first_update_at is None and now - self.blocks.began > NEVER_LEARNS_NS:
            self.passes.settled()

    def leave_alone(self) -> None:
        """In a forked child: nobody is measured there."""
        self.recorder.stop()
        self.passes.stop()

    def _counting(self) -> Counting:
        recorder = self.recorder
        return Counting(phase=lambda: recorder._kind, failed=self.give_up, before=recorder._before)

    def _calls(self) -> dict[str, int]:
        return dict(zip(KINDS, self.recorder.calls, strict=True))

    def _release(self) -> None:
        self.recorder.release()
        self._held = False

    def end(self) -> None:
        """The script is over, or stopped: what is open is closed."""
        if self.recorder.thread == NOWHERE:
            return
        self.passes.end(self.clocks)
        if self.vector_steps and not self._held:
            self.blocks.take(self.recorder.clock(), self.recorder, self.clocks)

    @harmless
    def on_memory(self, given: Any) -> None:
        """A store or a sample was called with these: one of them may be what is stored in."""
        for thing in given[:3]:
            can_store = isinstance(thing, list | deque) or hasattr(thing, "__dict__")
            if can_store and len(self._memories) < MOST_MEMORIES and all(thing is not known() for known in self._memories):
                self._memories.append(reference(thing))

    def _look_where_we_may(self) -> None:
        """Only in the main thread: CPython 3.11 does not let another one enter a function while it is looked at and the main one has not heard a beat."""
        if not in_main_thread():
            self.passes.is_over = True
            if self.discovery is not None:
                self.discovery.stop()
                self.discovery = None

    @harmless
    def on_mark(self) -> None:
        """The script says that it has just made a step. How many games that was of is known where the step is, too."""
        self.marked_steps += 1
        if self.startup is None:
            self.startup, self.recorder.may_move = self.recorder.sums(), False
        if self.discovery is not None:
            self.discovery.loop_has_begun()
            if not self._held:
                self._hold()

    @harmless
    def _look_into_memory(self) -> None:
        self.holds = holdings(*(known() for known in self._memories)) or self.holds

    def state(self) -> int | None:
        """What the sampler writes beside a stack; None while nothing is to be believed."""
        recorder = self.recorder
        if self._held or self.tells_itself or recorder.thread == NOWHERE:
            return None
        if self.startup is None:
            return START_UP
        return recorder._kind if recorder._kind != NOWHERE else K + recorder._before

    @harmless
    def update_begins(self, *_: Any) -> None:
        recorder, here = self.recorder, threading.get_ident() == self.recorder.thread
        if self.first_update_at is None:
            self.first_update_at = self.steps_so_far
            self._forget_regions()
            recorder.look, self._steps_seen = self.look, 0  # learning begins: see which functions it is made of
            if self.discovery is None and in_main_thread() and not (recorder.calls[STORE] and recorder.calls[SAMPLE]):
                self.discover()
        elif not self.passes.is_over and self.discovery is None:
            self.passes.before_update(self.clocks)
        if not here or recorder._marked or recorder._kind in (LEARN, EVALUATE):  # it counts; its time is another thread's, or taken already
            self._outer_update = LEARN
            return
        self._outer_update = recorder.enter(LEARN)

    @harmless
    def update_ends(self, optimizer: Any, *_: Any) -> None:
        if self._outer_update != LEARN:
            self.recorder.leave(LEARN, self._outer_update)
        name = self._names.get(id(optimizer))
        if name is None:
            name = self._names[id(optimizer)] = f"{type(optimizer).__name__} {len(self._names) + 1}"
        self.updates[name] = self.updates.get(name, 0) + 1

    # ------------------------------------------------------------------ the anatomy

    @harmless
    def look(self, kind: int, frame: Any) -> None:
        """Keep the stack of an event, until there are enough."""
        if kind == FORWARD:
            if len(self._waiting) < ENOUGH:
                self._waiting.append(stack_of(frame))
            return
        if self._waiting:
            decided = LEARN if kind in (LEARN, SAMPLE) else ACT
            self._keep(decided, *self._waiting)
            self._waiting.clear()
        self._keep(kind, stack_of(frame))
        self._steps_seen += kind == STEP
        seen_all = min(len(self._stacks[kind]) for kind in (STEP, ACT, LEARN)) >= ENOUGH
        if seen_all or self._steps_seen >= (MOST_STEPS if self.first_update_at is not None else STEPS_FIRST):
            self.finish()

    def _keep(self, kind: int, *stacks: Stack) -> None:
        kept = self._stacks[kind]
        kept.extend(stacks[: ENOUGH - len(kept)])

    def finish(self) -> None:
        """The stacks say which functions are phases: probe those, and nothing within them that needs no probe any more."""
        recorder = self.recorder
        recorder.look = None
        if self.first_update_at is not None:
            self._settled = self._settled or recorder._last
            self.passes.settled()
        self._waiting.clear()
        events = [(kind, stack) for kind, stacks in enumerate(self._stacks) for stack in stacks]
        found = regions(events)
        new = {code: kind for code, kind in found.items() if code not in self.regions}
        copies = {detour.original for detour in self._detours.values()}
        for function in functions_of(new):
            if function not in copies:
                self._region(function, new[function.__code__])
        self._remove_what_is_within()
        if self.first_update_at is not None:
            self._look_once_more()
        if self.first_update_at is not None and all(_is_within(stack, kind, self.regions) for kind, stack in events if kind in (ACT, LEARN)):
            for function in self._forward:
                if function in self._detours:
                    self.remove(function)

    def _look_once_more(self) -> None:
        """For some steps, at what is left of the known functions now that the phases are probed: those within a phase of their own kind need no probe."""
        self._places |= self._outermost
        self._outermost, self._inner, self._steps_seen = set(), set(), 0
        self.recorder.look = self._see_what_is_left

    def _see_what_is_left(self, kind: int, frame: Any) -> None:
        self._steps_seen += kind == STEP
        if self._steps_seen >= ENOUGH:
            self.recorder.look = None
            self._remove_what_is_within()
            self.recorder.on_step = self._usual_step()

    def _remove_what_is_within(self) -> None:
        for function in self._inner - self._outermost:
            if function in self._detours and self._detours[function].code not in self.regions:
                self.remove(function)

    def _forget_regions(self) -> None:
        """What was found before learning began was found of half the loop: a function that only stored so far may learn as well."""
        for function in [function for function, detour in self._detours.items() if detour.code in self.regions]:
            self.remove(function)
        self.regions.clear()
        self._stacks = [[] for _ in KINDS]

    def _region(self, function: types.FunctionType, kind: int) -> None:
        code = function.__code__
        if can_be_detoured(function) and function not in self._detours:
            self._detours[function] = Detour(function, self.recorder.probe(kind), self.recorder.shortcut(kind))
            self.regions[code] = kind


def in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def reference(thing: Any) -> Callable[[], Any]:
    """Gives the thing as long as the script has it; a list cannot be referred to so."""
    try:
        return weakref.ref(thing)
    except TypeError:
        return lambda: thing


def _is_within(stack: Stack, kind: int, found: dict[types.CodeType, int]) -> bool:
    return any(found.get(place.code) == kind for place in stack)


def functions_of(codes: dict[types.CodeType, int]) -> list[types.FunctionType]:
    """The functions that have one of these codes, wherever they are held."""
    if not codes:
        return []
    return [f for f in gc.get_referrers(*codes) if isinstance(f, types.FunctionType) and f.__code__ in codes]

