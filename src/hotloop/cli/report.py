"""hotloop report FOLDER: the pages of a profile written again from its record, and the record in the formats of other people's tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hotloop.cli.errors import FINE, UsageError
from hotloop.cli.flags import Flag, parse, split_words
from hotloop.records.files import RunError, read_json, write_atomically

ABOUT = """Show a profile again, from the report.json in its folder: as a table, as pages, or in the format of another tool.

  hotloop report profiles/train-20260101-120000
  hotloop report profiles/… --html report.html --markdown report.md
  hotloop report profiles/… --speedscope out.json --perfetto trace.json --pstats out.pstats --collapsed out.txt

Without flags the table is printed, and report.md and report.html are written into the folder."""

FLAGS = [
    Flag("html", Path | None, None, "one page that fetches nothing: budget, flame graph, timeline, drift, roofs, counts"),
    Flag("markdown", Path | None, None, "the tables, as Markdown"),
    Flag("speedscope", Path | None, None, "the samples, for www.speedscope.app"),
    Flag("perfetto", Path | None, None, "the timeline, for ui.perfetto.dev and chrome://tracing"),
    Flag("pstats", Path | None, None, "the samples as cProfile would have written them, for python -m pstats and snakeviz"),
    Flag("collapsed", Path | None, None, "the samples, a line a stack, for flamegraph.pl and inferno"),
    Flag("json", bool, False, "print the record as JSON and nothing else"),
]

NEEDED = (
    *("command", "exit_status", "ended_by", "tier", "clocks", "phases", "where", "mistakes"),
    *("wall_seconds", "startup_seconds", "looking_seconds", "overhead_share", "unattributed_share"),
)


def report(arguments: list[str]) -> int:
    words, rest = split_words(arguments, 1)
    options = parse("report FOLDER", ABOUT, {"report": FLAGS}, rest)
    if not words:
        raise UsageError("expected the folder of a profile, found none; try: hotloop report profiles/…")
    folder = Path(words[0])
    record = read_record(folder)
    wanted = {name: options[name] for name in formats() if options.get(name) is not None}
    files = {path: formats()[name](record) for name, path in wanted.items()}  # all of them before the first is written
    for path, data in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
    if options.get("json"):
        print(json.dumps(record))
    elif files:
        print(*(f"wrote {path}" for path in files), sep="\n")
    else:
        show(record, folder)
    return FINE


def formats() -> dict[str, Callable[[Mapping[str, Any]], bytes]]:
    """A record in every format, by the flag that asks for it."""
    from hotloop.report.export import EXPORTS
    from hotloop.report.profile_html import profile_html
    from hotloop.report.profile_markdown import profile_markdown

    return {"html": lambda record: profile_html(record).encode(), "markdown": lambda record: profile_markdown(record).encode(), **EXPORTS}


def read_record(folder: Path) -> dict[str, Any]:
    """The record in a folder, if it is one that this version reads."""
    from hotloop.lab.account import VERSION

    path = folder / "report.json"
    if not folder.is_dir():
        raise RunError(f"expected the folder of a profile at {folder}, found {'a file' if folder.exists() else 'nothing there'}; try: hotloop profile train.py")
    if not path.exists():
        raise RunError(f"expected report.json in {folder}, found none; try another folder, or: hotloop profile -o {folder} train.py")
    record = read_json(path)
    if record.get("version") != VERSION:
        found = record.get("version", "none")
        raise RunError(f"expected a record of version {VERSION} in {path}, found {found}; try the hotloop that wrote it, or profile the script again")
    missing = [name for name in NEEDED if name not in record]
    if missing:
        raise RunError(f"expected a whole record in {path}, found one without {', '.join(missing)}; try profiling the script again")
    return record


def show(record: Mapping[str, Any], folder: Path) -> None:
    from hotloop.report.pages import write_pages
    from hotloop.report.profile_terminal import print_profile

    print_profile(record)
    print()
    for path in write_pages(record, folder):
        print(f"wrote {path}")
