"""Roofs: slow compared with what? What this machine can do at best, and from it the least time a phase's work could take.

Measured once (`hotloop limits`), kept in the cache folder, and read here without torch or Numba. A roof is a bound: work cannot be done faster than it
allows, and a time that says so was measured wrongly. So wherever there is a choice, the roof is the higher one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hotloop.records.cache import cache_folder
from hotloop.records.files import RunError, read_json, write_json
from hotloop.records.machine import machine

VERSION = 1
TOLERANCE = 0.10  # how far a time may lie under its roof: clocks speed up and probes differ by as much from one run to the next
FACTS = ("cpu", "cores", "threads", "threads_allowed", "gpus", "system", "python")  # of the machine, with its packages, that change what it can do
SIDES = 4  # a message there and back is sent twice and received twice; a process has one of these to do for each of its messages


def roof_of(work: Mapping[str, Any], roofs: Mapping[str, Any]) -> dict[str, Any]:
    """From what a phase does a call: the seconds each roof allows at best, and which of them binds. `roofs` is what `load` gives.

    Work may name python_calls, c_calls, torch_ops, flops {type: n}, bytes (copied; each counts once), bytes_at_once (of one copy, where many make up the
    bytes), slept_seconds, file_bytes, fsyncs, messages, pickled_bytes, launches, graph_nodes, bus_bytes, and threads, which are all unless it says 1.
    """
    seconds = {
        "interpreter": times(work, "python_calls", roofs, "Python function") + times(work, "c_calls", roofs, "C function"),
        "dispatch": times(work, "torch_ops", roofs, "torch operation, in place"),
        "arithmetic": arithmetic_seconds(work, roofs),
        "copy": copy_seconds(work, roofs),
        "sleep": float(work.get("slept_seconds") or 0.0),
        "disk": times(work, "file_bytes", roofs, "file byte") + times(work, "fsyncs", roofs, "fsync"),
        "ipc": times(work, "messages", roofs, "message") + times(work, "pickled_bytes", roofs, "pickled byte"),
        "launch": times(work, "launches", roofs, "launch") + times(work, "graph_nodes", roofs, "graph node"),
        "bus": times(work, "bus_bytes", roofs, "bus byte"),
    }
    known = {name: least for name, least in seconds.items() if least > 0}
    binds = max(known, key=lambda name: known[name], default=None)
    return {"binds": binds, "attainable_seconds": known[binds] if binds else 0.0, "roofs": known}


def beyond_roof(seconds: float, attainable: float, tolerance: float = TOLERANCE) -> bool:
    """Whether a time is shorter than any could be, by more than the tolerance: it was measured wrongly, or its work was."""
    return seconds < attainable * (1 - tolerance)


def times(work: Mapping[str, Any], what: str, roofs: Mapping[str, Any], each: str) -> float:
    """So many, at so many seconds each; nothing where either is not known."""
    return float((work.get(what) or 0) * (roofs["seconds"].get(each) or 0.0))


def arithmetic_seconds(work: Mapping[str, Any], roofs: Mapping[str, Any]) -> float:
    """Types one after another; one whose rate is not known allows any speed."""
    rates = roofs["flops"]
    seconds = 0.0
    for dtype, flops in (work.get("flops") or {}).items():
        rate = on_threads(work, roofs, rates.get(dtype.removeprefix("torch."), {}))
        seconds += flops / rate if rate else 0.0
    return seconds


def copy_seconds(work: Mapping[str, Any], roofs: Mapping[str, Any]) -> float:
    """All the bytes, at the rate of as many as are copied at once."""
    copied = work.get("bytes") or 0
    at_once = work.get("bytes_at_once") or copied
    rate = on_threads(work, roofs, {threads: rate_at(curve, at_once) for threads, curve in roofs["bytes"].get("copy", {}).items()})
    return copied / rate if rate else 0.0


def on_threads(work: Mapping[str, Any], roofs: Mapping[str, Any], rates: Mapping[str, float]) -> float:
    """The rate of one thread where the work says that there was one, else the best there is."""
    return rates.get("1", 0.0) if work.get("threads") == 1 else max(rates.values(), default=0.0)


def rate_at(curve: Sequence[Sequence[float]], size: float) -> float:
    """A curve's rate for a size between those measured: that of the smaller neighbour, and never below what a larger size reached."""
    start = max((point[0] for point in curve if point[0] <= size), default=0.0)
    return max((rate for point, rate in curve if point >= start), default=0.0)


# ---------------------------------------------------------------- from figures to roofs


