"""Count rows: what was counted by place, as rows with names. After the window, so it may take its time."""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from hotloop.lab.counting.names import Count, Counted, Function, Row
from hotloop.lab.counting.places import Place
from hotloop.lab.counting.sites import LAB, SCRIPT, Origins, line_at

MOST_ROWS, MOST_FUNCTIONS = 2000, 500  # the record of a large framework's loop has a bound too


class Seen(NamedTuple):
    """A call of a place, with the line of the script it was found to come from. Keys are numbers; names are found in the end."""

    place: Hashable
    near: int = 0  # the library's function next to it
    script: int = 0
    at: int = 0
    what: str = ""


class Names(NamedTuple):
    """What the numbers in the keys of a count stand for."""

    places: Mapping[Hashable, Place]
    codes: Mapping[int, types.CodeType | None]
    operations: Mapping[Any, Any]
    callers: Mapping[int, types.CodeType]  # of operations
    origins: Origins


def counted(by_phase: Mapping[str, Mapping[Hashable, float]], names: Names, **others: Any) -> Counted:
    """Rows, functions and work of every phase."""
    rows, functions = Counter[tuple[str, Row]](), Counter[tuple[str, Function]]()
    work: dict[str, dict[str, Any]] = {}
    for phase, counts in by_phase.items():
        done: dict[str, Any] = {"python_calls": 0, "c_calls": 0, "torch_ops": 0, "flops": {}, "ops": {}}
        for key, amount in counts.items():
            if isinstance(key, str):
                _amount(done, key, amount)
                continue
            row, function, operation = meaning(key, names)
            times = int(amount)
            if row is not None:
                rows[phase, row] += times
            if function is not None:
                functions[phase, function] += times
                done["python_calls" if function.file else "c_calls"] += times
            if operation:
                _amount(done, f"op {operation}", times)
        if any(done.values()):
            work[phase] = done
    return Counted(
        rows=[Count(*row, phase, calls) for (phase, row), calls in rows.most_common(MOST_ROWS)],
        functions=[(function.name, function.file, function.line, phase, calls) for (phase, function), calls in functions.most_common(MOST_FUNCTIONS)],
        work=work,
        **others,
    )


def meaning(key: Any, names: Names) -> tuple[Row | None, Function | None, str]:
    """A key as a row, a function that was called, an operation: each if it is one."""
    if isinstance(key, Row):
        return key, None, ""
    if isinstance(key, Seen):
        place = names.places[key.place]
        return _seen(key, place, names), place.called, ""
    if key in names.places:
        place = names.places[key]
        is_script = names.origins[place.caller.co_filename] == SCRIPT
        row = Row(place.kind, place.what, *_at(place.caller, place.at)) if is_script and place.kind else None
        return row, place.called if place.kind else None, ""
    run, caller, at = key
    name, code = _short(names.operations[run].name), names.callers[caller]
    origin = names.origins[code.co_filename]
    return Row("op", name, *_at(code, at)) if origin == SCRIPT else None, None, "" if origin == LAB else name


def _seen(key: Seen, place: Place, names: Names) -> Row | None:
    near, script = names.codes[key.near] if key.near else None, names.codes[key.script] if key.script else None
    if script is None:  # one that called itself
        return None
    through = near.co_qualname if near is not None and near is not script else ""
    return Row(place.kind, key.what or place.what, *_at(script, key.at), through)


def _amount(done: dict[str, Any], key: str, amount: float) -> None:
    group, _, name = key.partition(" ")
    if group == "flops":
        done["flops"][name] = done["flops"].get(name, 0) + int(amount)
    elif group == "op":
        done["torch_ops"] += int(amount)
        done["ops"][_short(name)] = done["ops"].get(_short(name), 0) + int(amount)
    else:
        done[key] = done.get(key, 0) + (amount if key == "slept_seconds" else int(amount))


def _short(name: str) -> str:
    return name.rpartition("::")[2]


def _at(code: types.CodeType, at: int) -> tuple[str, int, str]:
    return code.co_filename, line_at(code, at), code.co_qualname
