"""Plots: a whole run on one page: score, speed, loss, how episodes ended, where the time went."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

from hotloop.records.files import write_atomically
from hotloop.records.phases import ALL_PHASES
from hotloop.records.run import Run
from hotloop.report.numbers import clock, percent, short
from hotloop.report.palette import ACCENT, PHASE_COLOURS, QUIET, ending_colour
from hotloop.report.series import Array, Record, column, shares, smooth

INK, PAPER, RULES = "#2b303b", "#ffffff", "#e6e9ef"
LEFT, RIGHT = 0.065, 0.975  # the edges of the page
STYLE: Any = {
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": QUIET,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "axes.edgecolor": RULES,
    "grid.color": RULES,
}


def plot_run(run: Run, path: Path) -> None:
    """Draw the run as one PNG; a run without records gets an empty page that says so."""
    with matplotlib.rc_context(STYLE):
        figure = _draw(run, run.metrics())
        picture = io.BytesIO()
        figure.savefig(picture, format="png", dpi=130, facecolor=PAPER)
    write_atomically(path, picture.getvalue())


def _draw(run: Run, records: Sequence[Record]) -> Figure:
    figure = Figure(figsize=(12, 11))
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(3, 2, left=LEFT, right=0.89, top=0.88, bottom=0.055, hspace=0.38, wspace=0.4, height_ratios=[1.25, 1, 1])
    _head(figure, run, records)
    _score(figure.add_subplot(grid[0, :]), records)
    _speed(figure.add_subplot(grid[1, 0]), records)
    _loss(figure.add_subplot(grid[1, 1]), records)
    _endings(figure.add_subplot(grid[2, 0]), records)
    _phases(figure.add_subplot(grid[2, 1]), records)
    return figure


def _head(figure: Figure, run: Run, records: Sequence[Record]) -> None:
    last: Mapping[str, Any] = records[-1] if records else {}
    about, machine = run.about, run.machine
    state = run.status if not about.get("why") else f"{run.status} ({about['why']})"
    counts = "nothing recorded yet"
    if records:
        counted = ", ".join(f"{short(last.get(name))} {name}" for name in ("steps", "updates", "episodes"))
        counts = f"{counted} in {clock(last.get('seconds'))}"
    where = " · ".join(str(part) for part in [machine.get("cpu"), *(gpu["name"] for gpu in machine.get("gpus", []))] if part)
    figure.text(LEFT, 0.955, run.name, fontsize=19, fontweight="bold", va="baseline")
    figure.text(RIGHT, 0.955, run.folder.name, fontsize=10, color=QUIET, ha="right", va="baseline")
    figure.text(LEFT, 0.928, f"{counts} · {state}", fontsize=10.5, color=QUIET, va="baseline")
    figure.text(RIGHT, 0.928, where, fontsize=10, color=QUIET, ha="right", va="baseline")


def _score(axes: Axes, records: Sequence[Record]) -> None:
    _prepare(axes, "score", "mean of the episodes that ended in a block, and smoothed", "steps")
    score = column(records, "score_mean")
    _line(axes, column(records, "steps"), score, ACCENT, dots=True, nothing="no episode has ended")
    best = column(records, "best_score")
    if np.isfinite(best).any():
        axes.text(0.995, 0.04, f"best single episode {short(float(np.nanmax(best)))}", transform=axes.transAxes, ha="right", color=QUIET)


def _speed(axes: Axes, records: Sequence[Record]) -> None:
    _prepare(axes, "steps per second", "of each block, never cumulative", "seconds")
    seconds, speed = column(records, "seconds"), column(records, "steps_per_second")
    _tick_times(axes, seconds)
    _line(axes, seconds, speed, PHASE_COLOURS["act"], nothing="not measured")
    if np.isfinite(speed).any():
        axes.set_ylim(bottom=0, top=float(np.nanmax(speed)) * 1.15 or 1)


def _loss(axes: Axes, records: Sequence[Record]) -> None:
    loss = column(records, "loss")
    positive = loss[loss > 0]
    steep = len(positive) == np.isfinite(loss).sum() > 0 and positive.max() > 30 * positive.min()
    _prepare(axes, "loss", "mean of each block, logarithmic" if steep else "mean of each block", "steps")
    if steep:
        axes.set_yscale("log")
    _line(axes, column(records, "steps"), loss, PHASE_COLOURS["learn"], nothing="nothing has been learnt")


def _endings(axes: Axes, records: Sequence[Record]) -> None:
    _prepare(axes, "how episodes ended", "share of the episodes", "steps")
    places, parts = shares(records, "endings", at="steps")
    colours = [ending_colour(number) for number in range(len(parts))]
    _stack(axes, places, parts, colours, "no episode has ended")


def _phases(axes: Axes, records: Sequence[Record]) -> None:
    _prepare(axes, "where the time went", "share of the wall time", "seconds")
    places, parts = shares(records, "phases", at="seconds")
    ordered = {name: parts[name] for name in (*ALL_PHASES, *parts) if name in parts and parts[name].any()}
    _tick_times(axes, places)
    _stack(axes, places, ordered, [PHASE_COLOURS.get(name, QUIET) for name in ordered], "not measured")


def _line(axes: Axes, x: Array, values: Array, colour: str, nothing: str, dots: bool = False) -> None:
    """What was measured, pale, with a smooth line through it that says its last value at its end."""
    known = np.isfinite(values)
    if not known.any():
        _empty(axes, nothing)
        return
    x, line, values = x[known], smooth(values)[known], values[known]
    if dots:
        axes.plot(x, values, ".", color=colour, alpha=0.35, markersize=5, markeredgewidth=0)
    else:
        axes.plot(x, values, color=colour, linewidth=1.0, alpha=0.4)
    axes.plot(x, line, "o" if len(x) == 1 else "-", color=colour, linewidth=2.3, solid_capstyle="round")
    axes.annotate(short(float(line[-1])), (x[-1], line[-1]), xytext=(7, 0), textcoords="offset points", va="center", color=colour, fontweight="bold")
    axes.set_xlim(left=0)


def _stack(axes: Axes, places: Array, parts: Mapping[str, Array], colours: Sequence[str], nothing: str) -> None:
    """Areas that add up to one, each with its name at the right where it is thick enough to be read."""
    if len(places) == 0:
        _empty(axes, nothing)
        return
    if len(places) == 1:  # an area needs two ends
        places = np.array([0.0, places[0]])
        parts = {name: np.repeat(part, 2) for name, part in parts.items()}
    axes.stackplot(places, *parts.values(), colors=colours, linewidth=0.6, edgecolor=PAPER)
    axes.set_xlim(places[0], places[-1])
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f} %"))
    bottom, lowest = 0.0, 0.03
    for (name, part), colour in zip(parts.items(), colours, strict=True):
        share = float(part[-max(1, len(part) // 10) :].mean())  # of the last tenth of the run
        height = max(bottom + share / 2, lowest)
        bottom += share
        if share >= 0.005 and height <= 1.05:
            text = f"{name} {percent(share)}"
            axes.text(1.015, height, text, transform=axes.get_yaxis_transform(), color=colour, va="center", fontsize=9.5, fontweight="bold")
            lowest = height + 0.075  # labels keep their distance


def _prepare(axes: Axes, title: str, explanation: str, x: str) -> None:
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold", pad=9)
    axes.set_title(explanation, loc="right", fontsize=9, color=QUIET, pad=9)
    axes.set_xlabel(x, fontsize=9)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: clock(value) if x == "seconds" else _round(value)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _round(value)))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.grid(axis="y", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.margins(x=0.01)


def _tick_times(axes: Axes, seconds: Array) -> None:
    """At most six ticks, at times that clocks show."""
    longest = float(seconds.max()) if len(seconds) else 1.0
    steps = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400)
    axes.xaxis.set_major_locator(MultipleLocator(next((step for step in steps if longest / step <= 6), longest / 6)))


def _round(value: float) -> str:
    """A number at an axis, which is round: `1 M`, not `1.00 M`."""
    number, space, letter = short(value).partition(" ")
    return (number.rstrip("0").rstrip(".") if "." in number else number) + space + letter


def _empty(axes: Axes, why: str) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center", color=QUIET)
