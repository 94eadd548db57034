"""Rows: the numbers of a profile as the words that every page shows, so that Markdown and HTML cannot disagree. What a record lacks gives no rows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hotloop.lab.roofs.known import beyond_roof
from hotloop.report.numbers import percent, short
from hotloop.report.profile import measured_steps, others, where
from hotloop.report.stacks import HotLine, hot_lines, stacks_of

Record = Mapping[str, Any]
MOST_COUNTS = 40
DETAILS = ("builtin", "python", "op")  # kinds of count that say little by themselves
NO_VERDICT = ("none", "inconclusive")  # their explanations say it themselves


class PhaseRow(NamedTuple):
    name: str
    seconds: str
    share: str  # of wall
    calls: str = ""
    call: str = ""  # µs each
    step: str = ""  # µs per env step
    device: str = ""  # seconds the device worked
    roof: str = ""
    where: str = ""
    fraction: float = 0.0  # of wall, as a number
    phase: bool = True  # else start-up, looking, or what is left


class CountRow(NamedTuple):
    what: str
    times: str
    per: str
    matches: str
    phase: str
    place: str


class LineRow(NamedTuple):
    phase: str
    place: str
    function: str
    seconds: str
    share: str  # of the phase
    inside: str
    fraction: float


class RoofRow(NamedTuple):
    """A phase against what the machine could do at best."""

    phase: str
    binds: str
    seconds: str
    attainable: str
    words: str
    fraction: float  # attainable of achieved
    beyond: bool  # the machine cannot have been so fast
    roofs: list[tuple[str, float]]  # every roof, as a fraction of the seconds achieved


def phase_rows(record: Record) -> list[PhaseRow]:
    """Phases, the longest first, then the time that is no phase's."""
    steps, wall = measured_steps(record), record["wall_seconds"]
    rows = [phase_row(phase, steps, record) for phase in sorted(record["phases"], key=lambda phase: -phase["seconds"])]
    rest = others(record).items()
    return rows + [PhaseRow(name, f"{seconds:.2f}", share_of(seconds, wall), fraction=seconds / wall, phase=False) for name, seconds in rest]


def phase_row(phase: Record, steps: float, record: Record) -> PhaseRow:
    seconds, calls, device = phase["seconds"], phase["calls"], phase.get("device_seconds")
    return PhaseRow(
        phase["name"],
        f"{seconds:.2f}{'' if phase['reliable'] else ' ?'}",
        share_of(seconds, record["wall_seconds"]),
        grouped(calls) if calls else "",
        grouped(1e6 * seconds / calls, 1) if calls else "",
        grouped(1e6 * seconds / steps, 1) if steps else "",
        "" if device is None else f"{device:.2f}",
        roof_words(phase),
        where(record, phase["name"]),
        fraction=phase["share"],
    )


def share_of(seconds: float, whole: float) -> str:
    return f"{seconds / whole:.1%}"


def grouped(number: float, decimals: int = 0) -> str:
    """`1 234.5`, with spaces that no line breaks at."""
    return f"{number:,.{decimals}f}".replace(",", "\u202f")


def roof_words(phase: Record) -> str:
    """What share of the phase's time its roof asks for."""
    if not has_roof(phase):
        return ""
    seconds, roof = phase["seconds"], phase["roof"]
    if beyond_roof(seconds, roof["attainable_seconds"]):
        return f"beyond {roof['binds']} ?"
    return f"{roof['binds']} {percent(min(roof['attainable_seconds'] / seconds, 1.0))}"


def has_roof(phase: Record) -> bool:
    roof = phase.get("roof") or {}
    return bool(roof.get("binds") and roof.get("attainable_seconds") and phase["seconds"])


def roof_rows(record: Record) -> list[RoofRow]:
    return [roof_row(phase) for phase in sorted(record["phases"], key=lambda phase: -phase["seconds"]) if has_roof(phase)]


def roof_row(phase: Record) -> RoofRow:
    seconds, roof = phase["seconds"], phase["roof"]
    attainable, beyond = roof["attainable_seconds"], beyond_roof(seconds, roof["attainable_seconds"])
    words = f"{max(seconds / attainable, 1.0):.1f} × its roof"
    words = "faster than its roof allows: one of the two is measured wrongly" if beyond else words
    each = sorted(((name, value / seconds) for name, value in (roof.get("roofs") or {}).items() if value is not None), key=lambda item: -item[1])
    return RoofRow(phase["name"], roof["binds"], span(seconds), span(attainable), words, attainable / seconds, beyond, each)


