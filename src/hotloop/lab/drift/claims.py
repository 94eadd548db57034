"""Claims judged: which formula gives the numbers a script told. Every formula is tried on every clock; a constant factor is free, because units are.

A formula explains the told numbers where told / computed hardly differs from telling to telling. A speed is believed as long as nothing explains it better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hotloop.lab.drift.course import Array

FEWEST = 8
WINDOWS = (1, 2, 5, 10, 20, 50, 100)  # tellings
CLOCKS = ("env_steps", "updates", "episodes")
GOOD = 0.25  # a formula that differs more than this from what was told explains nothing
CLEARLY = 0.5  # times the error of a speed: only then is it something else
SAME = 0.05  # errors below this are as good as none
SPEED, CUMULATIVE, TRIMMED = "right", "cumulative", "trimmed"
MEANING = {
    SPEED: "it is the speed of the last moments",
    CUMULATIVE: "it is all work over all time, a mean that lags behind the true speed",
    TRIMMED: "it is all work so far over the time of the last moments alone, which rises for ever at a constant speed",
}


class Formula(NamedTuple):
    kind: str
    clock: str
    error: float  # spread of told / computed, as a logarithm
    scale: float  # told / computed
    detail: str


def judged(claims: Sequence[Mapping[str, Any]], blocks: Mapping[str, Any] | None) -> dict[str, Any]:
    unit = Counter(claim["unit"] for claim in claims).most_common(1)[0][0]
    told = [claim for claim in claims if claim["unit"] == unit and claim["value"] > 0 and claim["env_steps"] > 0]
    told = [claim for number, claim in enumerate(told) if number == 0 or claim["seconds"] > told[number - 1]["seconds"]]
    answer: dict[str, Any] = {"verdict": "unclear", "unit": unit, "counts": None, "tellings": len(told), "off_by": None}
    if len(told) < FEWEST:
        return answer | {"explanation": f"the script told {unit} only {len(told)} times, too few to judge"}
    columns = {name: np.array([float(claim[name]) for claim in told]) for name in ("seconds", "value", *CLOCKS)}
    best = the_best([formula for clock in CLOCKS if columns[clock][-1] > columns[clock][0] for formula in formulas(columns, clock, first_step(blocks))])
    if best is None:
        return answer | {"explanation": f"the {unit} the script told follow neither its speed nor a mean of it"}
    speed = np.diff(columns[best.clock]) / np.diff(columns["seconds"])
    off = np.abs(np.log(columns["value"][1:][speed > 0] / (best.scale * speed[speed > 0])))
    changes = {"change_told": _change(columns["value"]), "change_true": _change(speed), "off_by": float(np.exp(np.quantile(off, 0.9)))}
    name = unit if unit in ("fps", "sps", "ups") else f"{unit}s a second"
    said = f"the script told {_short(columns['value'][0])} {name} at first and {_short(columns['value'][-1])} at the end"
    true = f"the speed between tellings went from {_short(_first(speed))} to {_short(_last(speed))} {best.clock.replace('_', ' ')} a second"
    found = {"verdict": best.kind, "counts": best.clock, "formula": best.detail, "error": best.error, "scale": best.scale}
    return answer | found | changes | {"explanation": f"{said}: {MEANING[best.kind]}; {true}"}


def formulas(columns: Mapping[str, Array], clock: str, began: float | None) -> list[Formula]:
    """All on the same tellings, the second to the last: a window that is not full yet begins at the first."""
    seconds, value, count = columns["seconds"], columns["value"][1:], columns[clock]
    now, places, found = seconds[1:], np.arange(1, len(seconds)), []
    for window in (window for window in WINDOWS if window <= len(value) // 3):
        before = np.maximum(places - window, 0)
        took = now - seconds[before]
        found.append(_formula(SPEED, clock, value, (count[1:] - count[before]) / took, f"over {window} tellings"))
        found.append(_formula(TRIMMED, clock, value, count[1:] / took, f"time of {window} tellings"))
    starts = {"since the start": 0.0, "since the first step": began, "since its own start": _own_start(now, value, count[1:])}
    for name, start in starts.items():
        if start is not None and start < seconds[0]:
            found.append(_formula(CUMULATIVE, clock, value, count[1:] / (now - start), name))
    return [formula for formula in found if formula.error < GOOD]


def the_best(found: Sequence[Formula]) -> Formula | None:
    """A speed, unless another formula is clearly closer."""
    speed = min((formula for formula in found if formula.kind == SPEED), key=_error, default=None)
    other = min((formula for formula in found if formula.kind != SPEED), key=_error, default=None)
    if speed is None or other is None:
        return speed or other
    return other if speed.error > SAME and other.error < CLEARLY * speed.error else speed


def first_step(blocks: Mapping[str, Any] | None) -> float | None:
    """Seconds at which the first step was made, or a little later."""
    if not isinstance(blocks, Mapping) or not blocks.get("rows"):
        return None
    seconds, steps = blocks["columns"].index("seconds"), blocks["columns"].index("env_steps")
    return next((float(row[seconds]) for row in blocks["rows"] if row[steps] > 0), None)


def _formula(kind: str, clock: str, told: Array, computed: Array, detail: str) -> Formula:
    known = computed > 0
    if np.count_nonzero(known) < 0.8 * len(told) or np.count_nonzero(known) < FEWEST // 2:
        return Formula(kind, clock, float("inf"), 1.0, detail)
    ratio = np.log(told[known] / computed[known])
    middle = float(np.median(ratio))
    return Formula(kind, clock, float(np.sqrt(np.mean(np.minimum(np.abs(ratio - middle), 1.0) ** 2))), float(np.exp(middle)), detail)


def _own_start(seconds: Array, value: Array, count: Array) -> float:
    """When the script's clock began, were the told numbers work over all time: each telling says so by itself."""
    return float(np.median(seconds - count / value))


def _error(formula: Formula) -> float:
    return formula.error


def _change(values: Array) -> float:
    return _last(values) / max(_first(values), 1e-9)


def _first(values: Array) -> float:
    return float(np.median(values[: max(len(values) // 8, 1)]))


def _last(values: Array) -> float:
    return float(np.median(values[-max(len(values) // 8, 1) :]))


def _short(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ") if value >= 100 else f"{value:.3g}"
