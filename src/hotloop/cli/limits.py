"""hotloop limits: what this machine can do at best, measured once and kept."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hotloop.cli.errors import FINE, UsageError, say
from hotloop.cli.flags import Flag, parse

if TYPE_CHECKING:
    from rich.console import Console

    from hotloop.lab.roofs.arithmetic import Shape

ABOUT = """What this machine can do at best: memory, arithmetic, calls, processes, disk, GPU. Measured once, in half a minute, and kept in the cache folder.

  hotloop limits
  hotloop limits --fresh --plot limits.png
  hotloop limits --shapes 32x24x128 256x512x512

A profile compares every phase with these. Close what else is running: a busy machine looks slower than it is. Libraries' speeds depend on the
environment (OMP_…, OPENBLAS_…); what is set there is said, never changed."""

FLAGS = [
    Flag("fresh", bool, False, "measure again, whatever is kept"),
    Flag("quick", bool, False, "fewer sizes and shorter looks, in some ten seconds; what is kept will do if there is anything"),
    Flag("shapes", tuple[str, ...], (), "matrix products to measure besides the usual ones, each ROWSxINNERxCOLUMNS"),
    Flag("plot", Path | None, None, "draw it as a PNG in this file"),
    Flag("json", bool, False, "print the record as JSON and nothing else"),
]


def limits(arguments: list[str]) -> int:
    options = parse("limits", ABOUT, {"limits": FLAGS}, arguments)
    asked = [shape_of(text) for text in options.get("shapes", ())]
    plot = options.get("plot")
    if plot is not None and plot.suffix.lower() != ".png":
        raise UsageError(f"expected a file that ends in .png, found {plot}; try --plot limits.png")
    from hotloop.lab.roofs.sanity import steered
    from hotloop.records.machine import machine

    facts = machine()
    record = None if options.get("fresh") else kept(facts, asked, quick=options.get("quick", False))
    is_kept = record is not None
    if record is None:
        record = measured(asked, options.get("quick", False), console_for(options.get("json", False)))
    remarks = steered(record, facts["environment"] if is_kept else None)
    show(record, remarks, options)
    return FINE


def kept(facts: dict[str, Any], asked: Sequence[Shape], *, quick: bool) -> dict[str, Any] | None:
    """What was measured before, where it answers what is asked now."""
    from hotloop.lab.roofs.known import cached

    record, why = cached(facts)
    if why:
        say(f"{why}; measuring again")
    if record is None or (record.get("quick") and not quick):
        return None
    known = {figure["at"].get("shape") for figure in record["figures"]}
    return record if all(str(shape) in known for shape in asked) else None


def measured(asked: Sequence[Shape], quick: bool, console: Console) -> dict[str, Any]:
    """Measure, with what is looked at shown meanwhile, and keep it; a folder that cannot be written costs only the keeping."""
    from rich.progress import BarColumn, Progress, TextColumn

    from hotloop.lab.roofs.arithmetic import SHAPES
    from hotloop.lab.roofs.known import keep
    from hotloop.lab.roofs.measure import measure
    from hotloop.records.files import RunError

    columns = BarColumn(24), TextColumn("{task.description}")
    # Drawn between two looks and never beside one: a display that draws by itself would be measured with the machine.
    with Progress(*columns, console=console, transient=True, auto_refresh=False, disable=not console.is_terminal) as progress:
        task = progress.add_task("")
        record = measure(
            tuple(dict.fromkeys((*SHAPES, *asked))),
            quick=quick,
            tell=lambda what, done, total: progress.update(task, description=what, completed=done, total=total, refresh=True),
        )
    try:
        keep(record)
    except RunError as error:
        say(f"{error}. The limits are not kept")
    return record


def show(record: dict[str, Any], remarks: Sequence[str], options: dict[str, Any]) -> None:
    if options.get("json"):
        print(json.dumps(record))
    else:
        from hotloop.report.limits import limits_table

        console_for(False).print(limits_table(record, remarks))
    if options.get("plot"):
        from hotloop.report.limits_plot import plot_limits

        plot_limits(record, options["plot"])


def shape_of(text: str) -> Shape:
    from hotloop.lab.roofs.arithmetic import Shape

    found = re.fullmatch(r"([1-9]\d{0,4})[x×]([1-9]\d{0,4})[x×]([1-9]\d{0,4})", text)
    if found is None:
        raise UsageError(f"expected a shape ROWSxINNERxCOLUMNS, found {text!r}; try --shapes 256x128x128")
    return Shape(*map(int, found.groups()))


def console_for(as_json: bool) -> Console:
    """The terminal; where a program reads the record, progress goes to standard error."""
    from rich.console import Console

    return Console(stderr=as_json, highlight=False)
