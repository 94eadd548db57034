"""Blocks: how a run went on. The record holds sums at moments of the run; pages show what happened between two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from hotloop.records.phases import ALL_PHASES

PHASE_COLUMNS = tuple(f"{phase}_seconds" for phase in ALL_PHASES)
BINS = 150  # more than this only flickers


class Blocks:
    """Sums by moment. What is not known stands as it stood at the moment before."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[float | None]]) -> None:
        self._columns = {name: place for place, name in enumerate(columns)}
        self._rows = rows

    def has(self, name: str) -> bool:
        return name in self._columns

    def column(self, name: str) -> list[float]:
        values: list[float] = []
        for row in self._rows:
            value = row[self._columns[name]]
            values.append(value if value is not None else values[-1] if values else 0.0)
        return values

    def rates(self, name: str) -> list[float]:
        """How much was added a second, from each moment to the next."""
        return [(after - before) / seconds if seconds > 0 else 0.0 for (before, after), seconds in zip(pairwise(self.column(name)), self.lengths())]

    def lengths(self) -> list[float]:
        return [after - before for before, after in pairwise(self.column("seconds"))]

    def coarse(self, bins: int = BINS) -> Blocks:
        """The same sums at so many moments, evenly spread over the time."""
        seconds = self.column("seconds")
        width = (seconds[-1] - seconds[0]) / bins
        kept = [0]
        for place in range(1, len(seconds)):
            if seconds[place] - seconds[kept[-1]] >= width * 0.999:
                kept.append(place)
        last = len(seconds) - 1
        kept = kept if kept[-1] == last else [*(kept[:-1] if len(kept) > 2 else kept), last]
        return Blocks(list(self._columns), [self._rows[place] for place in kept])


def blocks_of(record: Mapping[str, Any]) -> Blocks | None:
    """None where there is nothing between two moments to show."""
    found = record.get("blocks")
    if not isinstance(found, Mapping) or "seconds" not in found.get("columns", []) or len(found.get("rows", [])) < 2:
        return None
    blocks = Blocks(found["columns"], found["rows"])
    return blocks if blocks.column("seconds")[-1] > blocks.column("seconds")[0] else None
