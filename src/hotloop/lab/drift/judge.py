"""Drift: a loop gets slower or faster as it trains. Why, and is anything wrong? Pure: from a record's blocks to one verdict and its evidence.

| verdict | what it means | is anything wrong? |
|---|---|---|
| learning-started | the loop began to learn, too | no |
| episodes-got-longer | an episode takes longer because it has more steps; a step costs what it did (or: costs more in long games) | no |
| episodes-got-shorter | more of the time goes into resets | the resets are dear |
| epsilon-mix | the network is asked more often as fewer actions are random | no |
| warm-up | the first calls were slow: compiling, filling caches | no, it is over |
| cost-grows-with-buffer | sampling, storing or learning costs more the more is stored | yes |
| allocation-growth | something copied or gone through at every call grows with the run | yes |
| garbage | collecting garbage takes a growing share | yes |
| denormals | the same products take longer from some point on | a candidate |
| price-changed | a price went up at once, for a reason that times do not tell | perhaps |
| memory-leak | memory grows where nothing should need more | probably |
| metric-artifact | the script's own figures show a change that its steps and seconds do not | in the figures |
| machine-noise | blocks of equal work differ, without a trend; or everything alike became slower | not in the loop |
| none | nothing changed | no |
| inconclusive | too short to say | |

What costs more comes before what is merely done more often; both are told. The numerical parts are loaded when they are asked for: this module is light.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hotloop.lab.inside.claims import judge_claims

if TYPE_CHECKING:
    from hotloop.lab.drift.facts import Facts
    from hotloop.lab.drift.words import Verdict

LARGE = 0.10  # share of the time; a cost that is smaller does not come before what explains more
TOLD_CHANGE = 1.3  # times; a script's own figures that are less far off, or change by less, alarm nobody


def drift(record: Mapping[str, Any]) -> dict[str, Any]:
    """{"verdict", "where" (a phase or None), "explanation", "evidence", "also" (what else was found), "blocks"}: plain data."""
    from hotloop.lab.drift.course import FEWEST_BLOCKS, course_of
    from hotloop.lab.drift.facts import Facts

    course = course_of(record)
    if course is None or len(course) < 2 * FEWEST_BLOCKS:
        return _too_short("moments at which the loop was seen", 0 if course is None else len(course))
    facts = Facts(record, course)
    if len(facts.blocks) < FEWEST_BLOCKS:
        return _too_short("rollouts that are learned from", facts.regime.bursts)
    found = verdicts(facts)
    main, *others = found or [_nothing(facts)]
    also = [{"verdict": other.verdict, "where": other.where, "explanation": other.explanation} for other in others]
    evidence = _plain(main.evidence | _measured(facts))
    return {
        "verdict": main.verdict,
        "where": main.where,
        "explanation": main.explanation,
        "evidence": evidence,
        "also": also,
        "blocks": facts.all_blocks,
    }


def verdicts(facts: Facts) -> list[Verdict]:
    """All there is to say, what matters most first."""
    from hotloop.lab.drift.costs import COSTS, memory_leak
    from hotloop.lab.drift.mixes import MIXES, machine_noise, slower_machine, unexplained

    costs = _said(COSTS, facts)
    costs = [cost for cost in costs if cost.verdict == "garbage"] or costs  # it happens within the phases, and explains what they seem to cost more
    large = [cost for cost in costs if cost.weight >= LARGE]
    small = [cost for cost in costs if cost.weight < LARGE]
    found = _heaviest_first(large) + _said([memory_leak], facts) + _heaviest_first(small + _said(MIXES, facts))
    artifact = _artifact(facts)
    if artifact is not None:
        alarms = _size(artifact.evidence["told"]["change_told"]) > max(2 * _true_change(facts), math.log(TOLD_CHANGE))
        found.insert(0 if alarms else len(found), artifact)
    if costs or facts.rises:  # then blocks differ for a reason
        return found
    return found + _said([slower_machine], facts) or _said([unexplained, machine_noise], facts)


def _said(asked: Iterable[Callable[[Facts], Verdict | None]], facts: Facts) -> list[Verdict]:
    return [verdict for verdict in (ask(facts) for ask in asked) if verdict is not None]


def _heaviest_first(found: list[Verdict]) -> list[Verdict]:
    return sorted(found, key=lambda verdict: -verdict.weight)


def _artifact(facts: Facts) -> Verdict | None:
    from hotloop.lab.drift.words import Verdict

    told = judge_claims(facts.record.get("claims") or [], facts.record.get("blocks"))
    if told["verdict"] not in ("cumulative", "trimmed") or told["off_by"] < TOLD_CHANGE:
        return None
    return Verdict("metric-artifact", None, told["explanation"], {"told": told}, 0.0)


def _true_change(facts: Facts) -> float:
    from hotloop.lab.drift.facts import ends

    first, last = ends(facts.seconds_a_step)
    if facts.before is not None:
        first = float(facts.before.sums["seconds"][-1] / facts.before.sums["env_steps"][-1])
    return _size(last / first)


def _size(factor: float) -> float:
    return abs(math.log(factor)) if factor > 0 else 0.0


def _nothing(facts: Facts) -> Verdict:
    from hotloop.lab.drift.facts import ends
    from hotloop.lab.drift.words import Verdict, duration

    first, last = ends(facts.seconds_a_step)
    return Verdict("none", None, f"nothing that needs explaining: a step took {duration(first)} at first and {duration(last)} at the end", {}, 0.0)


def _measured(facts: Facts) -> dict[str, Any]:
    """What any verdict should be read beside."""
    from hotloop.lab.drift.shapes import change_points

    fit, edges = facts.regression, facts.by_steps.env_steps
    return {
        "regression": {"seconds_each": fit.each, "explained": fit.explained},
        "change_points": [float(edges[place]) for place in change_points(facts.seconds_a_step)],
        "prices": {phase: fitted.as_data() | {"unit": facts.unit(phase)} for phase, fitted in facts.shapes.items()},
        "price_in_common": facts.in_common,
    }


def _too_short(what: str, found: int) -> dict[str, Any]:
    said = f"too short to say: expected a dozen {what}, found {found}; try a longer --budget"
    return {"verdict": "inconclusive", "where": None, "explanation": said, "evidence": {}, "also": [], "blocks": []}


def _plain(value: Any) -> Any:
    """Without NumPy's own numbers, and without NaN, which JSON lacks."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, (bool, str, int)) or value is None:
        return value
    return float(value) if math.isfinite(value) else None
