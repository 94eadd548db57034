"""A machine's limits on one page: bandwidth by size, libraries beside the hardware's own arithmetic, the cost of one of everything."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Page
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from hotloop.records.files import write_atomically
from hotloop.report.limits import KINDS, LIBRARY_COPY, Figure, Record, amount, bytes_word, circumstances, headline, is_of, most_threads, threads_word
from hotloop.report.palette import PHASE_COLOURS, QUIET
from hotloop.report.plots import PAPER, RULES, STYLE

COLOURS = {"copy": PHASE_COLOURS["act"], "fill": PHASE_COLOURS["learn"], "read": PHASE_COLOURS["step"]}
TYPE_COLOURS = {"float32": PHASE_COLOURS["act"], "bfloat16": PHASE_COLOURS["learn"], "float64": PHASE_COLOURS["reset"]}
LEFT, RIGHT = 0.065, 0.965


def plot_limits(record: Record, path: Path) -> None:
    """Draw the record as one PNG."""
    with matplotlib.rc_context(STYLE):
        page = draw(record)
        picture = io.BytesIO()
        page.savefig(picture, format="png", dpi=130, facecolor=PAPER)
    write_atomically(path, picture.getvalue())


def draw(record: Record) -> Page:
    page = Page(figsize=(12, 12.5))
    FigureCanvasAgg(page)
    page.text(LEFT, 0.96, "What this machine can do", fontsize=19, fontweight="bold", va="baseline")
    page.text(LEFT, 0.937, headline(record), fontsize=10.5, color=QUIET, va="baseline")
    bandwidth(page.add_axes((LEFT, 0.585, RIGHT - LEFT, 0.3)), record)
    arithmetic(page.add_axes((0.265, 0.045, 0.255, 0.435)), record)  # room for the names at the left
    costs(page.add_axes((0.745, 0.045, RIGHT - 0.745, 0.435)), record)
    return page


def bandwidth(axes: Axes, record: Record) -> None:
    """A line for each way of moving bytes; one thread solid, all of them dashed, the C library dotted."""
    head(axes, "memory", "GB a second by how many bytes; a byte copied counts once", lines="y")
    memory = [figure for figure in record["figures"] if figure["group"] == "memory"]
    for kind in KINDS:
        for threads, style in ((1, "-"), (most_threads(record), "--")):
            curve = best_by_size([figure for figure in memory if is_of(figure["name"], kind, False) and figure["at"]["threads"] == threads])
            axes.plot(list(curve), [value / 1e9 for value in curve.values()], style, color=COLOURS[kind], linewidth=2, label=f"{kind}, {threads_word(threads)}")
    library = best_by_size([figure for figure in memory if figure["name"] == LIBRARY_COPY])
    axes.plot(list(library), [value / 1e9 for value in library.values()], ":", color=COLOURS["copy"], linewidth=2, label=LIBRARY_COPY)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    sizes = sorted({figure["at"]["bytes"] for figure in memory})
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: bytes_word(int(size))))
    axes.yaxis.set_major_locator(FixedLocator([10, 20, 50, 100, 200, 500, 1000, 2000, 5000]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.legend(frameon=False, ncols=2, fontsize=9, labelcolor=QUIET)


def best_by_size(figures: Sequence[Figure]) -> dict[int, float]:
    curve: dict[int, float] = {}
    for figure in sorted(figures, key=lambda figure: int(figure["at"]["bytes"])):
        curve[figure["at"]["bytes"]] = max(curve.get(figure["at"]["bytes"], 0.0), figure["best"])
    return curve


def arithmetic(axes: Axes, record: Record) -> None:
    """Bars of one thread, pale ones of all behind them; a line where the bare loop of the same type ends."""
    head(axes, "arithmetic", "G operations a second on one thread; pale: on all; dotted: the bare loop")
    figures = [figure for figure in record["figures"] if figure["group"] == "arithmetic" and "dtype" in figure["at"]]
    bars = list(dict.fromkeys(bar_of(figure) for figure in figures))
    for place, bar in enumerate(bars):
        speeds = {figure["at"]["threads"]: figure["best"] / 1e9 for figure in figures if bar_of(figure) == bar}
        for threads, speed in sorted(speeds.items(), reverse=True):
            axes.barh(place, speed, color=colour_of(bar[1]), alpha=1.0 if threads == 1 else 0.3, height=0.7)
        axes.text(max(speeds.values()), place, "  " + " · ".join(f"{speed:.0f}" for _, speed in sorted(speeds.items())), va="center", fontsize=8, color=QUIET)
    for figure in figures:
        if figure["name"] == "bare" and figure["at"]["threads"] == 1:
            axes.axvline(figure["best"] / 1e9, color=colour_of(figure["at"]["dtype"]), linewidth=1, linestyle=":", zorder=0)
    for dtype in dict.fromkeys(dtype for _, dtype in bars):
        axes.barh(0, 0, color=colour_of(dtype), label=dtype)
    axes.legend(frameon=False, fontsize=9, labelcolor=QUIET, loc="upper right", bbox_to_anchor=(1, 0.87))  # beside small products, which are slow
    axes.margins(x=0.2)
    list_names(axes, [name for name, _ in bars])


def bar_of(figure: Figure) -> tuple[str, str]:
    """What a bar is called, and its type."""
    name = "bare loop" if figure["name"] == "bare" else figure["name"]
    return f"{figure['at'].get('shape', '')}  {name}".strip(), figure["at"]["dtype"]


def colour_of(dtype: str) -> str:
    return TYPE_COLOURS.get(dtype, QUIET)


def costs(axes: Axes, record: Record) -> None:
    """What is done one at a time, on a scale of powers of ten."""
    head(axes, "one at a time", "the best, logarithmic; the dot: the median")
    figures = [figure for figure in record["figures"] if figure["unit"] == "s"]
    for place, figure in enumerate(figures):
        axes.barh(place, figure["best"] * 1e9, color=PHASE_COLOURS["step"], height=0.7)
        axes.plot(figure["median"] * 1e9, place, "o", color=PHASE_COLOURS["learn"], markersize=3.5)
        axes.text(max(figure["best"], figure["median"]) * 1e9 * 1.5, place, amount(figure["best"], "s"), va="center", fontsize=8, color=QUIET)
    axes.set_xscale("log")
    axes.set_xlim(left=1, right=max((figure["median"] for figure in figures), default=1e-6) * 1e9 * 30)
    axes.xaxis.set_major_locator(FixedLocator([1, 1e3, 1e6, 1e9]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: amount(value / 1e9, "s")))
    list_names(axes, [" ".join(filter(None, (figure["name"], circumstances(figure["at"])))) for figure in figures])


def list_names(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)


def head(axes: Axes, title: str, explanation: str, lines: Literal["x", "y"] = "x") -> None:
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold", pad=22)
    axes.annotate(explanation, (0, 1), xycoords="axes fraction", xytext=(0, 8), textcoords="offset points", fontsize=9, color=QUIET)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.grid(axis=lines, color=RULES, linewidth=0.8)
    axes.spines[["top", "right", "left"]].set_visible(False)


