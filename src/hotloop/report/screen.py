"""The screen: a run so far, drawn as lines of coloured text.

Drawn straight into rich's segments rather than through its tables: a frame is drawn by the training thread, and costs it a
fraction of a millisecond this way (`tests/report/test_live.py` holds it to the limit).
"""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style

from hotloop.report.numbers import bar, clock, percent, short, sparkline
from hotloop.report.palette import ACCENT, ENDING_COLOURS, PHASE_COLOURS, QUIET, ending_colour
from hotloop.report.progress import Progress

Line = list[Segment]

WIDEST = 100  # a wider terminal stays empty at the right: long lines are hard to read
LABEL = 10
PLAIN, BOLD, LABELS, EMPTY = Style.null(), Style(bold=True), Style(color=QUIET), Style(color=QUIET, dim=True)
SCORE, SCORE_BOLD = Style(color=ACCENT), Style(color=ACCENT, bold=True)
PHASE_STYLES = {name: Style(color=colour) for name, colour in PHASE_COLOURS.items()}
ENDING_STYLES = {colour: Style(color=colour) for colour in ENDING_COLOURS}


class Screen:
    """What rich's Live shows; set `footer` to say what is going on besides training."""

    def __init__(self, title: str, folder: str, progress: Progress) -> None:
        self.title = title
        self.folder = folder
        self.progress = progress
        self.footer = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.lines(min(options.max_width, WIDEST), console.height):
            yield from Segment.adjust_line_length(line, options.max_width, pad=False)
            yield Segment.line()

    def lines(self, width: int, height: int) -> list[Line]:
        """The whole frame; on a low terminal the smallest phases are left out."""
        lines = [
            self._header(width),
            self._budget(width),
            [],
            self._score(width),
            self._endings(),
            [],
            *self._numbers(width),
            [],
        ]
        lines += self._phases(width, rows=height - len(lines) - 2)
        if self.footer:
            lines.append([Segment("  " + self.footer, LABELS)])
        return lines

    def _header(self, width: int) -> Line:
        gap = width - len(self.title) - len(self.folder) - 3
        if gap < 2:
            return [Segment("  " + self.title, BOLD)]
        return [Segment("  " + self.title, BOLD), Segment(" " * gap), Segment(self.folder, LABELS)]

    def _budget(self, width: int) -> Line:
        fraction, seconds = self.progress.fraction, self.progress.record.get("seconds")
        if fraction is None:
            return [_label("time"), Segment(clock(seconds), PLAIN)]
        text = f"  {percent(fraction):>5}   {clock(seconds)}   ETA {clock(self.progress.seconds_left)}"
        room = max(8, width - len(text) - 3)
        full = round(fraction * room)
        return [Segment("  "), Segment("━" * full, SCORE), Segment("─" * (room - full), EMPTY), Segment(text, PLAIN)]

    def _score(self, width: int) -> Line:
        best = f"  best {short(self.progress.record.get('best_score'))}"
        line = sparkline(self.progress.scores, min(60, width - LABEL - 8 - len(best) - 3))
        return [_label("score"), Segment(f"{short(self.progress.score):<8}", SCORE_BOLD), Segment(line, SCORE), Segment(best, LABELS)]

    def _endings(self) -> Line:
        line = [_label("endings")]
        for number, (name, share) in enumerate(self.progress.ending_shares().items()):
            if share > 0:
                line.append(Segment(f"{name} ", LABELS))
                line.append(Segment(f"{percent(share)}   ", ENDING_STYLES[ending_colour(number)]))
        return line if len(line) > 1 else [_label("endings"), Segment("no episode has ended yet", EMPTY)]

    def _numbers(self, width: int) -> list[Line]:
        record = self.progress.record
        memory = record.get("memory_mb")
        steps = ("steps", f"{short(record.get('steps')):<8} {short(record.get('steps_per_second'))}/s")
        updates = ("updates", f"{short(record.get('updates')):<8} {short(record.get('updates_per_second'))}/s")
        episodes = ("episodes", short(record.get("episodes")))
        held = ("memory", "–" if memory is None else f"{memory:.0f} MB")
        epsilon, loss = ("ε", short(record.get("epsilon"))), ("loss", short(record.get("loss")))
        if width >= 80:
            return [_row(steps, episodes, epsilon), _row(updates, held, loss)]
        return [_row(steps, episodes), _row(updates, held), _row(epsilon, loss)]

    def _phases(self, width: int, rows: int) -> list[Line]:
        shares = self.progress.phase_shares()
        shown = sorted((name for name, share in shares.items() if share > 0), key=lambda name: -shares[name])[: max(rows, 0)]
        room = width - LABEL - 10
        lines = []
        for name in shares:
            if name in shown:
                drawn = bar(shares[name], room)
                colour = PHASE_STYLES.get(name, PLAIN)
                lines.append([_label(name), Segment(drawn or "▏", colour), Segment(f" {percent(shares[name])}", PLAIN)])
        return lines


def _row(*cells: tuple[str, str]) -> Line:
    """Names and values side by side; the first column is wide enough for a rate."""
    line: Line = []
    for (name, value), room in zip(cells, (24, 12, 12), strict=False):
        line += [_label(name), Segment(f"{value:<{room}}", PLAIN)]
    return line


def _label(name: str) -> Segment:
    return Segment(f"  {name:<{LABEL}}", LABELS)
