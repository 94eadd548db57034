"""Mixes: verdicts on a loop that does other work than it did, at the same prices; and on one in which nothing happened but chance.

To add one: write the function, name it in MIXES, and give it a pair of tests.
"""

from __future__ import annotations

import numpy as np

from hotloop.lab.drift.course import Course
from hotloop.lab.drift.facts import FEW_EPISODES, LONGER, NOTABLE, WITHIN_EPISODES, WORTH, Facts, ends
from hotloop.lab.drift.shapes import LEVEL, LINE, SINCE, UNTIL, shape, spread_of, twins
from hotloop.lab.drift.words import PIECES, Verdict, duration, evidence_of, number, price_of

SPREAD = 0.10  # of blocks, beyond what their work explains: noise worth a word
WARM = 1.5  # times the settled price


def epsilon_mix(facts: Facts) -> Verdict | None:
    """The network is asked more and more often, as fewer actions are random."""
    regime, blocks = facts.regime, facts.by_steps
    if not (regime.has("act_calls") and regime.has("act_seconds") and regime.has("vector_steps")):
        return None
    asked = shape(blocks.middles, blocks.per("act_calls", "vector_steps"))
    first, last = ends(blocks.per("act_seconds", "env_steps"))
    added = (last - first) / ends(facts.seconds_a_step)[1]
    price = facts.shapes.get("act")
    if asked is not None and asked.grows and asked.factor >= NOTABLE and added >= WORTH and (price is None or price.factor / facts.in_common < NOTABLE):
        said = f"the network chose {asked.first:.0%} of the actions at first and {asked.last:.0%} at the end, at the same price each"
        took = f"acting took {duration(first)} a step, then {duration(last)}"
        return Verdict("epsilon-mix", "act", f"{said}: {took}; fewer random actions, nothing is wrong", {"calls_a_step": asked.as_data()}, added)
    return _hidden_epsilon(facts)


def _hidden_epsilon(facts: Facts) -> Verdict | None:
    """Where the function that is called every step decides by itself whether to ask the network."""
    if facts.risen("learn") or not (facts.regime.has("sample_calls") or facts.regime.has("store_calls")):
        return None
    for rise in facts.rises_of(("act",), (LINE, UNTIL, SINCE)):
        levels = f" until step {number(rise.shape.at)}" if rise.shape.kind == UNTIL else ""
        said = f"{price_of(rise)} at the end, rising{levels} as if the network were asked more often while random actions become fewer"
        return Verdict("epsilon-mix", "act", f"{said}; a candidate, and then nothing is wrong", evidence_of(rise) | {"candidate": True}, rise.share)
    return None


def learning_started(facts: Facts) -> Verdict | None:
    """From some step on the loop also learns."""
    before, after = facts.before, facts.regime
    if before is None or not _is_a_beginning(before, after):
        return None
    first, last = _each_step(before), _each_step(after)
    learning = sum(after.sums[name][-1] for name in ("learn_seconds", "sample_seconds", "sync_seconds") if name in after.sums) / after.sums["env_steps"][-1]
    if last < NOTABLE * first or ("learn_seconds" in after.sums and learning < 0.5 * (last - first)):
        return None
    at = float((facts.record.get("clocks") or {}).get("learning_starts") or before.env_steps[-1])  # the moment is only as exact as the rows are close
    said = f"from step {number(at)} on the loop also learns: a step took {duration(first)} before and {duration(last)} after"
    evidence = {"at_step": at, "seconds_a_step": [first, last]}
    return Verdict("learning-started", "learn", f"{said}, of which learning {duration(learning)}; nothing is wrong", evidence, 1 - first / last)


def _is_a_beginning(before: Course, after: Course) -> bool:
    """And not just the first of many rollouts that are each learned from at their end."""
    return not after.bursts or float(before.env_steps[-1]) > 2 * float(after.sums["env_steps"][-1]) / after.bursts


