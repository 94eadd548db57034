"""The sentences of a profile that every page has: how it ended, that it adds up, what was counted, which functions are the phases."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from hotloop.report.numbers import short

LEAST_ENDING = 0.005  # of the wall time: less is told with what is unattributed
TIERS = {1: "known interfaces", 2: "known interfaces and what torch told", 3: "functions that behave like an env's"}


def measured_steps(record: Mapping[str, Any]) -> float:
    """Env steps the seconds are of: those made before the lab had found its way are counted, but not measured."""
    clocks, measured = record["clocks"], sum(phase["calls"] for phase in record["phases"] if phase["name"] == "step")
    return measured * clocks["env_steps"] / clocks["vector_steps"] if clocks["vector_steps"] else 0.0


def where(record: Mapping[str, Any], phase: str) -> str:
    """The function that is a phase, and how many others there are."""
    places = [place for place in record["where"] if place["phase"] == phase]
    if not places:
        return ""
    first, others = places[0], f" and {len(places) - 1} more" * (len(places) > 1)
    return f"{first['function'].replace('.<locals>', '')} ({os.path.basename(first['file'])}:{first['line']}){others}"


def headline(record: Mapping[str, Any]) -> str:
    ended = {"end": "ran to its end", "exit": "left by itself", "budget": "stopped by the budget", "": "ended without a word; what is shown was written"}
    how = ended.get(record["ended_by"], f"ended by {record['ended_by']}")
    return f"{' '.join(record['command'])} · {how} after {record['wall_seconds']:.1f} s"


def closing(record: Mapping[str, Any]) -> str:
    """The line that shows nothing was left out."""
    parts = {"phases": sum(phase["seconds"] for phase in record["phases"])} | others(record)
    return f"{' + '.join(f'{name} {seconds:.2f} s' for name, seconds in parts.items())} = wall time {record['wall_seconds']:.2f} s"


def others(record: Mapping[str, Any]) -> dict[str, float]:
    """Time that is no phase's: before the first step, after the last event, while the lab looked at every call to find its way, and what is left."""
    rest = record["unattributed_share"] * record["wall_seconds"]
    ending = record.get("ending_seconds", 0.0)
    known = {"start-up": record["startup_seconds"]} | ({"ending": ending} if ending >= LEAST_ENDING * record["wall_seconds"] else {})
    return known | {"looking": record["looking_seconds"], "unattributed": rest + (0.0 if "ending" in known else ending)}


def clock_line(clocks: Mapping[str, Any]) -> str:
    if not clocks["env_steps"]:
        return 'no environment step was seen: there is no training loop to see here, or one that must be told of; try hotloop.phase("step") around its steps'
    counted = [f"{short(clocks['env_steps'])} env steps", f"{short(clocks['episodes'])} episodes", f"{short(clocks['updates'])} updates"]
    if clocks["vector_steps"] != clocks["env_steps"]:
        counted.insert(1, f"{short(clocks['vector_steps'])} vector steps")
    if clocks["updates"]:
        after = f", {clocks['replay_ratio']:.3g} updates a step after that" if clocks["replay_ratio"] else ""
        counted.append(f"learning from step {short(clocks['learning_starts'])}{after}")
    if clocks["batch_size"]:
        counted.append(f"batches of {clocks['batch_size']}")
    return ", ".join(counted)


def probes_line(record: Mapping[str, Any]) -> str:
    known = TIERS.get(record["tier"], "")
    probes = record["overhead_share"] - record["looking_seconds"] / record["wall_seconds"]
    return f"probes cost about {max(probes, 0.0):.1%} beside the looking · phases known from {known} · ? marks a phase its own probes distort"
