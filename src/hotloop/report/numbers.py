"""Numbers as people read them: `1.24 M`, `0:37`, and a history as a sparkline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

BARS = "▁▂▃▄▅▆▇█"
EIGHTHS = " ▏▎▍▌▋▊▉"


def short(number: float | None) -> str:
    """Three digits and a letter: `950`, `12.4 k`, `1.03 M`, `2.8 G`."""
    if number is None or not math.isfinite(number):
        return "–"
    size = abs(number)
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= limit * 0.9995:  # so that 999 960 becomes 1.00 M and not 1000 k
            return f"{_three_digits(number / limit)} {letter}"
    if float(number).is_integer():
        return str(int(number))
    return _three_digits(number)


def clock(seconds: float | None) -> str:
    """`0:37`, `12:05`, `3:07:00`."""
    if seconds is None or not math.isfinite(seconds):
        return "–:––"
    minutes, whole_seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{whole_seconds:02}" if hours else f"{minutes}:{whole_seconds:02}"


def percent(share: float) -> str:
    """`42 %`; never `0 %` for what did happen, nor `100 %` for what was not quite all."""
    if 0 < share <= 0.005:
        return "<1 %"
    if 0.995 <= share < 1:
        return ">99 %"
    return f"{100 * share:.0f} %"


def sparkline(history: Sequence[float | None], width: int) -> str:
    """The history in one line of at most `width` characters, lowest to highest; gaps are left out."""
    known = [value for value in history if value is not None and math.isfinite(value)]
    if not known or width < 1:
        return ""
    count = min(width, len(known))
    edges = [place * len(known) // count for place in range(count + 1)]
    points = [sum(known[start:end]) / (end - start) for start, end in pairwise(edges)]
    low, high = min(points), max(points)
    if high == low:
        return BARS[0] * count
    return "".join(BARS[round((point - low) / (high - low) * (len(BARS) - 1))] for point in points)


def bar(share: float, width: int) -> str:
    """A horizontal bar, precise to an eighth of a character, without the empty rest."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def _three_digits(number: float) -> str:
    size = abs(number)
    if size < 0.9995:
        return f"{number:.3g}"
    decimals = 2 if size < 9.995 else 1 if size < 99.95 else 0
    return f"{number:.{decimals}f}"
