"""A profile as one page of HTML: nothing is fetched, so it opens from a folder, from a mail and in ten years, on a phone and on paper.

Templates hold the words, the looks and the little script; here is only what goes into them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from hotloop import __version__
from hotloop.report import profile_rows as rows
from hotloop.report.numbers import percent, short
from hotloop.report.palette import PHASE_COLOURS
from hotloop.report.profile import closing, headline, probes_line
from hotloop.report.profile_drawings import flame, over_the_run, windows
from hotloop.report.profile_memory import memory_rows

Record = Mapping[str, Any]


def profile_html(record: Record) -> str:
    """The whole page; what was not measured has no section."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # 0.1 s, only where a page is written

    environment = Environment(loader=PackageLoader("hotloop.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("profile.html").render(contents(record))


def contents(record: Record) -> dict[str, Any]:
    command = " ".join(record["command"])
    phases, counts, lines = rows.phase_rows(record), rows.count_rows(record), rows.line_rows(record)
    return {
        "version": __version__,
        "colours": PHASE_COLOURS,
        "command": command,
        "headline": headline(record).removeprefix(f"{command} · "),
        "figures": figures(record),
        "mistakes": record.get("mistakes") or [],
        "phases": phases,
        "budget": [row for row in phases if row.fraction > 0],
        "has_device": any(row.device for row in phases),
        "has_roof": any(row.roof for row in phases),
        "closing": closing(record),
        "probes": probes_line(record),
        "lines": [(phase, list(group)) for phase, group in groupby(lines, key=lambda line: line.phase)],
        "flame": flame(record),
        "drift": rows.drift_rows(record),
        "run": over_the_run(record),
        "windows": windows(record),
        "roofs": rows.roof_rows(record),
        "counts": counts,
        "has_matches": any(row.matches for row in counts),
        "counts_left_out": rows.counts_left_out(record),
        "clocks": rows.clock_rows(record),
        "memory": memory_rows(record),
        "machine": rows.machine_rows(record),
    }


def figures(record: Record) -> list[tuple[str, str]]:
    """What to see first: (number, what it is)."""
    clocks = record["clocks"]
    fattest = max(record["phases"], key=lambda phase: phase["seconds"], default=None)
    found = [(rows.span(record["wall_seconds"]), "wall time")]
    if fattest is not None and fattest["seconds"]:
        found.append((percent(fattest["share"]), f"of it in {fattest['name']}"))
    found += [(short(clocks[name]), name.replace("_", " ")) for name in ("env_steps", "updates", "episodes") if clocks.get(name)]
    return [*found, (f"{record['overhead_share']:.1%}", "cost of measuring")]
