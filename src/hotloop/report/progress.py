"""Progress: what a display needs to know of a run so far, kept small however long it lasts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from hotloop.records.phases import ALL_PHASES

WINDOW = 20  # blocks looked back at for shares and the time left: about ten seconds
HISTORY = 512  # points kept of the score


class Progress:
    """The budget, the last record, a window of recent ones, and the score's whole history at falling resolution."""

    def __init__(self, budget: Mapping[str, float | None]) -> None:
        self.budget = {name: limit for name, limit in budget.items() if limit}
        self.record: Mapping[str, Any] = {}
        self.scores: list[float] = []
        self._recent: deque[Mapping[str, Any]] = deque(maxlen=WINDOW)
        self._pending: list[float] = []  # scores waiting to become one point of the history
        self._scores_per_point = 1

    def add(self, record: Mapping[str, Any]) -> None:
        """Take in the record of one block."""
        self.record = record
        self._recent.append(record)
        score = record.get("score_mean")
        if score is not None:
            self._add_score(score)

    @property
    def fraction(self) -> float | None:
        """How much of the budget is spent, by whichever limit is nearest; None where there is no limit."""
        return self._fraction_at(self.record)

    @property
    def seconds_left(self) -> float | None:
        """At the pace of the recent blocks, so a slow start or a resumed run does not mislead."""
        if len(self._recent) < 2 or not self.budget:
            return None
        spent = (self.fraction or 0.0) - (self._fraction_at(self._recent[0]) or 0.0)
        seconds = float(self.record.get("seconds", 0.0)) - float(self._recent[0].get("seconds", 0.0))
        if spent <= 0:
            return None
        return max(0.0, seconds * (1 - (self.fraction or 0.0)) / spent)

    @property
    def score(self) -> float | None:
        """The mean score of the latest block in which an episode ended."""
        known: list[float] = [record["score_mean"] for record in self._recent if record.get("score_mean") is not None]
        return known[-1] if known else (self.scores[-1] if self.scores else None)

    def ending_shares(self) -> dict[str, float]:
        """How the recent episodes ended."""
        return _shares(record.get("endings") or {} for record in self._recent)

    def phase_shares(self) -> dict[str, float]:
        """Where the recent time went, in the order of the phases."""
        shares = _shares(record.get("phases") or {} for record in self._recent)
        return {name: shares[name] for name in (*ALL_PHASES, *shares) if name in shares}

    def _fraction_at(self, record: Mapping[str, Any]) -> float | None:
        spent = [float(record.get(name) or 0) / limit for name, limit in self.budget.items()]
        return min(1.0, max(spent)) if spent else None

    def _add_score(self, score: float) -> None:
        self._pending.append(score)
        if len(self._pending) < self._scores_per_point:
            return
        self.scores.append(sum(self._pending) / len(self._pending))
        self._pending.clear()
        if len(self.scores) == HISTORY:
            self.scores = [(self.scores[place] + self.scores[place + 1]) / 2 for place in range(0, HISTORY, 2)]
            self._scores_per_point *= 2


def _shares(amounts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """What part of the whole each name has; all zero where the whole is nothing."""
    totals: dict[str, float] = {}
    for amount in amounts:
        for name, value in amount.items():
            totals[name] = totals.get(name, 0) + value
    whole = sum(totals.values())
    return {name: total / whole if whole else 0.0 for name, total in totals.items()}
