"""Where the time went: seconds by phase as a table that adds up to the wall time, for a terminal or as plain text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rich.console import Group
from rich.table import Table
from rich.text import Text

from hotloop.records.phases import ALL_PHASES
from hotloop.report.palette import PHASE_COLOURS


class Row(NamedTuple):
    """One phase."""

    name: str
    seconds: float
    share: float  # of the wall time
    calls: int | None


class PhaseTable:
    """Print it with rich for colours, `str` it for a log."""

    def __init__(self, rows: list[Row], wall: float) -> None:
        self.rows = rows
        self.wall = wall

    @property
    def closing(self) -> str:
        """The line that shows nothing was left out."""
        return f"sum of phases {sum(row.seconds for row in self.rows):.2f} s = wall time {self.wall:.2f} s"

    def __str__(self) -> str:
        lines = [f"{'phase':<13} {'seconds':>10} {'of wall':>8} {'calls':>12}"]
        for row in self.rows:
            lines.append(f"{row.name:<13} {row.seconds:>10.2f} {row.share:>8.1%} {_calls(row):>12}")
        return "\n".join([*lines, self.closing])

    def __rich__(self) -> Group:
        table = Table(title="where the time went", title_justify="left", box=None, padding=(0, 2, 0, 0))
        table.add_column("phase")
        for name in ("seconds", "of wall", "calls"):
            table.add_column(name, justify="right")
        for row in self.rows:
            table.add_row(Text(row.name, style=PHASE_COLOURS.get(row.name, "")), f"{row.seconds:.2f}", f"{row.share:.1%}", _calls(row))
        return Group(table, Text(self.closing, no_wrap=True))  # not as a caption, which would be broken to the table's width


def phase_table(seconds: Mapping[str, float], wall: float, calls: Mapping[str, int] | None = None) -> PhaseTable:
    """Phases that took time, in their fixed order. What the phases do not account for has a row of its own: `unattributed`."""
    calls = calls or {}
    names = [name for name in (*ALL_PHASES, *seconds) if seconds.get(name)]
    parts = {name: seconds[name] for name in names}  # each name once, though ALL_PHASES and seconds share most
    unattributed = wall - sum(parts.values())
    if abs(unattributed) > 1e-6 * max(wall, 1e-3):  # more than rounding
        parts["unattributed"] = unattributed
    return PhaseTable([Row(name, spent, spent / wall if wall else 0.0, calls.get(name)) for name, spent in parts.items()], wall)


def _calls(row: Row) -> str:
    return "" if row.calls is None else f"{row.calls:,}".replace(",", " ")
