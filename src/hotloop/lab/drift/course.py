"""Course: how far a run had come and what it had spent, from the first step on, and that again in blocks of equal work. For judge.py and scaling.py.

Everything here is a running total. What the lab took for itself is left out; where it looked at every call, the work done meanwhile is left out too,
because nobody knows how long it would have taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hotloop.records.phases import ALL_PHASES

Array = npt.NDArray[np.float64]

MOST_BLOCKS = 40
ROWS_A_BLOCK = 2
FEWEST_BLOCKS = 6  # below this nothing is said
LOOKING = 0.05  # more of a moment than this, beyond what is usual, and the lab was looking at every call
SAMPLES_FROM = "samples_x_stored"  # samples times the transitions there were to take them from: the work of what goes through a whole memory
STATES = ("rss_mb", "heap_blocks")  # how it stands, not a running total


@dataclass(frozen=True)
class Course:
    """Running totals from the first step on, and how things stood at the same moments."""

    sums: dict[str, Array]  # each begins with 0
    states: dict[str, Array]
    env_steps: Array  # made by the script, those that are left out included
    clock: Array  # seconds since the script was started

    def __len__(self) -> int:
        return len(self.env_steps) - 1

    def has(self, name: str) -> bool:
        return name in self.sums and bool(self.sums[name][-1] > 0)

    def part(self, first: int, last: int | None = None) -> Course:
        """From one moment to another."""
        cut = slice(first, last)
        return Course({name: total[cut] - total[first] for name, total in self.sums.items()}, _each(self.states, cut), self.env_steps[cut], self.clock[cut])

    def learning_from(self) -> int | None:
        """The first moment after the first update."""
        updated = np.flatnonzero(self.sums["updates"] > 0)
        return int(updated[0]) if updated.size else None

    def cut(self, by: str, count: int) -> Blocks:
        """Into blocks in which equally much was added to `by`."""
        total, moments = self.sums[by], np.arange(len(self) + 1.0)
        rising = total + 1e-9 * total[-1] * moments / max(len(self), 1)  # where nothing was added the order is still that of time
        edges = np.interp(np.linspace(rising[0], rising[-1], count + 1), rising, moments)
        sums = {name: np.diff(np.interp(edges, moments, column)) for name, column in self.sums.items()}
        states = {name: np.interp(edges[1:], moments, column) for name, column in self.states.items()}
        return Blocks(sums, states, np.interp(edges, moments, self.env_steps), np.interp(edges, moments, self.clock))

    def blocks_it_bears(self) -> int:
        """As many as there are rows for; where updates come in bursts, as many as hold a few bursts each."""
        count = min(MOST_BLOCKS, len(self) // ROWS_A_BLOCK)
        return min(count, self.bursts // 2) if self.bursts else count

    @cached_property
    def bursts(self) -> int:
        """How often it was learned for a while, and then not: rollouts. 0 where learning goes on all the time."""
        added = np.diff(self.sums["updates"]) > 0
        return int(np.count_nonzero(added[1:] & ~added[:-1])) if added.mean() < 0.9 else 0


@dataclass(frozen=True)
class Blocks:
    """What was added in each block, and how things stood at its end."""

    sums: dict[str, Array]
    states: dict[str, Array]
    env_steps: Array  # at the edges: one more than there are blocks
    clock: Array  # at the edges

    def __len__(self) -> int:
        return len(self.env_steps) - 1

    @property
    def middles(self) -> Array:
        return 0.5 * (self.env_steps[1:] + self.env_steps[:-1])

    def per(self, what: str, each: str) -> Array:
        """NaN in a block that has none of `each`."""
        amount, of = self.sums[what], self.sums[each]
        return np.divide(amount, of, out=np.full(len(self), np.nan), where=of > 0)

    def as_data(self) -> list[dict[str, Any]]:
        return [self._block(number) for number in range(len(self))]

    def _block(self, number: int) -> dict[str, Any]:
        added = {name: float(column[number]) for name, column in self.sums.items()}
        seconds, steps = added["seconds"], added["env_steps"]
        phases = {name: {"seconds": added[f"{name}_seconds"], "calls": added.get(f"{name}_calls")} for name in ALL_PHASES if added.get(f"{name}_seconds")}
        return {
            "from_step": float(self.env_steps[number]),
            "to_step": float(self.env_steps[number + 1]),
            "at_seconds": float(self.clock[number + 1]),
            "seconds": seconds,
            "env_steps": steps,
            "updates": added["updates"],
            "episodes": added["episodes"],
            "steps_per_second": steps / seconds if seconds > 0 else None,
            "rss_mb": _known(self.states.get("rss_mb"), number),
            "phases": phases,
        }


def course_of(record: Mapping[str, Any]) -> Course | None:
    """None where the record holds too little to go by."""
    blocks = record.get("blocks")
    if not isinstance(blocks, Mapping) or len(blocks.get("rows") or []) < 3:
        return None
    columns, table = list(blocks["columns"]), np.array(blocks["rows"], dtype=np.float64)  # None becomes NaN
    rows = {name: table[:, place] for place, name in enumerate(columns)}
    if not {"seconds", "env_steps", "updates"} <= set(columns):
        return None
    stepped = np.flatnonzero(rows["env_steps"] > 0)
    if stepped.size < 3:
        return None
    return _without_looking({name: column[stepped[0] :] for name, column in rows.items()})


def _without_looking(rows: dict[str, Array]) -> Course | None:
    added = {name: np.diff(column) for name, column in rows.items() if name not in STATES}
    looking = added.pop("looking_seconds", np.zeros(len(added["seconds"])))
    own = added["seconds"] - looking
    keep = ~_looked_at(added["seconds"], looking) & (own > 0) & (added["env_steps"] >= 0)
    if np.count_nonzero(keep) < 2:
        return None
    added["seconds"] = own
    for name in ("vector_steps", "episodes"):
        added.setdefault(name, np.zeros(len(own)))
    added[SAMPLES_FROM] = added.get("sample_calls", added["updates"]) * rows["env_steps"][1:]
    ends = np.concatenate([[True], keep])
    sums = {name: np.concatenate([[0.0], np.cumsum(np.maximum(np.nan_to_num(column[keep]), 0.0))]) for name, column in added.items()}
    states = {name: rows[name][ends] for name in STATES if name in rows and np.isfinite(rows[name]).all()}
    return Course(sums, states, rows["env_steps"][ends], rows["seconds"][ends])


def _looked_at(seconds: Array, looking: Array) -> npt.NDArray[np.bool_]:
    """Moments in which the lab looked at every call. The time of a look is booked when it ends, so it reaches back over as many moments as it was long."""
    share = looking / np.maximum(seconds, 1e-9)
    looked = share > np.median(share) + LOOKING
    for place in np.flatnonzero(looked):
        left, before = looking[place] - seconds[place], place - 1
        while left > 0 and before >= 0:
            looked[before] = True
            left, before = left - seconds[before], before - 1
    return looked


def _each(columns: dict[str, Array], cut: slice) -> dict[str, Array]:
    return {name: column[cut] for name, column in columns.items()}


def _known(column: Array | None, number: int) -> float | None:
    return None if column is None else float(column[number])
