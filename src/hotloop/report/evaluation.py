"""Evaluation: what came out of whole episodes, as a table for a terminal and as a page of Markdown.

A summary is `{"episodes", "score", "return", "length", "endings"}`, the middle three each `{"mean", "median", "low", "high"}`; low and high enclose
the mean with 95 % confidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from hotloop.report.numbers import percent, short
from hotloop.report.palette import ACCENT, QUIET

Summary = Mapping[str, Any]

MEASURES = ("score", "return", "length")


def evaluation_table(summary: Summary, title: str) -> Group:
    """One evaluation, for a terminal."""
    table = Table(box=None, padding=(0, 3, 0, 0))
    table.add_column("")
    for name in ("mean", "95 % interval", "median"):
        table.add_column(name, justify="right")
    for measure in MEASURES:
        style = f"bold {ACCENT}" if measure == "score" else ""
        table.add_row(measure, *_cells(summary[measure]), style=style)
    return Group(Text(title, "bold"), table, Text.assemble(("endings  ", QUIET), _endings(summary)))


def evaluation_markdown(summaries: Mapping[str, Summary], title: str, facts: Mapping[str, object]) -> str:
    """Evaluations by what was played, as a page; `facts` say who played and how to do it again."""
    lines = [f"# {title}", "", *(f"- {name}: {value}" for name, value in facts.items()), ""]
    for name, summary in summaries.items():
        if len(summaries) > 1:
            lines += [f"## {name}", ""]
        lines += ["| | mean | 95 % interval | median |", "|---|---:|---:|---:|"]
        lines += [f"| {measure} | {' | '.join(_cells(summary[measure]))} |" for measure in MEASURES]
        lines += ["", "| ending | episodes | share |", "|---|---:|---:|"]
        lines += [f"| {ending} | {count} | {percent(count / summary['episodes'])} |" for ending, count in _by_count(summary)]
        lines.append("")
    return "\n".join(lines)


def _cells(measure: Mapping[str, float]) -> tuple[str, str, str]:
    return short(measure["mean"]), f"{short(measure['low'])} … {short(measure['high'])}", short(measure["median"])


def _endings(summary: Summary) -> str:
    return "   ".join(f"{ending} {percent(count / summary['episodes'])}" for ending, count in _by_count(summary))


def _by_count(summary: Summary) -> list[tuple[str, int]]:
    return sorted(summary["endings"].items(), key=lambda item: -item[1])
