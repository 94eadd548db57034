"""Drawings: a profile's pictures as shapes in percent of their width and height, so that one page fits a phone, a desk and paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from hotloop.records.phases import ALL_PHASES
from hotloop.report.blocks import Blocks, blocks_of
from hotloop.report.numbers import short
from hotloop.report.profile_rows import span
from hotloop.report.stacks import stacks_of, tree, walk, without_imports

Record = Mapping[str, Any]
MOST_WINDOWS, MOST_EVENTS = 3, 500
TICKS = 6
FACTOR = 8
CURVES = (("env_steps", "env steps a second"), ("updates", "updates a second"), ("episodes", "episodes a second"))


class Tick(NamedTuple):
    at: float  # percent
    label: str


class Chart(NamedTuple):
    """Something over the run: areas upon each other, or one line."""

    title: str
    range: str  # what the lower and the upper edge stand for
    areas: list[tuple[str, str]]  # (phase, path)
    line: str  # path
    about: str  # for who does not see it


class OverTheRun(NamedTuple):
    charts: list[Chart]
    ticks: list[Tick]
    marks: list[Tick]  # where the speed changed
    start: float  # percent of the run that was over before anything was booked
    phases: list[str]  # those that can be seen


class Window(NamedTuple):
    """Some moments of the run, event by event."""

    title: str
    rows: int
    events: list[tuple[float, float, int, str, str]]  # (left and width in percent, depth, phase, words)
    ticks: list[Tick]


def over_the_run(record: Record) -> OverTheRun | None:
    """How the time was shared out, the speeds and the memory, from the first block to the end."""
    fine = blocks_of(record)
    if fine is None:
        return None
    blocks = fine.coarse()
    seconds = blocks.column("seconds")
    end = max(record["wall_seconds"], seconds[-1])
    edges = [100 * second / end for second in seconds]
    areas = stacked(blocks, edges)
    charts = [Chart("share of the time", "0 – 100 %", areas, "", f"Share of the time by phase over {span(end)}: {trend(blocks, areas)}.")] if areas else []
    for name, title in CURVES:
        if blocks.has(name) and any(blocks.rates(name)):
            charts.append(curve(title, blocks.rates(name), edges))
    if blocks.has("rss_mb") and any(blocks.column("rss_mb")):
        charts.append(curve("memory held, MB", blocks.column("rss_mb")[1:], edges))
    marks = [Tick(100 * second / end, label) for second, label in changes(record, fine)]
    return OverTheRun(charts, ticks(end), marks, edges[0], [phase for phase, _ in areas]) if charts else None


def stacked(blocks: Blocks, edges: Sequence[float]) -> list[tuple[str, str]]:
    """Each phase's share upon those before it, as steps: nothing is known of what was between two moments."""
    floor = [0.0] * (len(edges) - 1)
    areas = []
    for phase in ALL_PHASES:
        shares = blocks.rates(f"{phase}_seconds") if blocks.has(f"{phase}_seconds") else []
        if any(share > 0.001 for share in shares):
            ceiling = [min(below + max(share, 0.0), 1.0) for below, share in zip(floor, shares)]
            areas.append((phase, steps(ceiling, edges) + steps(floor, edges, back=True) + "Z"))
            floor = ceiling
    return areas


def steps(values: Sequence[float], edges: Sequence[float], *, back: bool = False) -> str:
    """The outline of a row of bars, in percent from the top."""
    corners = [(x, 100 - 100 * value) for value, pair in zip(values, pairwise(edges)) for x in pair]
    words = [f"{x:.2f} {y:.2f}" for x, y in (reversed(corners) if back else corners)]
    return ("L" if back else "M") + "L".join(words)


def curve(title: str, values: Sequence[float], edges: Sequence[float]) -> Chart:
    """One line from nothing upwards; where it goes over more than a factor of eight, in equal steps for equal factors, so that its low parts are seen too."""
    known = [value for value in values if value > 0]
    low, high = 0.0, nice(max(known))
    heights = [value / high for value in values]
    if max(known) > FACTOR * min(known):
        low = 10.0 ** math.floor(math.log10(min(known)))
        heights = [math.log(max(value, low) / low) / math.log(high / low) for value in values]
    about = f"{title}: {short(values[0])} at first, {short(values[-1])} in the end, between {short(min(values))} and {short(max(values))}."
    return Chart(title, f"{short(low)} – {short(high)}{', logarithmic' * bool(low)}", [], steps(heights, edges), about)


