"""Multiplicity: counts divided by the clocks and matched to sizes that are known. Pure: from what was counted to rows of the record.

`numpy` 512, `item` 768 and `push` 256 times per vector step of 256 envs *is* the diagnosis "a loop over envs that could be one call", without timing anything,
and the same on every machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from hotloop.lab.counting.names import Count

CLOCKS = {"update": "updates", "vector step": "vector_steps", "env step": "env_steps", "episode": "episodes"}
NATURAL = {"learn": "update", "sample": "update", "sync": "update", "reset": "episode"}  # all other phases: vector step
EDGE = 10  # ticks of a clock, from which one more or less may be the window's edge
SMALLEST_SIZE, MOST_TIMES, MOST_TIMES_OF_A_NETWORKS = 4, 8, 3  # 3 is no sign of anything; 9 × a size neither, nor 4 × what belongs to a network
MOST_ROWS, MOST_FUNCTIONS = 300, 30
KINDS = ("sync", "transfer", "tensor", "array", "copy", "forward", "garbage")  # of which sums are given
TOLD = ("_local_scalar_dense", "lift_fresh")  # operations that have rows of kind sync and tensor already
DETAILS = ("builtin", "python", "op")  # kinds that give way when there are too many rows


def counts(counted: Mapping[str, Any], clocks: Mapping[str, int], sizes: Mapping[str, int] | None = None) -> list[dict[str, Any]]:
    """The record's `counts`: what happened how often, per what, most often first. `clocks` are those of the window."""
    known = {**known_sizes(counted, clocks), **(sizes or {})}
    rows = [Count(*row) for row in counted["rows"]]
    called = {(row.phase, row.file, row.line, row.what) for row in rows if row.kind != "op"}
    kept = [row for row in rows if row.kind != "op" or (row.what not in TOLD and (row.phase, row.file, row.line, row.what) not in called)]
    kept.sort(key=lambda row: (row.kind in DETAILS, -row.calls))
    explained = [_explained(row, clocks, known) for row in kept[:MOST_ROWS]]
    return sorted(explained, key=lambda row: -row["calls"])


def _explained(row: Count, clocks: Mapping[str, int], sizes: Mapping[str, int]) -> dict[str, Any]:
    per, times = per_what(row.calls, row.phase, clocks)
    theirs = (lambda name: name != "num_envs") if per == "update" else (lambda name: not name.startswith("parameter"))  # an update knows of no games
    fitting = {name: size for name, size in sizes.items() if theirs(name)}
    return {**row._asdict(), "per": per, "times": times, "matches": match(times, fitting, batch_first=per == "update")}


def known_sizes(counted: Mapping[str, Any], clocks: Mapping[str, int]) -> dict[str, int]:
    """Sizes that the window itself tells of."""
    sizes = {}
    steps, vector_steps = clocks.get("env_steps", 0), clocks.get("vector_steps", 0)
    if vector_steps and steps % vector_steps == 0:
        sizes["num_envs"] = steps // vector_steps
    for network in counted.get("networks", []):
        sizes[f"parameters of {network['name']}"] = network["parameters"]
        sizes[f"parameter tensors of {network['name']}"] = network["tensors"]
    return sizes


# Per what ------------------------------------------------------------------------------------------------------------


def natural(phase: str, clocks: Mapping[str, int]) -> str:
    """The clock a phase goes by; a vector of one env makes env steps."""
    per = NATURAL.get(phase, "vector step")
    if not clocks.get(CLOCKS[per]):
        per = "vector step"
    return "env step" if per == "vector step" and clocks.get("vector_steps") == clocks.get("env_steps") else per


def per_what(calls: int, phase: str, clocks: Mapping[str, int]) -> tuple[str, float]:
    """What a number is a multiple of: the phase's own clock where it is a whole one, else another where it is, else a fraction of its own."""
    own = natural(phase, clocks)
    for per in dict.fromkeys((own, "update", natural("step", clocks))):
        times = whole(calls, clocks.get(CLOCKS[per], 0), at_the_edge=per == own)
        if times:
            return per, float(times)
    if calls == clocks.get("episodes"):
        return "episode", 1.0
    ticks = clocks.get(CLOCKS[own], 0)
    return own, calls / ticks if ticks else float(calls)


def whole(calls: int, ticks: int, *, at_the_edge: bool = False) -> int | None:
    """How many for each tick, if that is a whole number. A window may begin or end within a tick."""
    near = (ticks, ticks - 1, ticks + 1) if at_the_edge and ticks >= EDGE else (ticks,)
    return next((calls // n for n in near if n > 0 and calls >= n and calls % n == 0), None)


def match(times: float, sizes: Mapping[str, int], *, batch_first: bool = False) -> str | None:
    """A number as a small multiple of a size that is known."""
    found = [(times / size, name) for name, size in sizes.items() if size >= SMALLEST_SIZE and times % size == 0 and 1 <= times / size <= most_times(name)]
    if not found:
        return None
    multiple, name = min(found, key=lambda pair: (pair[0], (pair[1] == "batch_size") != batch_first))
    return name if multiple == 1 else f"{multiple:.0f} × {name}"


def most_times(name: str) -> int:
    return MOST_TIMES_OF_A_NETWORKS if name.startswith("parameter") else MOST_TIMES


# Work and sums --------------------------------------------------------------------------------------------------------


def work(counted: Mapping[str, Any], calls: Mapping[str, int]) -> dict[str, dict[str, Any]]:
    """The record's `work`: what one call of each phase does. A phase that was never called in the window (the glue is no call at all) is left out."""
    return {
        phase: {"calls": calls[phase], "per_call": {name: _divided(amount, calls[phase]) for name, amount in done.items()}}
        for phase, done in counted["work"].items()
        if calls.get(phase)
    }


def _divided(amount: Any, by: float) -> Any:
    return {name: part / by for name, part in amount.items()} if isinstance(amount, Mapping) else amount / by


def summary(counted: Mapping[str, Any], clocks: Mapping[str, int]) -> dict[str, Any]:
    """The functions called most, tensors by how they were made, transfers and synchronisations by kind: all per env step."""
    steps = clocks.get("env_steps") or 1
    functions: Counter[tuple[str, str, int]] = Counter()
    for name, file, line, _, calls in counted["functions"]:
        functions[name, file, line] += calls if file else 0
    most = [{"function": name, "file": file, "line": line, "per": "env step", "times": n / steps} for (name, file, line), n in functions.most_common() if n]
    totals = {name: sum(done.get(name, 0) for done in counted["work"].values()) / steps for name in ("python_calls", "c_calls", "torch_ops")}
    return {"functions": most[:MOST_FUNCTIONS], **totals, **{kind: by_name(counted["rows"], kind, steps) for kind in KINDS}}


def by_name(rows: Iterable[Iterable[Any]], kind: str, steps: int) -> dict[str, float]:
    """Everything of one kind per env step, wherever it was."""
    sums: Counter[str] = Counter()
    for row in rows:
        count = Count(*row)
        if count.kind == kind:
            sums[count.what] += count.calls
    return {what: calls / steps for what, calls in sums.most_common()}
