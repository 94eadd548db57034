"""Costs: verdicts on a loop that pays more for the same than it did, in time or in memory. Each is a function from facts to what it has to say, or None.

To add one: write the function, name it in COSTS, and give it a pair of tests.
"""

from __future__ import annotations

import numpy as np

from hotloop.lab.drift.facts import NOTABLE, WITHIN_EPISODES, WORTH, Facts, Rise, ends, slope, straightness
from hotloop.lab.drift.mixes import epsilon_mix
from hotloop.lab.drift.shapes import LINE, SINCE, STEP, UNTIL
from hotloop.lab.drift.words import Verdict, duration, evidence_of, number, price_of

DENORMAL = 1.5  # times; arithmetic on denormal numbers is slower than that
LEAK_MB = 20.0  # in the second half of a run; less may be the allocator's
LEAK_SHARE = 0.03  # of what was resident
STEADY = 0.9  # of the differences that a straight line explains
SLOWING = 0.8  # times the growth of the quarter before
MOST_OF_A_TRANSITION_MB = 0.25  # no memory needs more for one


def garbage(facts: Facts) -> Verdict | None:
    """Collecting garbage takes more and more of a step."""
    if not facts.regime.has("gc_seconds"):
        return None
    first, last = ends(facts.by_steps.per("gc_seconds", "env_steps"))
    before, after = ends(facts.seconds_a_step)
    rose, share = last - first, last / after
    if share < WORTH or last < NOTABLE * first or rose < 0.5 * (after - before):
        return None
    said = f"collecting garbage took {duration(first)} a step at first and {duration(last)} at the end, {share:.0%} of the time"
    evidence = {"seconds_a_step": [first, last], "share": share}
    return Verdict("garbage", None, f"{said}: more and more objects are looked through; try gc.freeze() once the memory is full", evidence, share)


def cost_grows_with_buffer(facts: Facts) -> Verdict | None:
    """Storing, sampling or learning costs more the more is remembered."""
    phases = ("sample", "store") if facts.regime.bursts else ("sample", "store", "learn")  # what is learned from rollouts remembers nothing
    for rise in facts.rises_of(phases, (LINE, UNTIL)):
        until = f", and no more after step {number(rise.shape.at)}, as where a memory is full" if rise.shape.kind == UNTIL else " and is still rising"
        said = f"{price_of(rise)} at the end, growing with the transitions stored{until}"
        return Verdict("cost-grows-with-buffer", rise.phase, said, evidence_of(rise), rise.share)
    return None


def denormals(facts: Facts) -> Verdict | None:
    """The same products take longer from some point on. Only a candidate."""
    if not facts.risen("learn"):
        return None
    for rise in (rise for rise in facts.rises_of(("learn", "act"), (STEP, SINCE)) if rise.factor >= DENORMAL):
        too = ", for acting as for learning" if facts.risen("act") else ""
        said = f"{price_of(rise)} after step {number(rise.shape.at)}{too}; numbers too small for fast arithmetic are a candidate"
        evidence = evidence_of(rise) | {"candidate": True}
        return Verdict("denormals", rise.phase, f"{said}, no more than that; try torch.set_flush_denormal(True)", evidence, rise.share)
    return None


def allocation_growth(facts: Facts) -> Verdict | None:
    """Something that is copied or gone through at every call grows with the run."""
    phases = ("step", "reset", "act", "sync", "evaluate", "log", "save", "glue", *(["learn"] if facts.regime.bursts else []))
    for rise in facts.rises_of(phases, (LINE, UNTIL, SINCE)):
        if (rise.phase == "act" and epsilon_mix(facts)) or (rise.phase == "learn" and rise.shape.kind == SINCE) or _explained_by_episodes(facts, rise):
            continue
        said = f"{price_of(rise)} at the end, growing with the run: something is copied or gone through that gets longer"
        evidence = evidence_of(rise) | {"candidate": rise.phase in ("step", "reset")}  # there it may be the game itself
        return Verdict("allocation-growth", rise.phase, said, evidence, rise.share)
    return None


def _explained_by_episodes(facts: Facts, rise: Rise) -> bool:
    return rise.phase in WITHIN_EPISODES and facts.follows_episodes(rise)


def price_changed(facts: Facts) -> Verdict | None:
    """A price went up at once; why is not to be seen from here."""
    sudden = facts.rises_of(("step", "reset", "sync", "evaluate", "log", "save", "glue"), (STEP,)) + facts.rises_of(("sample", "store"), (STEP, SINCE))
    sudden += facts.rises_of(("learn", "act"), (STEP, SINCE)) if denormals(facts) is None and epsilon_mix(facts) is None else []
    for rise in sudden:
        said = f"{price_of(rise)} after step {number(rise.shape.at)}; what changed there cannot be told from times alone"
        return Verdict("price-changed", rise.phase, said, evidence_of(rise), rise.share)
    return None


def memory_leak(facts: Facts) -> Verdict | None:
    """Memory grows where nothing should need more. Said with care: a replay that is filling grows, too."""
    course = facts.course
    if "rss_mb" not in course.states or len(course) < 20:
        return None
    half = course.part(len(course) // 2)
    steps, resident = half.env_steps, half.states["rss_mb"]
    grown, each = float(resident[-1] - resident[0]), slope(steps, resident)
    quarter = len(resident) // 2
    slowing = resident[-1] - resident[quarter] < SLOWING * (resident[quarter] - resident[0])
    if grown < max(LEAK_MB, LEAK_SHARE * resident[0]) or straightness(steps, resident) < STEADY or slowing:
        return None
    why = _why_not_needed(facts, each)
    if why is None:
        return None
    said = f"resident memory grew steadily by {1000 * each:.3g} MB per 1000 steps over the second half, {grown:.0f} MB in all, {why}"
    return Verdict("memory-leak", None, f"{said}: something is kept that is probably not meant to be", {"mb_per_1000_steps": 1000 * each, "why": why}, 1.0)


def _why_not_needed(facts: Facts, each: float) -> str | None:
    course = facts.course
    if not (course.has("store_calls") or course.has("sample_calls")):
        return "though nothing is being stored"
    if facts.regime.bursts:
        return "though each rollout takes the place of the one before"
    if each > MOST_OF_A_TRANSITION_MB:
        return "more than any transition takes"
    steps, resident = course.env_steps, course.states["rss_mb"]
    full = max((s.at for p, s in facts.shapes.items() if p in ("sample", "store", "learn") and s.kind == UNTIL and s.grows and s.at), default=None)
    if full is not None and np.count_nonzero(steps > full) > 8 and slope(steps[steps > full], resident[steps > full]) > 0.5 * each:
        return f"though the memory seems full since step {number(full)}"
    third = len(steps) // 3
    if slope(steps[:third], resident[:third]) > 2.5 * each and third > 8:
        return "after a first part in which it grew faster, as a memory does until it is full"
    return None


COSTS = (garbage, cost_grows_with_buffer, denormals, allocation_growth, price_changed)
