"""Count phases: to which phase a count belongs, by the rules that time is shared out by.

What was counted between two events waits for the next one, as time does: account.py says whose the pair is. What was counted in a forward pass
waits until something is done with it: a step makes it acting, learning makes it learning.
"""

from __future__ import annotations

from collections.abc import Hashable

from hotloop.lab.account import owner
from hotloop.lab.inside.events import ACT, FORWARD, KINDS, LEARN, NOWHERE, SAMPLE, STEP

Counts = dict[Hashable, float]


class PhaseCounts:
    """`enter` a kind of event (or NOWHERE) and count into what it gives, until the next."""

    def __init__(self, before: int = STEP) -> None:
        self._by_name: dict[str, Counts] = {}
        self._gaps: dict[int, Counts] = {}  # between events, by what was before: the keys of one hardly are those of another
        self._forward: Counts = {}
        self._kind, self._before, self._after = NOWHERE, before, before  # `_after`: whose gap is open, FORWARD's included
        self._waiting = False

    def enter(self, kind: int) -> Counts:
        """An event begins, or the last one has ended."""
        former, self._kind = self._kind, kind
        if former not in (NOWHERE, FORWARD):
            self._before = self._after = former
        if kind == NOWHERE:
            self._after = FORWARD if former == FORWARD else self._after
            return self._gaps.setdefault(self._after, {})
        if kind == FORWARD:
            if self._waiting:
                move(self._gaps.get(FORWARD, {}), self._forward)
            self._waiting = True
            return self._forward
        if former in (NOWHERE, FORWARD):
            self._settle(kind)
        return self._of(KINDS[kind])

    def by_phase(self) -> dict[str, Counts]:
        """All that was counted, each count in a phase or in the glue."""
        self._settle(ACT if self._waiting else self._before)
        return {name: {key: value for key, value in counts.items() if value} for name, counts in list(self._by_name.items())}

    def _settle(self, kind: int) -> None:
        """The gap that is open leads to this kind; forward passes that waited were learning or acting all along."""
        if not self._waiting:
            self._close(self._before, self._before, kind)
            return
        settled = LEARN if kind in (LEARN, SAMPLE) else ACT
        self._close(self._before, self._before, settled)
        move(self._forward, self._of(KINDS[settled]))
        self._before, self._waiting = settled, False
        self._close(FORWARD, settled, kind)

    def _close(self, gap: int, before: int, after: int) -> None:
        if gap in self._gaps:
            move(self._gaps[gap], self._of(owner(f"{KINDS[before]}>{KINDS[after]}")))

    def _of(self, name: str) -> Counts:
        return self._by_name.setdefault(name, {})


def move(counts: Counts, to: Counts) -> None:
    """Add up, and begin again from zero; the keys stay, because a key that is known is counted faster."""
    for key, value in counts.items():
        if value:
            to[key] = to.get(key, 0) + value
            counts[key] = 0
