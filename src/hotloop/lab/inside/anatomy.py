"""Anatomy: which functions of a script *are* its phases, read from the stacks under its first events.

A function under which only acting ever happened is acting, from its first line to its last; the outermost such function is the phase. A loop over env
steps is no phase, however little else happens in it, and neither is a module's top level, nor a decorator's wrapper: it runs what was never seen here, too.
"""

from __future__ import annotations

import dis
import functools
import gc
import types
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from hotloop.lab import HERE
from hotloop.lab.inside.events import ACT, LEARN, LOG, RESET, SAMPLE, SAVE, STEP, STORE, SYNC

SEVERAL = 3  # what was called less often belongs to setting up


class Place(NamedTuple):
    """One frame of a stack: a function, and whether the call stood in a loop of it."""

    code: types.CodeType
    in_loop: bool


Stack = tuple[Place, ...]  # outermost first


def regions(events: Iterable[tuple[int, Stack]]) -> dict[types.CodeType, int]:
    """The functions that are phases, and which."""
    events = list(events)
    beneath: dict[types.CodeType, set[int]] = {}
    often: Counter[types.CodeType] = Counter()
    loops: set[types.CodeType] = set()
    for kind, stack in events:
        for place in stack:
            beneath.setdefault(place.code, set()).add(kind)
            often[place.code] += 1
            if place.in_loop and kind == STEP:
                loops.add(place.code)
    phases = {code: phase_of(kinds, code in loops) for code, kinds in beneath.items() if often[code] >= SEVERAL and code.co_name != "<module>"}
    wrappers = serving_several([code for code, phase in phases.items() if phase is not None])
    found: dict[types.CodeType, int] = {}
    for _, stack in events:
        outer = None
        for place in stack:
            phase = None if place.code in wrappers else phases.get(place.code)
            if phase is not None and phase != outer:
                found[place.code] = outer = phase
    return found


def phase_of(kinds: set[int], is_loop: bool) -> int | None:
    """What a function is under which just these kinds of events happened."""
    if kinds <= {STEP, RESET}:
        return None if is_loop else STEP if STEP in kinds else RESET
    if LEARN in kinds and kinds <= {LEARN, SAMPLE, SYNC, LOG, SAVE}:
        return LEARN
    return next(iter(kinds)) if len(kinds) == 1 and kinds <= {ACT, SAMPLE, STORE, SYNC, LOG, SAVE} else None


def serving_several(codes: Iterable[types.CodeType]) -> set[types.CodeType]:
    """Those that several functions have in common, each with things of its own, as a decorator's wrappers do."""
    closures = [code for code in codes if code.co_freevars]
    if not closures:  # to ask is to walk all there is
        return set()
    times = Counter(f.__code__ for f in gc.get_referrers(*closures) if isinstance(f, types.FunctionType))
    return {code for code in closures if times[code] > 1}


def stack_of(frame: types.FrameType | None) -> Stack:
    """The stack a frame stands on, our own frames left out."""
    places = []
    while frame is not None:
        if not is_ours(frame.f_code):
            places.append(Place(frame.f_code, in_a_loop(frame.f_code, frame.f_lasti)))
        frame = frame.f_back
    return tuple(reversed(places))


@functools.cache
def is_ours(code: types.CodeType) -> bool:
    return code.co_filename in ("<hotloop>", "<frozen runpy>") or code.co_filename.startswith(HERE)




def in_a_loop(code: types.CodeType, at: int) -> bool:
    """Whether an instruction lies between a jump back and where it jumps to."""
    return any(first <= at <= last for first, last in loops_of(code))


@functools.cache
def loops_of(code: types.CodeType) -> tuple[tuple[int, int], ...]:
    jumps = (i for i in dis.get_instructions(code) if "JUMP" in i.opname and isinstance(i.argval, int))
    return tuple((i.argval, i.offset) for i in jumps if i.argval <= i.offset)