def roofs_from(figures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The best of every kind: seconds of one, arithmetic a second by type and threads, bytes a second by size and threads."""
    seconds = {figure["name"]: figure["best"] for figure in figures if figure["group"] == "calls"}
    flops: dict[str, dict[str, float]] = {}
    copied: dict[str, dict[str, dict[float, float]]] = {}
    for figure in figures:
        at, threads = figure["at"], str(figure["at"].get("threads", 1))
        if figure["group"] == "arithmetic" and "dtype" in at:
            of_type = flops.setdefault(at["dtype"], {})
            of_type[threads] = max(of_type.get(threads, 0.0), figure["best"])
        if figure["group"] == "memory":
            kind = figure["name"].split()[0]
            curve = copied.setdefault(kind, {}).setdefault(threads, {})
            curve[at["bytes"]] = max(curve.get(at["bytes"], 0.0), figure["best"])
    curves = {kind: {threads: sorted(map(list, curve.items())) for threads, curve in each.items()} for kind, each in copied.items()}
    return {"seconds": seconds | handing_on(figures), "flops": flops, "bytes": curves}


def handing_on(figures: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Seconds a message, a byte, a launch: what one process has to do for each at the least."""
    pipe, write, synced = by_size(figures, "pipe, there and back"), by_size(figures, "write"), by_size(figures, "write and fsync")
    found: dict[str, float] = {}
    if pipe:
        (small, shortest), (large, longest) = pipe[0], pipe[-1]
        found["message"] = shortest / SIDES
        if large > small:
            found["pickled byte"] = max(0.0, (longest - shortest) / (large - small) / SIDES)
    if write:
        found["file byte"] = write[-1][1] / write[-1][0]
    if synced and write:
        found["fsync"] = max(0.0, synced[0][1] - write[0][1])
    device = {figure["name"]: figure["best"] for figure in figures if figure["group"] == "gpu" and figure["name"] in ("launch", "graph node")}
    across = [figure["best"] for figure in figures if figure["group"] == "gpu" and figure["name"] in ("copy to the device", "copy from the device")]
    return found | device | ({"bus byte": 1 / max(across)} if across else {})


def by_size(figures: Sequence[Mapping[str, Any]], name: str) -> list[tuple[float, float]]:
    """(bytes, best) of a figure taken at several sizes, smallest first."""
    return sorted((figure["at"]["bytes"], figure["best"]) for figure in figures if figure["name"] == name)


# ---------------------------------------------------------------- kept


def load(facts: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """This machine's roofs if they have been measured, else None. Who already has the facts of `machine()` saves finding them again.

    {"seconds": {of what: of one}, "flops": {type: {threads: a second}}, "bytes": {copy, fill, read: {threads: [[bytes, a second], ...]}}, "disturbed": bool}.
    Roofs measured on a busy machine (disturbed) may be too low.
    """
    record, _ = cached(facts)
    return record["roofs"] if record else None


def cached(facts: Mapping[str, Any] | None = None) -> tuple[dict[str, Any] | None, str]:
    """The whole record of this machine; or None, and why there is none where a file was there and will not do."""
    key = key_of(machine() if facts is None else facts)
    path = path_of(key)
    if not path.exists():
        return None, ""
    try:
        record = read_json(path)
    except RunError:
        return None, f"expected this machine's limits in {path}, found a file that cannot be read"
    if record.get("version") != VERSION or record.get("key") != key:
        return None, f"expected this machine's limits in {path}, found those of another version or machine"
    if not is_whole(record):
        return None, f"expected this machine's limits in {path}, found a record with parts missing"
    return record, ""


def is_whole(record: Mapping[str, Any]) -> bool:
    """Whether everything is there that readers take for granted."""
    roofs, figures = record.get("roofs"), record.get("figures")
    if not isinstance(roofs, dict) or not isinstance(figures, list) or not figures:
        return False
    wanted = {"group", "name", "at", "unit", "best", "median", "samples"}
    are_figures = all(isinstance(each, dict) and wanted <= set(each) and isinstance(each["at"], dict) for each in figures)
    return are_figures and all(isinstance(roofs.get(part), dict) for part in ("seconds", "flops", "bytes"))


def keep(record: Mapping[str, Any]) -> Path:
    """Write it where `load` will look."""
    path = path_of(record["key"])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"expected to make the folder {path.parent}, found: {error.strerror}; try HOTLOOP_CACHE=another/folder") from error
    write_json(path, record)
    return path


def path_of(key: str) -> Path:
    return cache_folder() / f"limits-{key}.json"


def key_of(facts: Mapping[str, Any]) -> str:
    """A digest of what decides the machine's speed. The environment is not in it: it steers libraries, and a change of it is told (`steered`)."""
    packages = {name: version for name, version in facts["packages"].items() if name != "hotloop"}
    relevant = {name: facts.get(name) for name in FACTS} | {"packages": packages, "version": VERSION}
    return hashlib.sha256(json.dumps(relevant, sort_keys=True).encode()).hexdigest()[:16]
