"""Account: what the probes added up, as phases and clocks that add up to the wall time. Pure: from one record to another.

What stood between two events belongs to a phase where both sides are of it, where acting leads to a step (its output being made into an action), and
where a batch leads to learning. Everything else that stands in the loop itself is *glue*. What came before the first env step is starting up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotloop.records.phases import ALL_PHASES

VERSION = 1
BELONGS = {"act>step": "act", "sample>learn": "learn", "learn>sample": "learn"}
COLD = 5.0  # what a probe costs in a training loop, against a loop of its own: its code and data are cold there (benchmarks/profile_overhead.py)
BEAT_NS = 60_000  # what a beat of the sampler costs the script
UNRELIABLE = 0.10  # a phase that its own probes slow down by more than this is not to be believed


def account(measured: Mapping[str, Any], *, command: list[str], machine: Mapping[str, Any], exit_status: int) -> dict[str, Any]:
    """The record that reports are made of, and that other programs read (`--json`)."""
    wall = measured["seconds"]
    total, before = seconds_by_phase(measured), seconds_by_phase(measured.get("startup") or {})
    in_loop = {name: total.get(name, 0.0) - before.get(name, 0.0) for name in ALL_PHASES}
    looked, startup, ending = measured.get("looked", 0) / 1e9, sum(before.values()), measured.get("ending", 0) / 1e9
    if not measured["vector_steps"]:  # nothing was ever stepped: there is no loop
        in_loop, startup, ending = dict.fromkeys(ALL_PHASES, 0.0), wall - looked, 0.0
    calls = measured["calls"]
    beats = (measured.get("samples") or {}).get("ticks", 0)
    probing = sum(calls.values()) * price(measured) + beats * BEAT_NS / 1e9
    attributed = startup + looked + ending + sum(in_loop.values())
    return {
        "version": VERSION,
        "command": command,
        "machine": dict(machine),
        "exit_status": exit_status,
        "ended_by": measured["ended_by"],
        "wall_seconds": wall,
        "startup_seconds": startup,
        "overhead_share": (probing + looked) / wall,
        "looking_seconds": looked,
        "ending_seconds": ending,
        "unattributed_share": (wall - attributed) / wall,
        "tier": tier(measured),
        "clocks": clocks(measured),
        "phases": [phase(name, seconds, wall, calls.get(name, 0), measured) for name, seconds in in_loop.items() if seconds or calls.get(name)],
        "where": [{"phase": kind, "file": file, "line": line, "function": name} for kind, file, line, name in measured.get("where", [])],
        "blocks": measured.get("blocks"),
        "mistakes": measured.get("mistakes", []),
    }


def seconds_by_phase(sums: Mapping[str, Any]) -> dict[str, float]:
    """Every nanosecond in one phase or in the glue."""
    seconds = {kind: spent / 1e9 for kind, spent in sums.get("inside", {}).items()}
    for pair, spent in sums.get("gaps", {}).items():
        name = owner(pair)
        seconds[name] = seconds.get(name, 0.0) + spent / 1e9
    return seconds


def owner(pair: str) -> str:
    """Whose the time between two events was."""
    before, after = pair.split(">")
    return before if before == after else BELONGS.get(pair, "glue")


def phase(name: str, seconds: float, wall: float, calls: int, measured: Mapping[str, Any]) -> dict[str, Any]:
    probing = calls * price(measured)
    return {
        "name": name,
        "seconds": seconds,
        "share": seconds / wall,
        "calls": calls,
        "reliable": name == "glue" or probing <= UNRELIABLE * seconds,
        "device_seconds": None,
        "roof": None,
    }


def price(measured: Mapping[str, Any]) -> float:
    """Seconds that one event costs."""
    return float(COLD * measured.get("probe_ns", 0.0) / 1e9)


def clocks(measured: Mapping[str, Any]) -> dict[str, Any]:
    """How often everything happened, inferred: nothing is asked of the script."""
    steps, updates = measured["env_steps"], max(measured["updates"].values(), default=0)
    begins, batches = measured["first_update_at"], measured.get("batches", {})
    learning_steps = steps - begins if begins is not None else 0
    return {
        "env_steps": steps,
        "vector_steps": measured["vector_steps"],
        "transitions": steps,
        "updates": updates,
        "updates_by_optimiser": dict(measured["updates"]),
        "episodes": measured["episodes"],
        "batch_size": int(max(batches, key=lambda rows: batches[rows])) if batches else None,
        "replay_ratio": updates / learning_steps if learning_steps else None,
        "learning_starts": begins,
    }


def tier(measured: Mapping[str, Any]) -> int:
    """How it was known what the loop does: 1 libraries whose interfaces are known, 2 what torch told, 3 functions that behaved like a step."""
    return int(measured.get("tier", 2 if measured["updates"] else 1))
