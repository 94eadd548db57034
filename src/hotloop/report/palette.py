"""Colours: a phase has the same one in the terminal, in the plots and on every page."""

from __future__ import annotations

PHASE_COLOURS = {
    "reset": "#8c96a8",
    "act": "#4c8dd6",
    "step": "#3fa796",
    "store": "#8cc152",
    "sample": "#d4a72c",
    "learn": "#e8743b",
    "sync": "#d9486e",
    "evaluate": "#a56cc1",
    "log": "#7a6ff0",
    "save": "#b08968",
    "glue": "#5c6370",
}

ENDING_COLOURS = ("#e8743b", "#4c8dd6", "#3fa796", "#d4a72c", "#a56cc1", "#d9486e", "#8cc152", "#8c96a8")

ACCENT = "#3fa796"  # what matters most on a page: the score
QUIET = "#8c96a8"  # labels


def ending_colour(number: int) -> str:
    """The colour of the n-th ending, in the order the env names them."""
    return ENDING_COLOURS[number % len(ENDING_COLOURS)]
