"""Count places: what is known of a place that calls come from, found out at the first of them, and how the others are to be counted."""

from __future__ import annotations

import types
from typing import Any, NamedTuple

from hotloop.lab.counting.names import Function, kind_of_builtin, named_function, package_of
from hotloop.lab.counting.sites import LAB, SCRIPT, Origins

PROBES = "events.py"  # the one file of ours that calls functions for the script

PLAIN = "plain"  # the place is all there is to know: one addition
FROM_SCRIPT = "from the script"  # a library or a probe of ours made the call: the line of the script is looked for each time
OUTERMOST = "outermost"  # the same, unless it is within itself
FORWARD = "forward"  # the same, of a network
SLEEP = "sleep"  # the same, until it returns


class Place(NamedTuple):
    """Where calls come from, as Python tells of them."""

    kind: str  # nothing: it is our own
    what: str
    called: Function
    caller: types.CodeType
    at: int
    how: str
    code: types.CodeType | None = None  # of what is called; held, like the caller's, so that no other code comes to have its number


def python_place(frame: types.FrameType, origins: Origins) -> Place:
    """Of a Python function that has just been called."""
    code, caller = frame.f_code, frame.f_back or frame
    called = Function(code.co_qualname, code.co_filename, code.co_firstlineno)
    kind, what, how = _of_function(code, origins[code.co_filename], caller.f_code, origins[caller.f_code.co_filename])
    return Place(kind, what, called, caller.f_code, caller.f_lasti, how, code)


def _of_function(code: types.CodeType, origin: str, caller: types.CodeType, caller_origin: str) -> tuple[str, str, str]:
    if origin == LAB or (caller_origin == LAB and not caller.co_filename.endswith(PROBES)):
        return "", "", PLAIN
    named = named_function(code, origin == SCRIPT)
    if named is not None:
        return *named, FORWARD if named[0] == "forward" else OUTERMOST
    is_direct = caller_origin == SCRIPT or (caller_origin != LAB and origin != SCRIPT)
    return "python", code.co_qualname, PLAIN if is_direct else FROM_SCRIPT


def c_place(frame: types.FrameType, function: Any, origins: Origins) -> Place:
    """Of a C function that this frame is about to call."""
    code, name = frame.f_code, function.__name__
    origin = origins[code.co_filename]
    kind = "" if origin == LAB else kind_of_builtin(function)
    how = SLEEP if kind == "sleep" else PLAIN if kind in ("", "builtin") or origin == SCRIPT else FROM_SCRIPT
    return Place(kind, name, Function(f"{package_of(function)}.{name}"), code, frame.f_lasti, how)
