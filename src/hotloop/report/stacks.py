"""Stacks: what a profile's samples saw, summed up: by function, as a tree, and as the lines of one's own code that fat phases spend their time on.

Samples come less often where a library works for long without a word to Python. So the samples of a phase share out the time that the phase was measured
to take: between phases the probes decide, and within one the samples.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

LIBRARIES = ("site-packages", "dist-packages", "<frozen", "<string>", "/lib/python", "\\Lib\\")
IMPORTING = "<frozen importlib"  # half a dozen frames for each import within an import
SMALLEST = 1 / 5000  # of all time: what is less than this cannot be seen in a picture of the tree
ITS_OWN = 0.9  # of a function's time: a call of another phase within does not make it nobody's
FAT = 0.05  # of all time: a phase that is worth looking into
WORTH_A_LINE, MOST_LINES = 0.02, 5  # of a phase's time; lines a phase


class Frame(NamedTuple):
    """A function, and where it begins."""

    function: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.function} ({os.path.basename(self.file)}:{self.line})"


class Stack(NamedTuple):
    """Functions on top of each other, outermost first, and how often they were seen so."""

    phase: str
    frames: list[Frame]
    lines: list[int]  # where each of the frames stood
    ticks: int
    seconds: float


class HotLine(NamedTuple):
    """A line within a phase."""

    phase: str
    file: str
    line: int
    function: str
    inside: str  # the function most often seen at work below it; empty where that is the line itself
    seconds: float
    share: float  # of the phase's time


@dataclass
class Node:
    """A function as called from where it was called."""

    frame: Frame
    seconds: float = 0.0
    own: float = 0.0  # at work itself
    phases: dict[str, float] = field(default_factory=dict)  # seconds
    below: dict[Frame, Node] = field(default_factory=dict)

    def see(self, stack: Stack) -> None:
        self.seconds += stack.seconds
        self.phases[stack.phase] = self.phases.get(stack.phase, 0.0) + stack.seconds

    @property
    def phase(self) -> str | None:
        """The phase whose it is; None where several share it."""
        most = max(self.phases, key=lambda phase: self.phases[phase])
        return most if self.phases[most] >= ITS_OWN * self.seconds else None


def stacks_of(record: Mapping[str, Any]) -> list[Stack]:
    """Every stack that was seen; none where nothing was sampled."""
    samples = record.get("samples") or {}
    frames = [Frame(str(frame["function"]), str(frame["file"]), int(frame["line"])) for frame in samples.get("frames", [])]
    worth = seconds_a_tick(record)
    found = []
    for seen in samples.get("stacks", []):
        phase, ticks = seen["phase"], seen["ticks"]
        if seen["stack"] and ticks > 0:
            found.append(Stack(phase, [frames[index] for index, _ in seen["stack"]], [line for _, line in seen["stack"]], ticks, ticks * worth[phase]))
    return found


def seconds_a_tick(record: Mapping[str, Any]) -> dict[str, float]:
    """What one sample stands for, by phase; of a phase that was not measured, what the average sample does."""
    samples = record.get("samples") or {}
    average = float(samples.get("seconds_each") or 0.0)
    measured = {phase["name"]: phase["seconds"] for phase in record["phases"]} | {"start-up": record["startup_seconds"]}
    ticks: dict[str, int] = {}
    for seen in samples.get("stacks", []):
        ticks[seen["phase"]] = ticks.get(seen["phase"], 0) + seen["ticks"]
    return {phase: measured[phase] / count if count and measured.get(phase, 0.0) > 0 else average for phase, count in ticks.items()}


def without_imports(stack: Stack) -> Stack:
    """Without what Python does to import a module: what is imported, and from where, stays."""
    kept = [(frame, line) for frame, line in zip(stack.frames, stack.lines) if not frame.file.startswith(IMPORTING)]
    return stack._replace(frames=[frame for frame, _ in kept], lines=[line for _, line in kept])


def tree(stacks: list[Stack]) -> Node:
    """All stacks laid on top of each other; what they have in common is one node."""
    root = Node(Frame("all", "", 0))
    for stack in stacks:
        node = root
        node.see(stack)
        for frame in stack.frames:
            node = node.below.setdefault(frame, Node(frame))
            node.see(stack)
        node.own += stack.seconds
    return root


def walk(root: Node, least: float = SMALLEST) -> Iterator[tuple[int, Node]]:
    """(depth, node), parents before children and the largest child first, without what is too small to be seen."""
    ahead = [(0, root)]
    while ahead:  # not recursive: a stack may be deeper than Python's
        depth, node = ahead.pop()
        yield depth, node
        ahead += [(depth + 1, child) for child in sorted(node.below.values(), key=lambda child: child.seconds) if child.seconds >= least * root.seconds]


def hot_lines(stacks: list[Stack], places: Container[tuple[str, int]] = ()) -> list[HotLine]:
    """The lines that the fat phases are spent on, the fattest phase first. `places`: (file, line) of the functions that are the phases."""
    by_phase: dict[str, list[Stack]] = {}
    for stack in stacks:
        by_phase.setdefault(stack.phase, []).append(stack)
    sums = {phase: sum(stack.seconds for stack in seen) for phase, seen in by_phase.items()}
    fat = sorted((phase for phase in sums if sums[phase] >= FAT * sum(sums.values())), key=lambda phase: -sums[phase])
    return [line for phase in fat for line in lines_of(phase, by_phase[phase], sums[phase], places)]


def lines_of(phase: str, stacks: list[Stack], total: float, places: Container[tuple[str, int]]) -> list[HotLine]:
    lines: dict[tuple[str, int, str], dict[str, float]] = {}
    for stack in stacks:
        place = telling(stack, places)
        here, leaf = stack.frames[place], "" if place == len(stack.frames) - 1 else stack.frames[-1].function
        below = lines.setdefault((here.file, stack.lines[place], here.function), {})
        below[leaf] = below.get(leaf, 0.0) + stack.seconds
    ranked = sorted(((sum(below.values()), place, below) for place, below in lines.items()), key=lambda item: -item[0])[:MOST_LINES]
    return [
        HotLine(phase, *place, max(below, key=lambda name: below[name]), seconds, seconds / total)
        for seconds, place, below in ranked
        if seconds >= WORTH_A_LINE * total
    ]


def telling(stack: Stack, places: Container[tuple[str, int]]) -> int:
    """The frame whose line says most: the last that is no library's, which is what one can change; of a phase that is all a library's, its function."""
    own = [place for place, frame in enumerate(stack.frames) if not is_library(frame.file)]
    phase = next((place for place, frame in enumerate(stack.frames) if (frame.file, frame.line) in places), None)
    if phase is not None and (not own or own[-1] < phase):
        return phase
    return own[-1] if own else len(stack.frames) - 1


def is_library(file: str) -> bool:
    return any(mark in file for mark in LIBRARIES)


class Sums(NamedTuple):
    """A function over all stacks, or its calls from one other."""

    own: float = 0.0  # seconds at work itself
    whole: float = 0.0  # seconds in it or in something it called; a function that calls itself is counted once a sample
    ticks: int = 0

    def add(self, stack: Stack, working: bool) -> Sums:
        return Sums(self.own + stack.seconds * working, self.whole + stack.seconds, self.ticks + stack.ticks)


def by_function(stacks: list[Stack]) -> tuple[dict[Frame, Sums], dict[Frame, dict[Frame, Sums]]]:
    """Every function, and by function those that called it."""
    functions: dict[Frame, Sums] = {}
    callers: dict[Frame, dict[Frame, Sums]] = {}
    for stack in stacks:
        leaf, pairs = stack.frames[-1], list(pairwise(stack.frames))
        for frame in dict.fromkeys(stack.frames):
            functions[frame] = functions.get(frame, Sums()).add(stack, frame == leaf)
        for pair in dict.fromkeys(pairs):
            caller, callee = pair
            of = callers.setdefault(callee, {})
            of[caller] = of.get(caller, Sums()).add(stack, pair == pairs[-1])
    return functions, callers
