"""Moments: what was seen at single moments of the run, as the record has it: stacks with the phase they were seen in, and windows of single events. Pure.

Between two events the sampler knows only what the last one was; whose that time mostly was is read from the sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotloop.lab.account import owner
from hotloop.records.phases import ALL_PHASES


def moments(measured: Mapping[str, Any]) -> dict[str, Any]:
    """The record's `samples` and `timeline`, where something was seen."""
    return {"samples": samples(measured), "timeline": timeline(measured)}


def samples(measured: Mapping[str, Any]) -> dict[str, Any] | None:
    seen = measured.get("samples")
    if not seen or not seen["ticks"]:
        return None
    after = owners_after(measured["gaps"])
    where = {(file, line): kind for kind, file, line, _ in measured.get("where", [])}
    stacks: dict[tuple[str, tuple], int] = {}
    for stack in seen["stacks"]:
        key = phase_of(stack, after, where, seen["frames"]), tuple(map(tuple, stack["stack"]))
        stacks[key] = stacks.get(key, 0) + stack["ticks"]
    rows: list[dict[str, Any]] = [{"phase": phase, "stack": [list(place) for place in stack], "ticks": ticks} for (phase, stack), ticks in stacks.items()]
    return {key: seen[key] for key in ("ticks", "dropped", "seconds_each", "frames")} | {"stacks": sorted(rows, key=lambda row: -row["ticks"])}


def phase_of(stack: Mapping[str, Any], after: Mapping[str, str], where: Mapping[tuple[str, int], str], frames: list[Mapping[str, Any]]) -> str:
    """The phase a stack was seen in."""
    state: str = stack["state"]
    if state in ALL_PHASES or state == "start-up":
        return state
    if state.startswith("after "):
        return after.get(state.removeprefix("after "), "glue")
    places = (frames[frame] for frame, _ in stack["stack"])  # a forward pass that nothing had come of yet
    return next((where[place["file"], place["line"]] for place in places if (place["file"], place["line"]) in where), "glue")


def owners_after(gaps: Mapping[str, int]) -> dict[str, str]:
    """Kind of event → whose the time after it mostly was."""
    spent: dict[str, dict[str, int]] = {}
    for pair, nanoseconds in gaps.items():
        by_owner = spent.setdefault(pair.split(">")[0], {})
        by_owner[owner(pair)] = by_owner.get(owner(pair), 0) + nanoseconds
    return {before: max(by_owner, key=lambda name: by_owner[name]) for before, by_owner in spent.items()}


def timeline(measured: Mapping[str, Any]) -> dict[str, Any] | None:
    """Windows of events, each strictly within the one around it."""
    windows = [{"start_seconds": events[0][1], "events": [known(event) for event in events]} for events in measured.get("events", []) if events]
    return {"windows": windows} if windows else None


def known(event: list[Any]) -> list[Any]:
    kind, start, seconds, depth = event
    return [kind if kind in ALL_PHASES else "glue", round(start, 8), round(seconds, 8), depth]