def trend(blocks: Blocks, areas: Sequence[tuple[str, str]]) -> str:
    """In words, for who does not see the picture."""
    shares = {phase: blocks.rates(f"{phase}_seconds") for phase, _ in areas}
    return ", ".join(f"{phase} {each[0]:.0%} at first and {each[-1]:.0%} in the end" for phase, each in shares.items())


def changes(record: Record, blocks: Blocks) -> list[tuple[float, str]]:
    """(seconds, at which step) for every change point of the drift: those are told in env steps."""
    points = ((record.get("drift") or {}).get("evidence") or {}).get("change_points") or []
    if not blocks.has("env_steps"):
        return []
    path = list(pairwise(zip(blocks.column("env_steps"), blocks.column("seconds"))))
    found = [(at(point, path), f"step {short(point)}") for point in points]
    return [(second, label) for second, label in found if second is not None]


def at(steps: float, path: Sequence[tuple[tuple[float, float], tuple[float, float]]]) -> float | None:
    """When so many steps had been made."""
    for (before, then), (after, now) in path:
        if before <= steps <= after and after > before:
            return then + (now - then) * (steps - before) / (after - before)
    return None


def ticks(end: float, start: float = 0.0) -> list[Tick]:
    """Round times on an axis."""
    width = nice((end - start) / TICKS)
    first = math.ceil(start / width - 1e-9)
    places = [number * width for number in range(first, math.floor(end / width + 1e-9) + 1)]
    decimals = next(count for count in range(12) if abs(width * 10**count - round(width * 10**count)) < 1e-6)
    return [Tick(100 * (place - start) / (end - start), f"{place:.{decimals}f} s") for place in places]


def nice(number: float) -> float:
    """The next round number: 1, 2, 2.5, 5 or 10 times a power of ten."""
    if number <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(number))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10, 20) if factor * power >= number * 0.9999)


def windows(record: Record) -> list[Window]:
    """A few windows from all over the run; of a crowded one, the beginning."""
    found = [window for window in (record.get("timeline") or {}).get("windows", []) if window["events"]]
    spread = max(len(found) - 1, 1) / max(MOST_WINDOWS - 1, 1)
    chosen = found if len(found) <= MOST_WINDOWS else [found[round(number * spread)] for number in range(MOST_WINDOWS)]
    return [window_of(each["start_seconds"], each["events"][:MOST_EVENTS]) for each in chosen]


def window_of(began: float, events: Sequence[Sequence[Any]]) -> Window:
    start = events[0][1]
    length = max(max(event[1] + event[2] for event in events) - start, 1e-9)
    shown = [(100 * (at - start) / length, 100 * seconds / length, depth, phase, f"{phase}, {span(seconds)}") for phase, at, seconds, depth in events]
    unit, size = next((unit, size) for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if length >= 2 * size or unit == "µs")
    axis = [Tick(tick.at, tick.label.replace(" s", f" {unit}")) for tick in ticks(length / size)]
    return Window(f"{span(length)}, {span(began)} after the start", 1 + max(event[3] for event in events), shown, axis)


def flame(record: Record) -> dict[str, Any] | None:
    """The tree of all stacks as columns, parents before children, for the script of the page to draw."""
    stacks = [without_imports(stack) for stack in stacks_of(record)]
    if not stacks:
        return None
    nodes = list(walk(tree(stacks)))
    frames = {frame: number for number, frame in enumerate(dict.fromkeys(node.frame for _, node in nodes))}
    sums = {phase: sum(stack.seconds for stack in stacks if stack.phase == phase) for phase in dict.fromkeys(stack.phase for stack in stacks)}
    phases = {phase: number for number, phase in enumerate(sorted(sums, key=lambda phase: -sums[phase]))}
    return {
        "phases": list(phases),
        "frames": [[frame.function, frame.file, frame.line] for frame in frames],
        "frame": [frames[node.frame] for _, node in nodes],
        "depth": [depth for depth, _ in nodes],
        "seconds": [round(node.seconds, 6) for _, node in nodes],
        "own": [round(node.own, 6) for _, node in nodes],
        "phase": [-1 if node.phase is None else phases[node.phase] for _, node in nodes],  # -1: several
    }
