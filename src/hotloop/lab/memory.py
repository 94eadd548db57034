"""Memory: how a run's memory grows with every thousand transitions, and how much of that is the replay filling up. Pure: from the record's blocks.

Resident memory is what the system counts; heap blocks are the small objects that Python's own allocator holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FEWEST_ROWS = 8
PER = 1000  # transitions
MEGABYTE = 1024 * 1024


def memory(record: Mapping[str, Any], holds: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The record's `memory`. `holds`: what the replay held when it was last looked at."""
    blocks = record.get("blocks") or {}
    columns = blocks.get("columns", [])
    rows = [dict(zip(columns, row, strict=True)) for row in blocks.get("rows", [])]
    if not rows:
        return None
    counted = rows[len(rows) // 4 :]  # the first quarter imports, compiles and fills caches
    expected = replay_growth_mb(holds, counted)
    resident, heap = growth(counted, "rss_mb"), growth(counted, "heap_blocks")
    return {
        "rss_mb_first": rows[0]["rss_mb"],
        "rss_mb_last": rows[-1]["rss_mb"],
        "rss_mb_per_1000": resident,
        "replay_mb_per_1000": expected,
        "unexplained_mb_per_1000": None if resident is None else resident - (expected or 0.0),
        "heap_blocks_per_1000": heap,
        "replay": dict(holds) if holds else None,
    }


def growth(rows: list[dict[str, float]], column: str) -> float | None:
    """How much a column grew for every thousand env steps: the middle of the slopes between rows far apart, which single jumps do not move."""
    half = len(rows) // 2
    pairs = [(a, b) for a, b in zip(rows, rows[half:], strict=False) if b["env_steps"] > a["env_steps"]]
    if len(rows) < FEWEST_ROWS or not pairs:
        return None
    slopes = sorted(PER * (b[column] - a[column]) / (b["env_steps"] - a["env_steps"]) for a, b in pairs)
    middle = len(slopes) // 2
    return slopes[middle] if len(slopes) % 2 else (slopes[middle - 1] + slopes[middle]) / 2


def replay_growth_mb(holds: Mapping[str, Any] | None, rows: list[dict[str, float]]) -> float | None:
    """What filling the replay explains, for a thousand transitions, over these rows: a full one grows no more."""
    if holds is None or not rows:
        return None
    games = games_an_entry(holds, rows[-1])
    first, last = rows[0]["env_steps"] / games, rows[-1]["env_steps"] / games  # in entries
    room = min(last, holds["capacity"]) if holds["capacity"] else last
    grew = max(0.0, room - first) / max(last - first, 1.0)
    return float(grew * PER / games * holds["bytes_each"] / MEGABYTE)


def games_an_entry(holds: Mapping[str, Any], row: Mapping[str, float]) -> float:
    """One row of a library's arrays holds a transition of every game."""
    games = row["env_steps"] / row["vector_steps"] if row.get("vector_steps") else 1.0
    rows_of_games = holds["kind"] == "arrays" and all(part["shape"] and part["shape"][0] == games for part in holds["parts"])
    return games if rows_of_games else 1.0
