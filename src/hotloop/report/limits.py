"""A machine's limits for people: memory by size, arithmetic beside what libraries make of it, and what everything costs that is done one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hotloop.report.numbers import percent, short
from hotloop.report.palette import ACCENT, QUIET

Record = Mapping[str, Any]
Figure = Mapping[str, Any]

KINDS = ("copy", "fill", "read")
LIBRARY_COPY = "copy by the C library"


def limits_table(record: Record, remarks: Sequence[str] = ()) -> Group:
    """One record, for a terminal; remarks are what has to be said beside it."""
    parts: list[RenderableType] = [Text(headline(record), "bold")]
    sections = {"memory": memory_table, "arithmetic": arithmetic_table, "calls": list_table, "processes": list_table, "disk": list_table, "gpu": list_table}
    for group, draw in sections.items():
        figures = [figure for figure in record["figures"] if figure["group"] == group]
        if figures:
            parts += [Text(), Text(TITLES[group], ACCENT), draw(figures, record)]
    missing = [f"not measured: {what}: {why}" for what, why in record.get("missing", {}).items()]
    said = [*remarks, *record.get("doubts", []), *missing]
    return Group(*parts, *([Text()] if said else []), *(Text(f"! {sentence}") for sentence in said))


TITLES = {
    "memory": "memory, GB a second; a byte copied counts once",
    "arithmetic": "arithmetic, G operations a second; of bare: of what the hardware itself does",
    "calls": "calls, one at a time",
    "processes": "processes",
    "disk": "disk, where the cache folder is",
    "gpu": "GPU",
}


def headline(record: Record) -> str:
    machine = record["machine"]
    names = [str(machine["cpu"]), *(gpu["name"] for gpu in machine.get("gpus", []))]
    quick = " · quick" if record.get("quick") else ""
    return f"{' · '.join(names)} · {most_threads(record)} threads · measured {record['measured']} in {record['seconds']:.0f} s{quick}"


def most_threads(record: Record) -> int:
    return max((int(figure["at"].get("threads", 1)) for figure in record["figures"]), default=1)


# ---------------------------------------------------------------- memory


def memory_table(figures: Sequence[Figure], record: Record) -> Table:
    """A row a size, a column for each way of moving and number of threads."""
    counts = sorted({1, most_threads(record)})
    table = plain_table("bytes", *(kind if count == 1 else f"on {count}" for kind in KINDS for count in counts), "C library's copy")
    for size in sorted({figure["at"]["bytes"] for figure in figures}):
        moved = [rate(figures, kind, size, count) for kind in KINDS for count in counts]
        table.add_row(bytes_word(size), *moved, rate(figures, LIBRARY_COPY, size, 1, exactly=True))
    return table


def rate(figures: Sequence[Figure], kind: str, size: int, threads: int, *, exactly: bool = False) -> str:
    """The best of its kind for a size, the C library's own apart."""
    found = [figure["best"] for figure in figures if figure["at"] == {"bytes": size, "threads": threads} and is_of(figure["name"], kind, exactly)]
    return giga(max(found)) if found else ""


def is_of(name: str, kind: str, exactly: bool) -> bool:
    return name == kind if exactly else name in (kind, f"{kind} past the caches")


# ---------------------------------------------------------------- arithmetic


def arithmetic_table(figures: Sequence[Figure], record: Record) -> Table:
    """The bare loops on top, then each shape by library; a library's error beside its speed."""
    counts = sorted({1, most_threads(record)})
    table = plain_table("", "type", *(threads_word(count) for count in counts), "of bare", "error", left=2)
    for dtype in dict.fromkeys(figure["at"]["dtype"] for figure in figures if figure["name"] == "bare"):
        table.add_row("bare loop", dtype, *(speed(figures, {"dtype": dtype, "threads": count}, "bare") for count in counts))
    for shape in dict.fromkeys(figure["at"]["shape"] for figure in figures if "shape" in figure["at"]):
        table.add_row(shape)
        for name, dtype in dict.fromkeys((figure["name"], figure["at"]["dtype"]) for figure in figures if figure["at"].get("shape") == shape):
            at = {"shape": shape, "dtype": dtype}
            own = [speed(figures, {**at, "threads": count}, name) for count in counts]
            table.add_row(f"  {name}", dtype, *own, share_of_bare(figures, at, name), error_of(record, shape, f"{name}, {dtype}"))
    cycles = best(figures, {}, "cycles")
    if cycles:
        table.caption, table.caption_justify, table.caption_style = f"a core's clock meanwhile: {cycles / 1e9:.2f} GHz", "left", QUIET
    return table


def error_of(record: Record, shape: str, which: str) -> str:
    error = record.get("errors", {}).get(shape, {}).get(which)
    return f"{error:.0e}" if error else ""


def speed(figures: Sequence[Figure], at: Mapping[str, Any], name: str) -> str:
    found = best(figures, at, name)
    return giga(found) if found else ""


def share_of_bare(figures: Sequence[Figure], at: Mapping[str, Any], name: str) -> str:
    """On one thread, where nothing has to be shared out."""
    own, bare = best(figures, {**at, "threads": 1}, name), best(figures, {"dtype": at["dtype"], "threads": 1}, "bare")
    return percent(own / bare) if own and bare else ""


def best(figures: Sequence[Figure], at: Mapping[str, Any], name: str) -> float | None:
    return next((figure["best"] for figure in figures if figure["name"] == name and figure["at"] == at), None)


# ---------------------------------------------------------------- lists


def list_table(figures: Sequence[Figure], record: Record) -> Table:
    """A row a figure: the best, and the median beside it."""
    table = plain_table("", "", "best", "median", left=2)
    for figure in figures:
        table.add_row(figure["name"], circumstances(figure["at"]), amount(figure["best"], figure["unit"]), amount(figure["median"], figure["unit"]))
    return table


def circumstances(at: Mapping[str, Any]) -> str:
    words = {"bytes": lambda size: bytes_word(size), "pinned": lambda pinned: "pinned" if pinned else "not pinned", "threads": threads_word}
    return ", ".join(words[name](value) if name in words else str(value) for name, value in at.items())


def amount(number: float, unit: str) -> str:
    if unit != "s":
        return f"{giga(number)} G{'B' if unit == 'bytes/s' else ''}/s"
    for limit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if number >= limit * 0.9995:
            return f"{short(number / limit)} {name}"
    return f"{short(number * 1e9)} ns"


def giga(number: float) -> str:
    return short(number / 1e9) if number < 1e12 else f"{number / 1e9:.0f}"


def bytes_word(size: int) -> str:
    """`16 KiB`: sizes here are powers of two, or small."""
    for limit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= limit:
            return f"{size / limit:g} {name}"
    return f"{size} B"


def threads_word(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def plain_table(*columns: str, left: int = 1) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=QUIET)
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place < left else "right", no_wrap=True)
    return table
