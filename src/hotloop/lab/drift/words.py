"""Words: what a verdict on drift is, and how numbers are said in it."""

from __future__ import annotations

from typing import Any, NamedTuple

from hotloop.lab.drift.facts import Rise

PIECES = {"updates": "an update", "env_steps": "a step", "episodes": "an episode"}


class Verdict(NamedTuple):
    verdict: str
    where: str | None  # a phase
    explanation: str  # one sentence with numbers
    evidence: dict[str, Any]
    weight: float  # share of the time at the end that is there because of it


def price_of(rise: Rise) -> str:
    """Up to the last number, so that a sentence can go on from there."""
    went = rise.shape
    return f"{rise.phase} took {duration(went.first)} {PIECES.get(rise.unit, 'a call')} at first and {duration(went.last)} ({went.factor:.2g}×)"


def evidence_of(rise: Rise) -> dict[str, Any]:
    return {"price": rise.shape.as_data(), "unit": rise.unit, "factor": rise.factor, "share_of_late_time": rise.share}


def duration(seconds: float) -> str:
    """`51 µs`, `1.3 ms`, `2.1 s`."""
    for size, unit in ((1.0, "s"), (1e-3, "ms")):
        if abs(seconds) >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{1e6 * seconds:.3g} µs"


def number(count: float | None) -> str:
    """`31`, `12 400`."""
    if count is None:
        return "?"
    return f"{round(count):,}".replace(",", " ") if abs(count) >= 100 else f"{count:.3g}"
