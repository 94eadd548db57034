"""Scaling: how the time of a run grows with its steps and its episodes, and how long "5000 episodes" will take. Pure, from a record's blocks.

    seconds = what a step costs, added up over the steps · steps = the length of an episode, added up over the episodes

Both are followed on their own, because a run that takes 14 times as long for 5 times the episodes is slow for one of two reasons that have nothing in common.
The low end of a prediction is what comes out if whatever grew stops growing now; the high end, if it goes on as it went.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from hotloop.lab.drift.ahead import FEWEST_BLOCKS, clock_of, done, interval, law, per_episode, seconds_a_step, seconds_to_come, settled_part
from hotloop.lab.drift.course import Course, course_of
from hotloop.lab.drift.words import duration, number

CLOCKS = {"step": "env_steps", "env step": "env_steps", "update": "updates", "episode": "episodes"}
TIMES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
AMOUNT = r"(?P<amount>\d[\d _,]*(?:\.\d+)?(?:e\+?\d+)?)\s*(?P<times>[kmg]?)"
TARGET = re.compile(rf"\s*{AMOUNT}\s*(?P<clock>env[ _]steps?|steps?|updates?|episodes?)\s*", re.IGNORECASE)
FEWEST_PIECES = 2 * FEWEST_BLOCKS
FARTHEST = 100.0  # times what was seen; nobody knows what is beyond
BEST = 0.02  # of what is to come; no prediction is better than this
GREW = 1.2  # times


class Target(NamedTuple):
    amount: float
    clock: str

    def __str__(self) -> str:
        return f"{number(self.amount)} {self.clock.replace('_', ' ')}"


def target_of(text: str) -> Target:
    found = TARGET.fullmatch(text)
    if found is None:
        raise ValueError(f'expected a number of steps, updates or episodes, found {text!r}; try "5000 episodes", "1M steps" or "2e5 updates"')
    amount = float(re.sub("[ _,]", "", found["amount"])) * TIMES[found["times"].lower()]
    return Target(amount, CLOCKS[found["clock"].lower().replace("_", " ").removesuffix("s")])


def extrapolate(record: Mapping[str, Any], target: str, rng: np.random.Generator | None = None) -> dict[str, Any]:
    """{"verdict": "predicted" | "reached" | "inconclusive", "seconds": {"low", "mid", "high"} or None, "grew", "laws", "explanation", …}.

    The seconds are wall seconds from the start of the script.
    """
    wanted, course = target_of(target), course_of(record)
    answer: dict[str, Any] = {"target": wanted._asdict(), "seconds": None, "now": None, "grew": None, "laws": None, "tried_on_itself": None}
    why = why_not(course, wanted)
    if course is None or why:
        return answer | {"verdict": "inconclusive", "explanation": f"inconclusive: {why}"}
    made, took = done(course, wanted.clock), float(course.clock[-1])
    answer["now"] = {"amount": made, "seconds": took}
    if wanted.amount <= made:
        seconds = float(np.interp(wanted.amount, clock_of(course, wanted.clock), course.clock))
        return answer | {"verdict": "reached", "seconds": dict.fromkeys(("low", "mid", "high"), seconds), "explanation": f"{wanted} took {_long(seconds)}"}
    rng = np.random.default_rng(0) if rng is None else rng
    tried = tried_on_itself(course, wanted.clock, rng)
    answer |= {"verdict": "predicted", "laws": laws(course, rng), "tried_on_itself": tried, **growth(course)}
    seconds_then = predict(course, wanted, rng, off=abs(tried["error"]) if tried else 0.0)
    return answer | {"seconds": seconds_then, "explanation": _explanation(wanted, answer, seconds_then)}


def why_not(course: Course | None, wanted: Target) -> str | None:
    """Why nothing can be said, as expected, found, try."""
    if course is None:
        return "expected blocks of a run that steps an environment for some seconds, found none; try a longer --budget"
    settled, what = settled_part(course), wanted.clock.replace("_", " ")
    if settled.blocks_it_bears() < FEWEST_BLOCKS:
        seen, count = ("rollouts that are learned from", settled.bursts) if settled.bursts else ("moments at which the run was seen", len(settled))
        return f"expected {2 * FEWEST_BLOCKS} {seen} after learning began, found {count}; try a longer --budget"
    if course.sums[wanted.clock][-1] < FEWEST_PIECES:
        return f"expected at least {FEWEST_PIECES} {what} in the run, found {course.sums[wanted.clock][-1]:.0f}; try a longer --budget"
    made = done(course, wanted.clock)
    if wanted.amount > FARTHEST * made:
        return f"expected a target up to {FARTHEST:.0f} times what was seen ({number(made)} {what}), found {wanted}; try a longer --budget"
    return None


def growth(course: Course) -> dict[str, Any]:
    """Which of the two grew: what a step costs, or how many steps an episode has."""
    length = per_episode(course, "env_steps")
    changes = {"seconds per step": seconds_a_step(settled_part(course)).change(), "steps per episode": length.change() if length else None}
    grown = [name for name, change in changes.items() if change is not None and change["factor"] >= GREW]
    said = "both" if len(grown) == 2 else "".join(grown) or "neither"
    return {"grew": said, "seconds_per_step": changes["seconds per step"], "steps_per_episode": changes["steps per episode"]}


def laws(course: Course, rng: np.random.Generator) -> dict[str, Any]:
    """The loop's seconds as a function of env steps, once it learns, and of episodes, from the first on."""
    episodes = per_episode(course, "seconds")
    return {"env_steps": law(seconds_a_step(settled_part(course)), rng), "episodes": law(episodes, rng) if episodes else None}


