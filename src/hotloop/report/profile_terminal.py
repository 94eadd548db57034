"""A profile for a terminal: the phases, then the lines, the counts and the course of the run, each in a few lines. The pages say more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group
from rich.text import Text

from hotloop.lab.counting.multiplicity import DETAILS
from hotloop.report import profile_rows as rows
from hotloop.report.drift import drift_lines
from hotloop.report.palette import PHASE_COLOURS, QUIET
from hotloop.report.profile import clock_line, closing, headline, probes_line
from hotloop.report.profile_memory import memory_sentence

Record = Mapping[str, Any]

PHASE_COLUMNS = ("phase", "seconds", "of wall", "calls", "µs a call", "µs a step", "roof", "where")
WIDE = 160
LEFT = ("phase", "roof", "where", "line", "inside", "what")
MOST_LINES, MOST_COUNTS = 6, 8
LEAST_SHARE = 0.05  # of the time, before the lines of a phase are shown


def print_profile(record: Record) -> None:
    """On standard output. A pipe and a file are as wide as it takes."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDE)
    console.print(profile_table(record), highlight=False)


def profile_table(record: Record) -> Group:
    """One profile."""
    notes = [Text(f"a mistake of the lab's, after which it measured no more: {mistake}", "bold") for mistake in record["mistakes"]]
    return Group(
        Text(headline(record), "bold"),
        *phase_table(record),
        Text(closing(record)),
        Text(clock_line(record["clocks"])),
        *section("the lines that take longest", line_table(record)),
        *section("how often", count_table(record)),
        *course(record),
        Text(""),
        Text(probes_line(record), QUIET),
        *notes,
    )


def section(title: str, lines: list[Text]) -> list[Text]:
    return [Text(""), Text(title, "bold"), *lines] if lines else []


def table_of(columns: tuple[str, ...], cells: list[dict[str, str | Text]], *, header: bool = True) -> list[Text]:
    """Lines of padded cells. The last column is cut off where a terminal is narrow; a rich Table would leave out whole ones."""
    widths = [max([len(name) * header, *(len(row[name]) for row in cells)]) for name in columns]
    heads: list[dict[str, str | Text]] = [{name: Text(name, "bold") for name in columns}] if header else []
    return [line_of(columns, widths, row) for row in (*heads, *cells)]


def line_of(columns: tuple[str, ...], widths: list[int], cells: dict[str, str | Text]) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    for name, width in zip(columns, widths, strict=True):
        padding = " " * (width - len(cells[name]))
        line.append_text(Text.assemble(cells[name], padding, "  ") if name in LEFT else Text.assemble(padding, cells[name], "  "))
    line.rstrip()
    return line


def coloured(phase: str) -> Text:
    return Text(phase, PHASE_COLOURS.get(phase, ""))


def phase_table(record: Record) -> list[Text]:
    found = rows.phase_rows(record)
    shown = PHASE_COLUMNS if any(row.roof for row in found) else tuple(name for name in PHASE_COLUMNS if name != "roof")
    return table_of(shown, [phase_cells(row) for row in found])


def phase_cells(row: rows.PhaseRow) -> dict[str, str | Text]:
    return {
        "phase": coloured(row.name),
        "seconds": row.seconds,
        "of wall": row.share,
        "calls": row.calls,
        "µs a call": row.call,
        "µs a step": row.step,
        "roof": row.roof,
        "where": Text(row.where, QUIET),
    }


def line_table(record: Record) -> list[Text]:
    """The hottest lines of the phases that count."""
    fat = {phase["name"] for phase in record["phases"] if phase["share"] >= LEAST_SHARE}
    found = [row for row in rows.line_rows(record) if row.phase in fat][:MOST_LINES]
    return table_of(("phase", "share", "line", "inside"), [line_cells(row) for row in found], header=False)


def line_cells(row: rows.LineRow) -> dict[str, str | Text]:
    inside = f"mostly in {row.inside}" if row.inside and row.inside != row.function else ""
    return {"phase": coloured(row.phase), "share": f"{row.share} of it", "line": f"{row.place} {row.function}", "inside": Text(inside, QUIET)}


def count_table(record: Record) -> list[Text]:
    """What happens most often, calls of plain Python functions aside."""
    named = {**record, "counts": [count for count in record.get("counts") or [] if count.get("kind") not in DETAILS]}
    return table_of(("times", "what", "line"), [count_cells(row) for row in rows.count_rows(named)[:MOST_COUNTS]], header=False)


def count_cells(row: rows.CountRow) -> dict[str, str | Text]:
    matches = f" ({row.matches})" if row.matches else ""
    return {"times": row.times, "what": f"{row.what} per {row.per}{matches}", "line": Text(row.place, QUIET)}


def course(record: Record) -> list[Text]:
    """How the run went: its speed, its memory, how far it would come."""
    scaling = record.get("scaling") or {}
    lines = [*(line for line in drift_lines(record)[:3] if line.strip() == line), memory_sentence(record), scaling.get("explanation") or ""]
    told = [Text(line) for line in lines if line]
    return [Text(""), *told] if told else []
