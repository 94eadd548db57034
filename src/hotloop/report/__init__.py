"""Numbers to pages: the live display, tables, plots and animations. Computes nothing that a run has not recorded.

A name is imported when it is first used, so that a training run does not wait for the plotting library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hotloop.report.animation import save_animation, to_text
    from hotloop.report.live import Live
    from hotloop.report.phases import phase_table
    from hotloop.report.plots import plot_run

_HOMES = {"Live": "live", "phase_table": "phases", "plot_run": "plots", "save_animation": "animation", "to_text": "animation"}

__all__ = ["Live", "phase_table", "plot_run", "save_animation", "to_text"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
