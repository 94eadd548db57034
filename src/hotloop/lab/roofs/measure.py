"""Measuring the roofs: every probe this machine allows, in rounds, made into one record with what is doubtful about it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import psutil

from hotloop.lab.roofs.arithmetic import SHAPES, Shape, arithmetic_probes, errors
from hotloop.lab.roofs.calls import call_probes
from hotloop.lab.roofs.gpu import against_data_sheet, gpu_probes
from hotloop.lab.roofs.known import VERSION, key_of, roofs_from
from hotloop.lab.roofs.memory import memory_probes, sizes_for
from hotloop.lab.roofs.probe import FULL, QUICK, Clocks, Probe, in_rounds
from hotloop.lab.roofs.probe import clocks as this_machines
from hotloop.lab.roofs.processes import disk_probes, process_probes
from hotloop.lab.roofs.sanity import company, doubts, is_disturbed
from hotloop.records.cache import cache_folder
from hotloop.records.machine import machine

Tell = Callable[[str, int, int], None]  # what is looked at, how many looks there have been, how many there will be


def nobody(what: str, done: int, total: int) -> None:
    """Who need not be told."""


def measure(shapes: Sequence[Shape] = SHAPES, *, quick: bool = False, tell: Tell = nobody, clocks: Clocks | None = None) -> dict[str, Any]:
    """The record of this machine. Whatever cannot be measured here is named in `missing`, with the reason; the rest is measured."""
    clocks = clocks or this_machines()
    began, facts, missing, before = clocks.wall(), machine(), dict[str, str](), used()
    effort = QUICK if quick else FULL
    threads = facts["threads_allowed"] or 1
    with ExitStack() as open_until_done:
        probes = all_probes(threads, shapes, quick, open_until_done, missing)
        looks, total = count(), (effort.rounds + effort.rounds_more) * len(probes)
        figures = in_rounds(
            probes,
            effort,
            clocks,
            told=lambda probe: tell(f"{probe.group}: {probe.name}", next(looks), total),
            failed=lambda probe, mistake: note(missing, probe.name, mistake),
        )
    seconds = clocks.wall() - began
    others = others_cores(before, used(), seconds)
    return {
        "version": VERSION,
        "key": key_of(facts),
        "measured": f"{datetime.now():%Y-%m-%d %H:%M}",
        "quick": quick,
        "machine": facts,
        "libraries": libraries(),
        "figures": figures,
        "roofs": roofs_from(figures) | {"disturbed": is_disturbed(figures)},
        "errors": {str(shape): errors_of(shape, missing) for shape in shapes},
        "missing": missing,
        "doubts": [*doubts(figures), *company(others, threads), *against_data_sheet(figures, facts["gpus"])],
        "others_cores": others,
        "seconds": seconds,
    }


def all_probes(threads: int, shapes: Sequence[Shape], quick: bool, open_until_done: ExitStack, missing: dict[str, str]) -> list[Probe]:
    """A part that cannot even begin (no second process, no disk) is left out; the others do not depend on it."""
    parts: Mapping[str, Callable[[], Sequence[Probe]]] = {
        "memory": lambda: memory_probes(threads, sizes_for(threads, quick=quick)),
        "arithmetic": lambda: arithmetic_probes(threads, shapes, lambda what, mistake: note(missing, what, mistake)),
        "calls": call_probes,
        "processes": lambda: open_until_done.enter_context(process_probes()),
        "disk": lambda: open_until_done.enter_context(where_caches_are()),
        "gpu": gpu_probes,
    }
    probes: list[Probe] = []
    for part, find in parts.items():
        try:
            probes += find()
        except Exception as mistake:  # the rest of the machine is still worth measuring
            note(missing, part, mistake)
    return probes


@contextmanager
def where_caches_are() -> Iterator[list[Probe]]:
    """The disk this record is about to be kept on; where there is none to write on, the one for temporary files."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.gettempdir())
    with disk_probes(folder) as probes:
        yield probes


def used() -> tuple[float, float]:
    """Seconds of processor used so far: by everybody on this machine, by this process and those it has waited for."""
    everybody = psutil.cpu_times()
    idle = everybody.idle + getattr(everybody, "iowait", 0.0)
    return sum(everybody[:8]) - idle, sum(os.times()[:4])  # beyond the eighth, Linux counts guests a second time


def others_cores(before: tuple[float, float], after: tuple[float, float], seconds: float) -> float:
    """How many cores other programs kept busy meanwhile."""
    everybody, ours = (later - earlier for earlier, later in zip(before, after))
    return max(0.0, everybody - ours) / seconds if seconds > 0 else 0.0


def errors_of(shape: Shape, missing: dict[str, str]) -> dict[str, float]:
    try:
        return errors(shape)
    except Exception as mistake:
        note(missing, f"errors of {shape}", mistake)
        return {}


def libraries() -> dict[str, Any]:
    """Which kernels the libraries chose for this processor: half of a product's speed."""
    found: dict[str, Any] = {}
    try:
        import torch

        found["torch"] = torch.backends.cpu.get_cpu_capability()
        from threadpoolctl import threadpool_info

        found["NumPy"] = ", ".join(f"{pool['internal_api']} {pool.get('architecture', '')}".strip() for pool in threadpool_info() if pool["user_api"] == "blas")
    except Exception:  # names for a reader; no figure depends on them
        return found
    return found


def note(missing: dict[str, str], what: str, mistake: Exception) -> None:
    missing[what] = " ".join(str(mistake).split()) or type(mistake).__name__
