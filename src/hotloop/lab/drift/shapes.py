"""Shapes: how a price goes over a run: level, a step, a line, a rise that ends, a rise that begins late. And what a block's time is made of.

Each shape is fitted; the one wins that explains most for its number of parameters. The yardstick of what is noise is how much neighbours differ. Change points
are found exactly, by trying every place for the last one; in NumPy that is shorter than a dependency.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from hotloop.lab.drift.course import Array, Blocks

LEVEL, STEP, LINE, UNTIL, SINCE = "level", "step", "line", "until", "since"
FEWEST = 5  # points that a shape is read from
NOISE_FLOOR = 0.005  # no two blocks are alike to better than this
OUTLIER = 3.0  # noises; what is further away counts as if it were here
TRUSTED = 3.0  # noises
WORTH_A_WORD = 0.1  # relative, between two levels
STRICT = 2.0  # times what BIC asks for a parameter: neighbouring blocks are not independent


class Shape(NamedTuple):
    """One of the shapes, fitted."""

    kind: str
    factor: float  # last value / first value, as fitted
    first: float
    last: float
    at: float | None  # where the step is, or where the rise ends or begins
    noise: float  # relative, of one block: from its neighbours or from the shape, whichever is larger

    @property
    def grows(self) -> bool:
        return self.kind != LEVEL and self.factor > 1

    @property
    def stands_out(self) -> bool:
        """Whether the change is larger than what happens between one block and the next anyway; a busy machine makes shapes, too."""
        return abs(np.log(self.factor)) > TRUSTED * self.noise

    def as_data(self) -> dict[str, Any]:
        return self._asdict()


class Fit(NamedTuple):
    kind: str
    values: Array
    cost: float
    at: float | None


def shape(at: Array, price: Array) -> Shape | None:
    """None where there are too few points, or nothing was spent."""
    known = np.isfinite(price) & (price > 0)
    at, price = at[known], price[known]
    if len(price) < FEWEST:
        return None
    noise = noise_of(price)
    best = min(_fits(at, price, noise), key=lambda fit: fit.cost)
    first, last = float(best.values[0]), float(best.values[-1])
    return Shape(best.kind, last / first, first, last, best.at, max(noise, spread_of(price / best.values)))


def spread_of(ratios: Array) -> float:
    """From the tenth to the ninetieth percentile, made comparable to a standard deviation: a relative one."""
    low, high = np.quantile(np.log(ratios), [0.1, 0.9])
    return float(high - low) / 2.56


def noise_of(price: Array) -> float:
    """How much a block differs from its neighbours: the median, made comparable to a standard deviation."""
    differences = np.abs(np.diff(np.log(price)))
    return max(float(np.median(differences)) / (0.6745 * np.sqrt(2)), NOISE_FLOOR)


def _fits(at: Array, price: Array, noise: float) -> list[Fit]:
    position = (at - at[0]) / max(float(at[-1] - at[0]), 1e-12)
    fits = [_fit(LEVEL, price, [np.ones(len(at))], noise, 1), _fit(LINE, price, [np.ones(len(at)), position], noise, 2)]
    for place in range(2, len(at) - 2):
        knee = position[place]
        fits.append(_fit(STEP, price, [np.ones(len(at)), position >= knee], noise, 3, float(at[place])))
        fits.append(_fit(UNTIL, price, [np.ones(len(at)), np.minimum(position, knee)], noise, 3, float(at[place])))
        fits.append(_fit(SINCE, price, [np.ones(len(at)), np.maximum(position - knee, 0)], noise, 3, float(at[place])))
    return fits


def _fit(kind: str, price: Array, terms: Sequence[Array], noise: float, parameters: int, at: float | None = None) -> Fit:
    """Least squares of relative errors, a second time without those that are far off."""
    weights = 1 / price
    values = price
    for _ in range(2):
        design = np.stack(terms, axis=1).astype(np.float64)
        solution = np.linalg.lstsq(design * weights[:, None], price * weights, rcond=None)[0]
        values = np.maximum(design @ solution, 1e-3 * price.min())
        far = np.abs(np.log(price / values)) > OUTLIER * noise * 2
        weights = np.where(far, 0.05, 1.0) / values
    errors = np.minimum(np.abs(np.log(price / values)) / noise, OUTLIER)
    return Fit(kind, values, float(np.sum(errors**2)) + STRICT * parameters * np.log(len(price)), at)


def change_points(values: Array, *, least: int = 2) -> list[int]:
    """The first place of every new level that is worth a word. Exact: the cheapest way to split what comes before a place is known when it is reached."""
    count = len(values)
    if count < 2 * least:
        return []
    logs = np.log(values)
    price, noise = STRICT * 2 * np.log(count), noise_of(values)
    ones, twos = np.concatenate([[0], np.cumsum(logs)]), np.concatenate([[0], np.cumsum(logs**2)])
    cheapest, came_from = np.full(count + 1, np.inf), np.zeros(count + 1, dtype=int)
    cheapest[0] = -price
    for end in range(least, count + 1):
        starts = np.arange(0, end - least + 1)
        length = end - starts
        spread = (twos[end] - twos[starts]) - (ones[end] - ones[starts]) ** 2 / length
        costs = cheapest[starts] + spread / noise**2 + price
        came_from[end] = starts[np.argmin(costs)]
        cheapest[end] = costs.min()
    found, end = [], count
    while end > 0:
        end = int(came_from[end])
        found.append(end)
    edges = [*sorted(found), count]
    levels = [logs[start:end].mean() for start, end in pairwise(edges)]
    return [edges[place] for place in range(1, len(levels)) if abs(levels[place] - levels[place - 1]) > WORTH_A_WORD]


class Prices(NamedTuple):
    """What a block's time is made of, if everything always cost the same."""

    each: dict[str, float]  # seconds
    explained: float  # share of the differences between blocks' times
    left_over: Array  # what a block took / what its work should have taken


def prices(blocks: Blocks, works: Sequence[str]) -> Prices:
    """Block times as work counts times prices that are never negative."""
    from scipy.optimize import nnls

    seconds = blocks.sums["seconds"]
    named = [name for name in works if name in blocks.sums and blocks.sums[name].any()]
    counts = np.stack([blocks.sums[name] for name in named], axis=1)
    sizes = counts.max(axis=0)
    found, _ = nnls(counts / sizes / seconds[:, None], np.ones(len(seconds)))  # relative errors: a slow block counts as much as a fast one
    fitted = counts / sizes @ found
    spread = np.sum((seconds - seconds.mean()) ** 2)
    explained = 1 - np.sum((seconds - fitted) ** 2) / spread if spread > 0 else 1.0
    each = {name: float(price / size) for name, price, size in zip(named, found, sizes, strict=True)}
    return Prices(each, float(max(explained, 0.0)), seconds / np.maximum(fitted, 1e-12))


def twins(values: Array, rng: np.random.Generator, draws: int = 500) -> dict[str, float]:
    """The run against itself: blocks 1, 3, 5… against 2, 4, 6…, which differ by chance only. The interval is what chance does here."""
    pairs = len(values) // 2
    logs = np.log(values[0 : 2 * pairs : 2] / values[1 : 2 * pairs : 2])
    means = rng.choice(logs, size=(draws, pairs)).mean(axis=1)
    low, high = np.exp(np.quantile(means, [0.025, 0.975]))
    return {"low": float(low), "mid": float(np.exp(logs.mean())), "high": float(high)}
