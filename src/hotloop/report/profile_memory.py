"""Memory in words: how much a run held, how fast that grew, and what the replay keeps for each transition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotloop.report.numbers import percent
from hotloop.report.profile_rows import facts, figure

GROWTH = {
    "rss_mb_first": "held at first, MB",
    "rss_mb_last": "held in the end, MB",
    "rss_mb_per_1000": "growth per 1000 transitions, MB",
    "replay_mb_per_1000": "of that, the replay filling up, MB",
    "unexplained_mb_per_1000": "of that, unexplained, MB",
    "heap_blocks_per_1000": "Python objects more per 1000 transitions",
}


def memory_rows(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    memory: dict[str, Any] = dict(record.get("memory") or {})
    replay = memory.pop("replay", None) or {}
    return [*facts({GROWTH.get(name, name): value for name, value in memory.items()}), *replay_rows(replay)]


def memory_sentence(record: Mapping[str, Any]) -> str:
    """The same in one line; nothing where nothing was measured."""
    memory = record.get("memory") or {}
    if memory.get("rss_mb_last") is None:
        return ""
    said = f"memory: {figure(round(memory['rss_mb_last']))} MB"
    growth, explained = memory.get("rss_mb_per_1000"), memory.get("replay_mb_per_1000")
    if growth is not None:
        said += f", {growth:+.2f} MB for every 1000 transitions" + (f" ({explained:.2f} of it the replay filling up)" if explained else "")
    return " · ".join([said, *(words for name, words in replay_rows(memory.get("replay") or {}) if name != "a transition")])


def replay_rows(replay: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = []
    if replay.get("entries") is not None:
        kept = "in arrays" if replay["kind"] == "arrays" else f"in a {replay['kind']}"
        room = f" of {figure(replay['capacity'])}" if replay.get("capacity") else ""
        rows.append(("the replay", f"{figure(replay['entries'])}{room} transitions {kept}, {figure(round(replay['bytes_each']))} bytes each"))
    if replay.get("parts"):
        rows.append(("a transition", " · ".join(map(part_words, replay["parts"]))))
    twice = replay.get("kept_twice")
    if twice:
        rows.append(("kept twice", f"{twice['after']} of a transition is {twice['before']} of the next, as a copy, {percent(twice['share'])} of the time"))
    return rows


def part_words(part: Mapping[str, Any]) -> str:
    shape = f" {'×'.join(map(str, part['shape']))}" if part.get("shape") else ""
    fits = f", would fit {part['fits']}" if part.get("fits") else ""
    return f"{part['name']}: {part['type']}{shape}, {figure(part['bytes'])} bytes{fits}"