def episodes_changed(facts: Facts) -> Verdict | None:
    """Episodes got longer, so each takes longer; or shorter, so there are more resets."""
    course = facts.course
    episodes = float(course.sums["episodes"][-1])
    if episodes < FEW_EPISODES:
        return None
    blocks = course.cut("episodes", int(min(course.blocks_it_bears(), episodes // 4)))
    length = shape(blocks.middles, blocks.per("env_steps", "episodes"))
    if length is None or length.kind == LEVEL:
        return None
    first, last = ends(facts.seconds_a_step)
    evidence = {"steps_an_episode": length.as_data(), "seconds_a_step": [first, last]}
    lengths = f"an episode took {number(length.first)} steps at first and {number(length.last)} at the end, a step {duration(first)} and {duration(last)}"
    if length.factor >= LONGER:
        dearer = [rise for rise in facts.rises if rise.phase in WITHIN_EPISODES and facts.follows_episodes(rise)]
        if dearer:
            said = f"{lengths}: games became longer, and {price_of(dearer[0])} in long ones"
            return Verdict("episodes-got-longer", dearer[0].phase, said, evidence, 1 - 1 / length.factor)
        fine = "; nothing is wrong" if last < NOTABLE * first else ""
        return Verdict("episodes-got-longer", None, f"{lengths}: count per step, not per episode{fine}", evidence, 1 - 1 / length.factor)
    resets = ends(facts.by_steps.per("reset_seconds", "env_steps")) if facts.regime.has("reset_seconds") else (0.0, 0.0)
    if length.factor <= 1 / LONGER and (resets[1] - resets[0]) / last >= WORTH:
        return Verdict("episodes-got-shorter", "reset", f"{lengths}: more of the time goes into resets", evidence, (resets[1] - resets[0]) / last)
    return None


def warm_up(facts: Facts) -> Verdict | None:
    """The first calls were slow, then the price was constant."""
    found = [_warm_up_of(facts, name, phase, unit) for name, phase, unit in _warming(facts)]
    return max((verdict for verdict in found if verdict), key=lambda verdict: verdict.weight, default=None)


def _warming(facts: Facts) -> list[tuple[str, str | None, str]]:
    large = [phase for phase in ("learn", "act", "step") if facts.share(phase) >= WORTH]
    return [(f"{phase}_seconds", phase, facts.unit(phase)) for phase in large] or [("seconds", None, "env_steps")]


def _warm_up_of(facts: Facts, name: str, phase: str | None, unit: str) -> Verdict | None:
    regime = facts.regime
    fine = regime.cut(unit, int(min(len(regime), 100, regime.sums[unit][-1])))
    price = fine.per(name, unit)
    settled = float(np.nanmedian(price[len(price) // 2 :]))
    cold = int(np.argmax(price < WARM * settled))
    excess = float(np.sum(fine.sums[name][:cold] - settled * fine.sums[unit][:cold]))
    if cold == 0 or cold > len(price) // 3 or excess < WORTH * regime.sums["seconds"][-1] or np.nanmax(price[: cold + 1]) < NOTABLE * WARM * settled:
        return None
    until = float(fine.env_steps[cold])
    what = f"{phase or 'everything'} took {duration(float(price[0]))} {PIECES.get(unit, 'a call')} at first and {duration(settled)} once settled"
    said = f"{what}, from step {number(until)} on; warming up or compiling cost {duration(excess)} in all and is over"
    evidence = {"seconds": excess, "until_step": until, "price": [float(price[0]), settled]}
    return Verdict("warm-up", phase, said, evidence, excess / float(regime.sums["seconds"][-1]))


def slower_machine(facts: Facts) -> Verdict | None:
    """Everything became slower, or faster, by the same factor."""
    if 1 / NOTABLE < facts.in_common < NOTABLE:
        return None
    said = f"the price of every phase changed by about the same factor, {facts.in_common:.2f}: the machine changed, not the loop"
    return Verdict("machine-noise", None, said, {"in_common": facts.in_common}, 0.0)


def machine_noise(facts: Facts) -> Verdict | None:
    """Blocks of the same work take different times, without a trend."""
    values = facts.regression.left_over
    spread = spread_of(values)
    if spread < SPREAD:
        return None
    chance = twins(values, np.random.default_rng(0))
    smallest = max(chance["high"] / chance["mid"], chance["mid"] / chance["low"]) - 1
    said = f"blocks of the same work differ by {spread:.0%} without a trend; changes below {smallest:.0%} cannot be seen in this run"
    return Verdict("machine-noise", None, said, {"spread": spread, "run_against_itself": chance}, 0.0)


def unexplained(facts: Facts) -> Verdict | None:
    """A step's time changed, and none of the above says why."""
    whole = facts.whole
    if whole is None or 1 / LONGER < whole.factor < LONGER or not whole.stands_out:
        return None
    added = {phase: np.subtract(*ends(facts.by_steps.per(f"{phase}_seconds", "env_steps"))[::-1]) for phase in facts.shapes}
    phase = max(added, key=lambda phase: abs(added[phase]), default=None)
    most = f", most of it in {phase}" if phase else ""
    said = f"a step took {duration(whole.first)} at first and {duration(whole.last)} at the end{most}; why cannot be told from times and counts"
    return Verdict("price-changed", phase, said, {"seconds_a_step": whole.as_data()}, abs(1 - 1 / whole.factor))


MIXES = (epsilon_mix, learning_started, episodes_changed, warm_up)


def _each_step(course: Course) -> float:
    return float(course.sums["seconds"][-1] / course.sums["env_steps"][-1])
