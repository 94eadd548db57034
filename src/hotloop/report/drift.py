"""Drift for a terminal: the verdict, what else was found, and how the speed went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hotloop.report.numbers import short, sparkline

WIDTH = 40
SHOWN = 6  # blocks in the table


def drift_lines(record: Mapping[str, Any]) -> list[str]:
    """Nothing where drift was not judged."""
    drift = record.get("drift")
    if not drift:
        return []
    where = f" in {drift['where']}" if drift.get("where") else ""
    lines = [f"drift: {drift['verdict']}{where} · {drift['explanation']}"]
    lines += [f"also {other['verdict']}: {other['explanation']}" for other in drift.get("also") or []]
    return lines + speed_lines(drift.get("blocks") or [], (drift.get("evidence") or {}).get("change_points") or [])


def speed_lines(blocks: Sequence[Mapping[str, Any]], changes: Sequence[float] = ()) -> list[str]:
    speeds = [block["steps_per_second"] for block in blocks]
    known = [speed for speed in speeds if speed is not None]
    if len(known) < 2:
        return []
    lines = [f"steps/s {sparkline(speeds, WIDTH)} {short(min(known))} to {short(max(known))}, by blocks of equal work"]
    lines += [f"it changed at step {', '.join(short(step) for step in changes)}"] * bool(changes)
    return [*lines, *block_table(blocks)]


def block_table(blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    """The first block, the last, and some between."""
    shown = sorted({round(place * (len(blocks) - 1) / (SHOWN - 1)) for place in range(SHOWN)})
    lines = [f"{'to step':>10} {'steps/s':>9} {'updates':>9} {'episodes':>9} {'MB':>8}"]
    for block in (blocks[place] for place in shown):
        cells = (short(block["to_step"]), short(block["steps_per_second"]), short(round(block["updates"])), short(round(block["episodes"])))
        lines.append(f"{cells[0]:>10} {cells[1]:>9} {cells[2]:>9} {cells[3]:>9} {short(block.get('rss_mb')):>8}")
    return lines
