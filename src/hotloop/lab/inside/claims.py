"""Claims: the speeds a script tells by itself, and whether they are what they seem.

In the script's process `Claims` overhears what is written to its streams: `SPS: 1234`, `| fps | 1234 |`, `99.1it/s`. Afterwards `judge_claims` asks which
formula explains the told numbers: work over time since the last telling, which is a speed; all work over all time, which lags behind; all work over the last
moment's time, which rises for ever.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

MOST = 1000
LONGEST_LINE = 2000  # characters of it that are looked at
KEPT = 80  # characters of it that are kept

NUMBER = r"(\d[\d,_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\s?([kKM]?)"
PLAIN = r"(\d[\d,_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)"
THING = r"(?:env(?:ironment)?[ _]?)?(step|frame|iter(?:ation)?|it|sample|experience|exp|transition|update|episode|ep|batch|game)(?:es|s)?"
HINTS = re.compile(r"fps|sps|/\s?s|per[ _]s|s/it|ups\b", re.IGNORECASE)
FORMS = (
    re.compile(rf"\b(fps|sps|ups)\b\s*[|:=]?\s*{NUMBER}", re.IGNORECASE),
    re.compile(rf"\b{THING}(?:[ _]?per[ _]?|/)s(?:ec(?:ond)?s?)?\b\s*[|:=]\s*{NUMBER}", re.IGNORECASE),
)
AFTER = re.compile(rf"{NUMBER}\s*{THING}\s*(?:/\s?s|per[ _]s)(?:ec(?:ond)?)?\b", re.IGNORECASE)
FPS_AFTER = re.compile(rf"{NUMBER}\s*(fps|sps)\b(?!\s*[|:=])", re.IGNORECASE)
SECONDS_EACH = re.compile(rf"{PLAIN}\s?s(?:ec)?/{THING}\b", re.IGNORECASE)
UNITS = {"exp": "experience", "ep": "episode", "it": "iteration", "iter": "iteration", "game": "episode"}
TIMES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6}


def speeds_in(line: str) -> list[tuple[str, float]]:
    """(unit, how many a second) for every speed a line tells."""
    if not HINTS.search(line):
        return []
    found = [(match[1], _number(match[2], match[3])) for form in FORMS for match in form.finditer(line)]
    if not found:
        found = [(match[3], _number(match[1], match[2])) for form in (AFTER, FPS_AFTER) for match in form.finditer(line)]
    found += [(match[2], 1 / _number(match[1])) for match in SECONDS_EACH.finditer(line) if _number(match[1]) > 0]
    return [(UNITS.get(unit.lower(), unit.lower()), value) for unit, value in found]


def _number(digits: str, letter: str = "") -> float:
    return float(digits.replace(",", "").replace("_", "")) * TIMES[letter]


class Claims:
    """Overhears a stream; what is written goes where it went before. `counts` gives env steps, updates and episodes so far."""

    def __init__(self, counts: Callable[[], tuple[int, int, int]], began: float, clock: Callable[[], float] = time.perf_counter) -> None:
        self.told: list[dict[str, Any]] = []
        self._counts, self.began, self._clock = counts, began, clock
        self._every, self._heard = 1, 0
        self._attached: list[Any] = []

    def attach(self, *streams: Any) -> None:
        """The stream stays the object it is; its `write` is looked up on it first. One that does not bear that is left alone."""
        for stream in streams:
            try:
                stream.write = self._overhearing(stream.write)
            except Exception:  # no stream at all, or one without room for an attribute
                continue
            self._attached.append(stream)

    def detach(self) -> None:
        for stream in self._attached:
            stream.__dict__.pop("write", None)
        self._attached.clear()

    def as_data(self) -> list[dict[str, Any]]:
        return list(self.told)

    def _overhearing(self, write: Callable[[str], Any]) -> Callable[[str], Any]:
        unfinished: list[str] = []

        def overheard(text: str, /) -> Any:
            written = write(text)
            try:
                unfinished.append(text)
                if "\n" in text or "\r" in text or len(unfinished) > 100:
                    lines = "".join(unfinished)
                    unfinished.clear()
                    self._hear(lines)
            except Exception:  # never the script's business
                unfinished.clear()
            return written

        return overheard

    def _hear(self, lines: str) -> None:
        if HINTS.search(lines, 0, LONGEST_LINE) is None:
            return
        for line in re.split(r"[\r\n]+", lines[:LONGEST_LINE]):
            for unit, value in speeds_in(line):
                self._keep(unit, value, line)

    def _keep(self, unit: str, value: float, line: str) -> None:
        """Every one, then every second, every fourth … so that a long run is known from end to end."""
        self._heard += 1
        if self._heard % self._every:
            return
        env_steps, updates, episodes = self._counts()
        when = {"seconds": self._clock() - self.began, "env_steps": env_steps, "updates": updates, "episodes": episodes}
        self.told.append({**when, "unit": unit, "value": value, "text": line.strip()[:KEPT]})
        if len(self.told) >= MOST:
            del self.told[::2]
            self._every *= 2


def judge_claims(claims: Sequence[Mapping[str, Any]], blocks: Mapping[str, Any] | None) -> dict[str, Any]:
    """{"verdict": "right" | "cumulative" | "trimmed" | "unclear" | "none", "unit", "counts", "explanation", …}.

    Of the unit that was told most often. A telling's own time and counts say what the true speed was, so `blocks` is only asked when the first step was made.
    """
    if not claims:
        return {"verdict": "none", "unit": None, "counts": None, "explanation": "the script tells no speed"}
    from hotloop.lab.drift.claims import judged

    return judged(claims, blocks)
