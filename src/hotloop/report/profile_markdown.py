"""A profile as a page of Markdown: the same tables as in the terminal, for a message, a merge request or a diary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hotloop.report.profile import closing, headline, probes_line
from hotloop.report.profile_memory import memory_rows
from hotloop.report.profile_rows import clock_rows, count_rows, counts_left_out, drift_rows, line_rows, machine_rows, phase_rows

Record = Mapping[str, Any]
MEANT = re.compile(r"[\\`*\[\]<>|&~$]|(?<!\w)_|_(?!\w)")  # what Markdown would take for its own; an underscore within a word is only that


def profile_markdown(record: Record) -> str:
    """One page; what was not measured has no section."""
    parts = [f"# {text(headline(record))}", phases(record), text(probes_line(record)), *mistakes(record)]
    for title, body in sections(record):
        parts += [f"## {title}", body] if body else []
    return "\n\n".join(part for part in parts if part) + "\n"


def sections(record: Record) -> Iterator[tuple[str, str]]:
    yield "Clocks", pairs(clock_rows(record))
    yield "Hot lines", hot(record)
    yield "Over the run", "\n\n".join(f"**{text(row.verdict)}**: {text(row.explanation)}".removeprefix("****: ") for row in drift_rows(record))
    yield "Counts", counts(record)
    yield "Memory", pairs(memory_rows(record))
    yield "Machine", pairs(machine_rows(record))


def phases(record: Record) -> str:
    rows = phase_rows(record)
    columns = {"phase": "name", "seconds": "seconds", "of wall": "share", "calls": "calls", "µs a call": "call", "µs a step": "step"}
    columns |= {title: field for title, field in {"device s": "device", "roof": "roof"}.items() if any(getattr(row, field) for row in rows)}
    cells = [[*(text(getattr(row, field)) for field in columns.values()), code(row.where)] for row in rows]
    return table([*columns, "where"], cells, {"phase", "roof", "where"}) + "\n\n" + text(closing(record))


def mistakes(record: Record) -> list[str]:
    return [f"**A mistake of the lab's, after which it measured no more:** {text(mistake)}" for mistake in record.get("mistakes") or []]


def hot(record: Record) -> str:
    rows = [[text(row.phase), code(row.place), code(row.function), row.seconds, row.share, code(row.inside)] for row in line_rows(record)]
    return table(["phase", "line", "function", "seconds", "of the phase", "mostly in"], rows, {"phase", "line", "function", "mostly in"}) if rows else ""


def counts(record: Record) -> str:
    rows = count_rows(record)
    if not rows:
        return ""
    matches = any(row.matches for row in rows)
    cells = [[code(row.what), row.times, text(row.per), *([text(row.matches)] if matches else []), text(row.phase), code(row.place)] for row in rows]
    shown = table(["what", "times", "per", *(["that is"] if matches else []), "phase", "where"], cells, {"what", "per", "that is", "phase", "where"})
    left_out = counts_left_out(record)
    return shown + (f"\n\nand {left_out} more in report.json" if left_out else "")


def pairs(rows: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"- {text(name)}: {text(value)}" for name, value in rows)


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], left: set[str]) -> str:
    rules = ["---" if title in left else "---:" for title in titles]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [titles, *rows]).replace("\n", f"\n|{'|'.join(rules)}|\n", 1)


def text(words: str) -> str:
    """Words in which no character means anything to Markdown."""
    return MEANT.sub(r"\\\g<0>", " ".join(words.split()))


def code(words: str) -> str:
    """A name as code, also one with a bar or a backtick in it."""
    if not words:
        return ""
    shown = " ".join(words.split()).replace("|", "\\|")
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`"