def predict(course: Course, wanted: Target, rng: np.random.Generator, off: float = 0.0) -> dict[str, float]:
    """Wall seconds at the target: mid is half-way, as factors go, between growing no more and growing on. `off`: how wrong the same was before."""
    took, more = float(course.clock[-1]), wanted.amount - done(course, wanted.clock)
    calm, wild = (interval(seconds_to_come(course, wanted.clock, more, rng, going_on)) for going_on in (False, True))
    mid, wide = float(np.sqrt(calm["mid"] * wild["mid"])), 1 + off
    low = min(calm["low"], wild["low"], mid / wide) / (1 + BEST)
    high = max(calm["high"], wild["high"], mid * wide) * (1 + BEST)
    return {"low": took + low, "mid": took + mid, "high": took + high}


def tried_on_itself(course: Course, clock: str, rng: np.random.Generator) -> dict[str, Any] | None:
    """What would have been predicted half-way for the end, and what it took. None where half of the run is too short to predict from."""
    half = course.part(0, len(course) // 2 + 1)
    wanted = Target(done(course, clock), clock)
    if why_not(half, wanted):
        return None
    predicted, took = predict(half, wanted, rng), float(course.clock[-1])
    error = (predicted["mid"] - took) / (took - float(half.clock[-1]))
    return {"seconds": predicted, "took": took, "error": float(error), "covered": bool(predicted["low"] <= took <= predicted["high"])}


def _explanation(wanted: Target, answer: Mapping[str, Any], seconds: Mapping[str, float]) -> str:
    now, grew = answer["now"], answer["grew"]
    amount, times = wanted.amount / now["amount"], seconds["mid"] / now["seconds"]
    said = f"{wanted} will take {_long(seconds['mid'])} (between {_long(seconds['low'])} and {_long(seconds['high'])}): {times:.3g} times the time so far"
    cost, length = _grown(answer["seconds_per_step"], "a step's cost", duration), _grown(answer["steps_per_episode"], "the steps of an episode", number)
    neither = "neither the cost of a step nor the length of an episode grew"
    why = {"seconds per step": cost, "steps per episode": length, "both": f"{cost}, and {length}"}.get(grew, neither)
    return f"{said} for {amount:.3g} times the {wanted.clock.replace('_', ' ')}; {why}"


def _grown(change: Mapping[str, float] | None, what: str, shown: Callable[[float], str]) -> str:
    return "" if change is None else f"{what} grew from {shown(change['first'])} to {shown(change['last'])}"


def _long(seconds: float) -> str:
    """`42 s`, `14 min`, `3.3 h`."""
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
