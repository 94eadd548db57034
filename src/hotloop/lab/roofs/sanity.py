"""Doubts: what physics and common sense have to say of measured roofs. A doubt is a sentence; no figure is changed or left out because of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hotloop.lab.roofs.probe import DISTURBED, apart

Figures = Sequence[Mapping[str, Any]]

A_CYCLE = {"float32": 64, "float64": 32, "bfloat16": 128}  # two units of 512 bits, a multiplication and an addition in each lane: the widest there is
BYTES_A_CYCLE = {"copy": 64, "fill": 64, "read": 128}  # two loads and a store of 512 bits
LEEWAY = 1.10  # the clock is not the same from one sample to the next
ENOUGH = 0.7  # of what all threads could do, where each did as much as one alone
COMPANY = 0.1  # of the threads there are, used by others, from which on it is said
SHARE = 0.2  # of the figures disturbed, from which on it is said


def doubts(figures: Figures) -> list[str]:
    """Everything that cannot be, or may not be what it seems."""
    checks = beyond_the_clock, more_than_threads, no_more_than_one, faster_when_larger, beyond_bare, unsynced, disturbed
    return [doubt for check in checks for doubt in check(figures)]


def beyond_the_clock(figures: Figures) -> Iterator[str]:
    """More in a cycle than a core has units for."""
    cycles = max((figure["best"] for figure in figures if figure["name"] == "cycles"), default=0.0)
    for figure in figures:
        at = figure["at"]
        most = A_CYCLE.get(at["dtype"], 0) if figure["name"] == "bare" else BYTES_A_CYCLE.get(figure["name"], 0) if figure["group"] == "memory" else 0
        if cycles and most and figure["best"] > LEEWAY * most * at["threads"] * cycles:
            found = figure["best"] / cycles / at["threads"]
            yield f"{label(figure)}: {found:.0f} a cycle and core, expected at most {most}; the clock may have been measured while it was low, try again"


def more_than_threads(figures: Figures) -> Iterator[str]:
    """All threads together do more than one does, times their number."""
    alone = {(figure["name"], *kind(figure)): figure["best"] for figure in figures if figure["at"].get("threads") == 1}
    for figure in figures:
        threads, one = figure["at"].get("threads", 1), alone.get((figure["name"], *kind(figure)))
        if figure["group"] == "arithmetic" and one and figure["best"] > LEEWAY * threads * one:
            yield f"{label(figure)}: {figure['best'] / one:.1f} times as fast as one thread; that one was disturbed, try again"


def no_more_than_one(figures: Figures) -> Iterator[str]:
    """All threads together hardly do more than one: somebody else had the other cores."""
    bare = {(figure["at"]["dtype"], figure["at"]["threads"]): figure["best"] for figure in figures if figure["name"] == "bare"}
    for (dtype, threads), together in bare.items():
        alone = bare.get((dtype, 1), 0.0)
        if threads > 1 and together < ENOUGH * threads * alone:
            yield f"bare {dtype}: {threads} threads do {together / alone:.1f} times as much as one; other cores were busy, or two threads share one"


def faster_when_larger(figures: Figures) -> Iterator[str]:
    """What fits no cache is moved faster than what fits the first."""
    for name in BYTES_A_CYCLE:
        curve = sorted((figure["at"]["bytes"], figure["best"]) for figure in figures if figure["name"] == name and figure["at"]["threads"] == 1)
        if len(curve) > 1 and curve[-1][1] > LEEWAY * curve[0][1]:
            yield f"{name}: faster for the largest size than for the smallest; the machine was disturbed, try again"


def beyond_bare(figures: Figures) -> Iterator[str]:
    """A library does more than the bare loop: it has units the loop does not use. The roof is then the library's."""
    for bare in figures:
        if bare["name"] != "bare":
            continue
        wanted = bare["at"]["dtype"], bare["at"]["threads"]
        rivals = [figure for figure in figures if figure["group"] == "arithmetic" and (figure["at"].get("dtype"), figure["at"].get("threads")) == wanted]
        best = max(rivals, key=lambda figure: float(figure["best"]))
        if best["best"] > LEEWAY * bare["best"]:
            times = best["best"] / bare["best"]
            yield f"{label(best)}: {times:.1f} times the bare loop; it has units that loop does not use, or the loop was disturbed; the roof is the library's"


def unsynced(figures: Figures) -> Iterator[str]:
    """Waiting for the disk costs nothing: there is none."""
    best = {(figure["name"], figure["at"].get("bytes")): figure["best"] for figure in figures if figure["group"] == "disk"}
    for (name, size), seconds in best.items():
        written = best.get(("write", size))
        if name == "write and fsync" and written and seconds < 2 * written + 5e-6:
            yield f"write and fsync of {size} bytes: hardly longer than the write alone; the folder is in memory, or the disk does not wait"


def disturbed(figures: Figures) -> Iterator[str]:
    """How much of this can be believed to be the machine's best."""
    if is_disturbed(figures):
        far = sum(apart(figure["best"], figure["median"]) for figure in figures)
        off = f"{DISTURBED - 1:.0%}".replace("%", " %")
        yield f"the machine was busy: in {far} of {len(figures)} figures half of the samples are more than {off} off the best; try --fresh when it is quiet"


def is_disturbed(figures: Figures) -> bool:
    return bool(figures) and sum(apart(figure["best"], figure["median"]) for figure in figures) >= SHARE * len(figures)


def company(others: float, threads: int) -> list[str]:
    """Who else was there. (In a container this is the whole host, which may have cores to spare.)"""
    if others < COMPANY * threads:
        return []
    return [f"other programs used {others:.1f} cores meanwhile: figures of several threads, and of other processes, may be too low"]


def steered(record: Mapping[str, Any], now: Mapping[str, str] | None = None) -> list[str]:
    """What the environment had to say in these figures; and, for figures kept from another time, what it would say now."""
    then = record["machine"].get("environment", {})
    said = []
    if then:
        kernels = record.get("libraries", {}).get("NumPy")
        chosen = f" (NumPy's library: {kernels})" if kernels else ""
        said.append(f"measured with {listed(then)} set: they steer libraries{chosen}, not the hardware; try without them and --fresh")
    if now is not None and dict(now) != dict(then):
        said.append(f"the environment has changed since: {listed(now) or 'nothing'} set now; the libraries' figures may not hold, --fresh measures them again")
    return said


def listed(variables: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in variables.items())


def kind(figure: Mapping[str, Any]) -> tuple[Any, ...]:
    return figure["at"].get("dtype"), figure["at"].get("shape"), figure["at"].get("bytes")


def label(figure: Mapping[str, Any]) -> str:
    return ", ".join([figure["name"], *(f"{name} {value}" for name, value in figure["at"].items())])