def span(seconds: float) -> str:
    """`8.37 s`, `3.20 ms`, `45 µs`."""
    unit, size = next((unit, size) for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if seconds >= size * 0.9995 or unit == "µs")
    amount = round(seconds / size, 9)  # 45 µs are not 44.999…
    return f"{short(amount) if amount < 999.5 else grouped(amount)} {unit}" if seconds else "0 s"


def count_rows(record: Record) -> list[CountRow]:
    """What happens most often first; calls that only make up the others, last."""
    counts = sorted(record.get("counts") or [], key=lambda count: (count.get("kind") in DETAILS, -(count.get("calls") or 0)))
    return [
        CountRow(count["what"], short(count["times"]), count["per"], count.get("matches") or "", count.get("phase") or "", place_of(count))
        for count in counts[:MOST_COUNTS]
    ]


def counts_left_out(record: Record) -> int:
    return max(len(record.get("counts") or []) - MOST_COUNTS, 0)


def place_of(count: Record) -> str:
    if not count.get("file"):
        return ""
    place = f"{os.path.basename(count['file'])}:{count['line']}"
    function = f" {plain(count['function'])}" if count.get("function") else ""
    through = f" through {plain(count['through'])}" if count.get("through") else ""
    return place + function + through


def plain(function: str) -> str:
    """A function's name without the note that it is local."""
    return function.replace(".<locals>", "")


def line_rows(record: Record) -> list[LineRow]:
    places = {(place["file"], place["line"]) for place in record["where"]}
    return [line_row(line) for line in hot_lines(stacks_of(record), places)]


def line_row(line: HotLine) -> LineRow:
    place = f"{os.path.basename(line.file)}:{line.line}"
    return LineRow(line.phase, place, plain(line.function), f"{line.seconds:.2f}", percent(line.share), plain(line.inside), line.share)


class DriftRow(NamedTuple):
    verdict: str  # empty where there is none
    explanation: str


def drift_rows(record: Record) -> list[DriftRow]:
    """Whether the loop got slower or faster, and why: what matters most first."""
    drift = record.get("drift") or {}
    return [drift_row(found) for found in (drift, *(drift.get("also") or [])) if found.get("verdict")]


def drift_row(found: Record) -> DriftRow:
    if found["verdict"] in NO_VERDICT:
        return DriftRow("", found.get("explanation") or found["verdict"])
    behind = f" in {found['where']}" if found.get("where") else ""
    return DriftRow(found["verdict"].replace("-", " ") + behind, found.get("explanation") or "")


def clock_rows(record: Record) -> list[tuple[str, str]]:
    """The clocks, with their values in figures."""
    clocks = record["clocks"]
    names = ("env_steps", "vector_steps", "transitions", "episodes", "updates", "batch_size", "replay_ratio", "learning_starts")
    rows = [(name.replace("_", " "), figure(clocks[name])) for name in names if clocks.get(name) is not None]
    optimisers = clocks.get("updates_by_optimiser") or {}
    return rows + ([(f"updates by {name}", figure(count)) for name, count in optimisers.items()] if len(optimisers) > 1 else [])


def machine_rows(record: Record) -> list[tuple[str, str]]:
    machine = record.get("machine") or {}
    return [*facts(machine), ("command", " ".join(record["command"])), ("exit status", str(record["exit_status"]))]


def facts(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Whatever is known, a line each; what is not, left out."""
    for name, value in values.items():
        words = in_words(value)
        if words:
            yield words_of(name), words


def words_of(name: str) -> str:
    """`memory_mb` is "memory MB", but OMP_NUM_THREADS has no other name."""
    return name if name.isupper() else re.sub(r"\bmb\b", "MB", name.replace("_", " "))


def in_words(value: Any) -> str:
    if isinstance(value, Mapping):
        return " · ".join(f"{words_of(name)} {in_words(item)}" for name, item in value.items() if in_words(item))
    if isinstance(value, list | tuple):
        return ", ".join(filter(None, map(in_words, value)))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return figure(value) if isinstance(value, int | float) else str(value or "")


def figure(number: float) -> str:
    """Every digit of a count, three of a small measurement."""
    return grouped(number) if float(number).is_integer() or abs(number) >= 1000 else f"{number:.3g}"
