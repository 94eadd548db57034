"""Ahead: what a step and an episode cost so far, block by block, and what they may cost from now on. For scaling.py.

Two futures are drawn: in one, what grew stops growing now; in the other it goes on as it went. Each draw takes the blocks again, with replacement.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hotloop.lab.drift.course import Array, Course
from hotloop.lab.drift.shapes import LINE, SINCE, shape

FEWEST_BLOCKS = 8
DRAWS = 400
QUANTILES = (0.025, 0.5, 0.975)
LOWEST = 0.2  # of the present price; a falling line is not followed below it
MOST_TIMES = 10.0  # the present length of an episode; a growing one is not followed beyond


class Rate(NamedTuple):
    """What a piece costs, block by block: a step in seconds, an episode in steps or in seconds."""

    at: Array  # pieces made, at the middle of each block
    each: Array
    made: float  # pieces, in all

    def change(self) -> dict[str, float]:
        """First, last and last / first of the shape that fits."""
        fitted = shape(self.at, self.each)
        assert fitted is not None  # there are more blocks than a shape needs
        return {"first": fitted.first, "last": fitted.last, "factor": fitted.factor}


class Ahead(NamedTuple):
    """What a piece costs from now on: a level and a slope."""

    level: float
    slope: float

    def added_up(self, more: float) -> float:
        """The cost of so many more pieces, where the price grows with the pieces."""
        lowest = LOWEST * self.level
        falls_for = more if self.slope >= 0 else min(more, (self.level - lowest) / -self.slope)
        return self.level * falls_for + 0.5 * self.slope * falls_for**2 + lowest * (more - falls_for)

    def compounded(self, more: float) -> float:
        """The same, where the price grows with what was paid: episodes get longer with every step that is trained on."""
        if self.slope <= 0:
            return self.level * more
        until = min(more, math.log(MOST_TIMES) / self.slope)
        return self.level * math.expm1(self.slope * until) / self.slope + MOST_TIMES * self.level * (more - until)


def settled_part(course: Course) -> Course:
    """From when learning had begun: what comes is like this, and not like what was before."""
    begins = course.learning_from()
    return course if begins is None else course.part(begins)


def clock_of(course: Course, clock: str) -> Array:
    """A clock as the script would read it. What was made while the lab looked at every call is known for env steps, and of the rest in proportion."""
    if clock == "env_steps":
        return course.env_steps
    return course.sums[clock] * float((course.env_steps[-1] - course.env_steps[0]) / course.sums["env_steps"][-1])


def done(course: Course, clock: str) -> float:
    return float(clock_of(course, clock)[-1])


def seconds_a_step(course: Course) -> Rate:
    blocks = course.cut("env_steps", course.blocks_it_bears())
    return Rate(blocks.middles, blocks.per("seconds", "env_steps"), float(course.env_steps[-1]))


def per_episode(course: Course, what: str) -> Rate | None:
    """None where there are too few episodes."""
    count = _blocks_of_episodes(course)
    if count < FEWEST_BLOCKS:
        return None
    made = done(course, "episodes")
    return Rate(made * (np.arange(count) + 0.5) / count, course.cut("episodes", count).per(what, "episodes"), made)


def length_by_steps(course: Course) -> Rate:
    """Steps an episode, as they went with the steps made."""
    blocks = course.cut("episodes", _blocks_of_episodes(course))
    return Rate(blocks.middles, blocks.per("env_steps", "episodes"), float(course.env_steps[-1]))


def _blocks_of_episodes(course: Course) -> int:
    return int(min(course.blocks_it_bears(), course.sums["episodes"][-1] // 2))


# Laws ----------------------------------------------------------------------------------------------------------------


def law(rate: Rate, rng: np.random.Generator) -> dict[str, dict[str, float]]:
    """seconds ∝ pieces^exponent (1 is proportional), and seconds = pieces · each, each with an interval.

    Where seconds grow as a power p, what a piece costs grows as p - 1. That is fitted, because blocks are nearly independent and running totals are not.
    """
    drawn = [_drawn(len(rate.at), rng) for _ in range(DRAWS)]
    exponents = [1 + _line(np.log(rate.at[some]), np.log(rate.each[some]))[0] for some in drawn]
    return {"exponent": interval(exponents), "seconds_each": interval([float(rate.each[some].mean()) for some in drawn])}


def interval(values: list[float]) -> dict[str, float]:
    return dict(zip(("low", "mid", "high"), map(float, np.quantile(values, QUANTILES)), strict=True))


def _drawn(count: int, rng: np.random.Generator) -> Any:
    """Places of blocks, the same number, with replacement."""
    return rng.integers(0, count, size=count)


def _line(x: Array, y: Array) -> tuple[float, float]:
    """Slope and height."""
    away = x - x.mean()
    spread = float(away @ away)
    slope = float(away @ y) / spread if spread > 0 else 0.0
    return slope, float(y.mean() - slope * x.mean())


# What will come ------------------------------------------------------------------------------------------------------


def seconds_to_come(course: Course, clock: str, more: float, rng: np.random.Generator, going_on: bool) -> list[float]:
    """For so many more pieces of a clock, in many draws."""
    settled = settled_part(course)
    costs = futures(seconds_a_step(settled), rng, going_on)
    if clock == "episodes":
        return [price.added_up(steps) for price, steps in zip(costs, _steps_of_episodes(course, more, rng, going_on), strict=True)]
    if clock == "updates":
        more *= float(settled.sums["env_steps"][-1] / settled.sums["updates"][-1])
    return [price.added_up(more) for price in costs]


def _steps_of_episodes(course: Course, more: float, rng: np.random.Generator, going_on: bool) -> list[float]:
    """Half of the draws let the length grow with the episodes, half with the steps: nobody knows which it is that makes players better."""
    length = per_episode(course, "env_steps")
    assert length is not None  # there are enough of them, or nothing is predicted
    by_episodes = [ahead.added_up(more) for ahead in futures(length, rng, going_on)]
    if not going_on:
        return by_episodes
    by_steps = [ahead.compounded(more) for ahead in futures(length_by_steps(course), rng, going_on)]
    return by_episodes[::2] + by_steps[1::2]


def futures(rate: Rate, rng: np.random.Generator, going_on: bool) -> list[Ahead]:
    """What a piece may cost from now on, from the blocks that the last stretch of the shape goes through."""
    fitted = shape(rate.at, rate.each)
    assert fitted is not None
    since = 0.0 if fitted.at is None else min(fitted.at, float(rate.at[-4]))
    at, each = rate.at[rate.at >= since], rate.each[rate.at >= since]
    rising = fitted.kind in (LINE, SINCE)
    return [_future(at[some], each[some], rate.made, rising, going_on) for some in (_drawn(len(at), rng) for _ in range(DRAWS))]


def _future(at: Array, each: Array, made: float, rising: bool, going_on: bool) -> Ahead:
    if not rising:
        return Ahead(float(each.mean()), 0.0)
    slope, height = _line(at, each)
    return Ahead(max(height + slope * made, 1e-3 * float(each.mean())), slope if going_on else 0.0)
