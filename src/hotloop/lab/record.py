"""Record: everything that was measured of a script, as the one record that reports show and other programs read. Pure.

Each part is judged on its own: where one of them cannot make sense of what it is given, the others stand, and the record says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hotloop.lab.account import account
from hotloop.lab.counting.multiplicity import counts, summary, work
from hotloop.lab.drift.judge import drift
from hotloop.lab.memory import memory
from hotloop.lab.moments import moments
from hotloop.lab.roofs.known import beyond_roof, roof_of

Measured = Mapping[str, Any]


def record_of(
    measured: Measured, *, command: list[str], machine: Mapping[str, Any], exit_status: int, roofs: Mapping[str, Any] | None = None, target: str | None = None
) -> dict[str, Any]:
    """`roofs`: what `hotloop limits` keeps of this machine. `target`: how far the user wants to go, as in "5000 episodes"."""
    record = account(measured, command=command, machine=machine, exit_status=exit_status) | moments(measured)
    counted = together(measured.get("moments") or [])
    parts: dict[str, Callable[[], Any]] = {
        "claims": lambda: measured.get("claims"),
        "counts": lambda: counts(counted["counted"], counted["clocks"], sizes_of(record)) if counted else None,
        "count_summary": lambda: summary(counted["counted"], counted["clocks"]) if counted else None,
        "work": lambda: work(counted["counted"], counted["calls"]) if counted else None,
        "memory": lambda: memory(record, measured.get("holds")),
        "drift": lambda: drift(record),
        "scaling": lambda: _extrapolated(record, target),
    }
    for name, make in parts.items():
        record[name] = _made(name, make, record["mistakes"])
    record["phases"] = _made("roofs", lambda: with_roofs(record, roofs), record["mistakes"]) or record["phases"]
    return record


def _made(name: str, make: Callable[[], Any], mistakes: list[str]) -> Any:
    try:
        return make()
    except Exception as error:  # numbers nobody thought of; what else was measured is still told
        mistakes.append(f"{name}: {type(error).__name__}: {error}")
        return None


def _extrapolated(record: Mapping[str, Any], target: str | None) -> dict[str, Any] | None:
    if target is None:
        return None
    from hotloop.lab.drift.scaling import extrapolate  # NumPy

    return extrapolate(record, target)


def sizes_of(record: Mapping[str, Any]) -> dict[str, int]:
    """Sizes of the loop that a count may be a multiple of."""
    batch = record["clocks"]["batch_size"]
    return {"batch_size": batch} if batch else {}


def with_roofs(record: Mapping[str, Any], roofs: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    return [phase | {"roof": roof_of_phase(phase, record["work"], roofs)} for phase in record["phases"]]


def roof_of_phase(phase: Mapping[str, Any], done: Mapping[str, Any] | None, roofs: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What the machine would need for what this phase did, and what stands in the way; None where one of the two is not known."""
    if roofs is None or not done or phase["name"] not in done or not phase["calls"]:
        return None
    each, calls = roof_of(done[phase["name"]]["per_call"], roofs), phase["calls"]
    if not each["binds"]:
        return None
    whole = {name: None if seconds is None else seconds * calls for name, seconds in each["roofs"].items()}
    attainable = each["attainable_seconds"] * calls
    return {"binds": each["binds"], "attainable_seconds": attainable, "beyond": beyond_roof(phase["seconds"], attainable), "roofs": whole}


# The count pass may have had two moments ---------------------------------------------------------------------------------


def together(counted: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Several moments of counting as one: {"clocks", "calls", "counted"}."""
    several = list(counted)
    if not several:
        return None
    first = several[0]["counted"]
    networks = {network["name"]: network for moment in several for network in moment["counted"]["networks"]}
    return {
        "clocks": added(moment["clocks"] for moment in several),
        "calls": added(moment["calls"] for moment in several),
        "counted": {
            **first,
            "seconds": sum(moment["counted"]["seconds"] for moment in several),
            "rows": _rows(moment["counted"]["rows"] for moment in several),
            "functions": _rows(moment["counted"]["functions"] for moment in several),
            "work": added(moment["counted"]["work"] for moment in several),
            "networks": list(networks.values()),
            "process": added(moment["counted"]["process"] for moment in several),
            "blind": sorted({why for moment in several for why in moment["counted"]["blind"]}),
            "dropped": sum(moment["counted"]["dropped"] for moment in several),
        },
    }


def added(several: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Numbers of the same name added up, however deep they lie."""
    sums: dict[str, Any] = {}
    for numbers in several:
        for name, value in numbers.items():
            sums[name] = added([sums.get(name, {}), value]) if isinstance(value, Mapping) else sums.get(name, 0) + value
    return sums


def _rows(several: Iterable[Iterable[Iterable[Any]]]) -> list[list[Any]]:
    """Rows whose last column is a number: the same rows are one."""
    sums: Counter[tuple] = Counter()
    for rows in several:
        for row in rows:
            *key, calls = row
            sums[tuple(key)] += calls
    return [[*key, calls] for key, calls in sums.most_common()]
