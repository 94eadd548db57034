"""Series: the records of a run as arrays that can be drawn; long runs are gathered into bins, gaps stay gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Record = Mapping[str, Any]

BINS = 120  # areas finer than this only flicker


def column(records: Sequence[Record], name: str) -> Array:
    """One value a block; NaN where there was none."""
    return np.array([np.nan if record.get(name) is None else float(record[name]) for record in records], dtype=np.float64)


def smooth(values: Array) -> Array:
    """The mean of the blocks around each, a fifteenth of the run wide, narrower towards both ends; gaps neither count nor spread."""
    places = np.arange(len(values))
    reach = np.minimum(max(1, len(values) // 30), np.minimum(places, places[::-1]))  # as far back as ahead, so that a rise is not seen before it came
    known = np.isfinite(values)
    totals = np.concatenate([[0.0], np.cumsum(np.where(known, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(known)])
    starts, ends = places - reach, places + reach + 1
    count = counts[ends] - counts[starts]
    return np.where(count > 0, (totals[ends] - totals[starts]) / np.maximum(count, 1), np.nan)


def shares(records: Sequence[Record], name: str, at: str) -> tuple[Array, dict[str, Array]]:
    """What part of the whole each name has, bin by bin: where the bins end, and a series of shares for each name."""
    names = list(dict.fromkeys(part for record in records for part in record.get(name) or {}))
    if not names:
        return np.empty(0), {}
    amounts = np.array([[float((record.get(name) or {}).get(part) or 0) for part in names] for record in records])
    edges = np.linspace(0, len(records), min(len(records), BINS) + 1).astype(int)
    binned = np.add.reduceat(amounts, edges[:-1], axis=0)
    places = column(records, at)[edges[1:] - 1]
    wholes = binned.sum(axis=1)
    told = wholes > 0  # a bin in which nothing happened says nothing
    return places[told], {part: binned[told, number] / wholes[told] for number, part in enumerate(names)}
