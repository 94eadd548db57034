"""Facts: what verdicts on drift are reached from. The run after learning began, what one piece of each phase's work cost in it, and how that went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hotloop.lab.drift.course import FEWEST_BLOCKS, SAMPLES_FROM, Array, Blocks, Course
from hotloop.lab.drift.shapes import LEVEL, LINE, SINCE, Prices, Shape, prices, shape
from hotloop.records.phases import ALL_PHASES

NOTABLE = 1.2  # times; less than this is not called a change
LONGER = 1.3  # times as many steps an episode
FEW_EPISODES = 24
WORTH = 0.05  # share of the loop's time; less than this is not worth a verdict
SUBSTANTIAL = 0.03  # share of the loop's time of a phase whose price is looked at
WORKS = ("env_steps", "act_calls", "updates", "sample_calls", SAMPLES_FROM, "episodes")
GAUGE = 0.005  # share of the loop's time of a phase whose price says something of the machine
OFTEN = 10  # pieces a block
EARLY = 0.25  # of the run; a rise that begins before that began at once, as far as can be seen
WITHIN_EPISODES = ("step", "reset", "act", "glue")  # phases that may have more to do in a long game


@dataclass(frozen=True)
class Rise:
    """A phase whose price rose, each piece of its work for itself and for the whole loop."""

    phase: str
    shape: Shape
    unit: str  # what is called a piece
    factor: float  # last price / first price, without what all phases have in common
    share: float  # of the loop's time at the end that would not be there at the first price


@dataclass(frozen=True)
class Facts:
    record: Mapping[str, Any]
    course: Course

    @cached_property
    def begins(self) -> int | None:
        """The moment after learning began, where the run goes on long enough to see how it does."""
        at, steps = self.course.learning_from(), self.course.sums["env_steps"]
        return at if at is not None and len(self.course) - at >= 2 * FEWEST_BLOCKS and steps[-1] > steps[at] else None

    @cached_property
    def regime(self) -> Course:
        """The part in which the loop always does the same kinds of thing."""
        return self.course if self.begins is None else self.course.part(self.begins)

    @cached_property
    def blocks(self) -> Blocks:
        by = "updates" if self.begins is not None else "env_steps"
        return self.regime.cut(by, self.regime.blocks_it_bears())

    @cached_property
    def all_blocks(self) -> list[dict[str, Any]]:
        """For people to look at: before learning by steps, afterwards by updates."""
        first = self.before
        before = [] if first is None else first.cut("env_steps", max(1, min(10, len(first) // 2))).as_data()
        return before + self.blocks.as_data()

    @cached_property
    def before(self) -> Course | None:
        """What came before learning, where that is long enough to be seen. The moment in which learning began is in neither part."""
        return self.course.part(0, self.begins) if self.begins is not None and self.begins >= 2 else None

    @cached_property
    def by_steps(self) -> Blocks:
        return self.regime.cut("env_steps", self.regime.blocks_it_bears())

    @cached_property
    def seconds_a_step(self) -> Array:
        return self.by_steps.per("seconds", "env_steps")

    @cached_property
    def whole(self) -> Shape | None:
        """How the seconds of a step went."""
        return shape(self.by_steps.middles, self.seconds_a_step)

    @cached_property
    def regression(self) -> Prices:
        return prices(self.blocks, [name for name in WORKS if name in self.regime.sums])

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """Of the price of a piece, for phases that matter."""
        found = {phase: self.shape_of(phase, self.unit(phase)) for phase in ALL_PHASES if self.share(phase) >= SUBSTANTIAL}
        return {phase: fitted for phase, fitted in found.items() if fitted is not None}

    @cached_property
    def gauges(self) -> dict[str, Shape]:
        """Phases that happen often enough to show what the machine does, however little they take in all."""
        often = [phase for phase in ALL_PHASES if self.share(phase) >= GAUGE and self.regime.sums[self.unit(phase)][-1] >= OFTEN * len(self.blocks)]
        found = {phase: self.shape_of(phase, self.unit(phase)) for phase in often}
        return {phase: fitted for phase, fitted in found.items() if fitted is not None}

    @cached_property
    def in_common(self) -> float:
        """By how much every price rose or fell: a machine that became slower or faster. The phase that changed least says it."""
        factors = [fitted.factor for fitted in self.gauges.values()]
        if len(factors) < 2:
            return 1.0
        return min(factors) if min(factors) > 1 else min(max(factors), 1.0)

    @cached_property
    def rises(self) -> list[Rise]:
        """Most costly first."""
        found = [self._rise(phase, fitted) for phase, fitted in self.shapes.items() if fitted.grows]
        return sorted((rise for rise in found if rise is not None and rise.share >= WORTH), key=lambda rise: -rise.share)

    def risen(self, phase: str) -> bool:
        return any(rise.phase == phase for rise in self.rises)

    def rises_of(self, phases: Sequence[str], kinds: Sequence[str]) -> list[Rise]:
        return [rise for rise in self.rises if rise.phase in phases and rise.shape.kind in kinds]

    def follows_episodes(self, rise: Rise) -> bool:
        """Whether a price goes with the length of episodes rather than with the run: a straight line through the one explains more than through the other."""
        regime, episodes = self.regime, self.regime.sums["episodes"][-1]
        if episodes < FEW_EPISODES:
            return False
        blocks = regime.cut("env_steps", int(min(regime.blocks_it_bears(), episodes // 4)))
        price, length = blocks.per(f"{rise.phase}_seconds", rise.unit), blocks.per("env_steps", "episodes")
        known = np.isfinite(price) & np.isfinite(length)
        if np.count_nonzero(known) < FEWEST_BLOCKS or ends(length)[1] < LONGER * ends(length)[0]:
            return False
        return straightness(length[known], price[known]) > straightness(blocks.middles[known], price[known])

    def unit(self, phase: str) -> str:
        if phase in ("learn", "sync") and self.regime.has("updates"):
            return "updates"  # calls of learning are counted otherwise once its function is known
        calls = f"{phase}_calls"
        return calls if self.regime.has(calls) else "env_steps"

    def share(self, phase: str) -> float:
        name = f"{phase}_seconds"
        return float(self.regime.sums[name][-1] / self.regime.sums["seconds"][-1]) if self.regime.has(name) else 0.0

    def shape_of(self, phase: str, unit: str, *, beside_others: bool = False) -> Shape | None:
        count = min(self.regime.blocks_it_bears(), int(self.regime.sums[unit][-1] // 2))
        if count < FEWEST_BLOCKS:
            return None
        blocks = self.regime.cut(unit, count)
        price = blocks.per(f"{phase}_seconds", unit)
        return shape(blocks.middles, price / self._others(phase, blocks) if beside_others else price)

    def _others(self, phase: str, blocks: Blocks) -> Array:
        """By how much the prices of the other phases were above their usual in each block: the machine's share in what happened there."""
        prices = [blocks.per(f"{other}_seconds", self.unit(other)) for other in self.gauges if other != phase]
        whole = [price / np.median(price) for price in prices if np.isfinite(price).all() and price.min() > 0]
        return np.median(whole, axis=0) if whole else np.ones(len(blocks))

    def _rise(self, phase: str, fitted: Shape) -> Rise | None:
        """A price that rose only because it is counted otherwise is none: the loop must pay more for the phase, too. Nor is one that rose with all others."""
        unit = self.unit(phase)
        alone = self.shape_of(phase, unit, beside_others=True)
        if fitted.factor < NOTABLE or not fitted.stands_out or alone is None or alone.kind == LEVEL or alone.factor < NOTABLE:
            return None
        if phase in ("act", "sample") and unit.endswith("_calls"):
            paid = self.shape_of(phase, "updates" if phase == "sample" and self.regime.has("updates") else "env_steps")
            if paid is None or paid.factor < NOTABLE:
                return None
        late = self.blocks.sums[f"{phase}_seconds"][-3:].sum() / self.blocks.sums["seconds"][-3:].sum()
        factor = min(fitted.factor / self.in_common, alone.factor)
        went = alone.kind if alone.kind != SINCE or not self._is_early(alone.at) else LINE
        return Rise(phase, fitted._replace(kind=went, at=alone.at), unit, factor, float(late * (1 - 1 / factor)))

    def _is_early(self, step: float | None) -> bool:
        first, last = self.regime.env_steps[0], self.regime.env_steps[-1]
        return step is not None and step < first + EARLY * (last - first)


def ends(values: Array) -> tuple[float, float]:
    """The first and the last quarter's median."""
    quarter = max(len(values) // 4, 1)
    return float(np.nanmedian(values[:quarter])), float(np.nanmedian(values[-quarter:]))


def slope(x: Array, y: Array) -> float:
    return float(np.polyfit(x, y, 1)[0])


def straightness(x: Array, y: Array) -> float:
    """The share of the differences in y that a straight line through x explains."""
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    return float(np.corrcoef(x, y)[0, 1] ** 2)
