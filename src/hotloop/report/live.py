"""Live: a run as it happens, on a terminal, in a log, or as JSON for another program.

    with Live("snake · dqn · cpu", {"steps": 1_000_000}, folder="runs/…") as live:
        with live.progress("compiling snake for cpu"):
            ...
        live.update(record)   # about twice a second

`live` draws on a terminal and turns into `plain`, a line every few seconds, where there is none; `json` prints every record as one
line and nothing else; `quiet` prints nothing.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import IO, Any, Literal, Protocol, get_args

from rich.console import Console
from rich.live import Live as RichLive
from rich.text import Text

from hotloop.records.files import plain
from hotloop.report.numbers import clock, percent, short
from hotloop.report.progress import Progress
from hotloop.report.screen import LABELS, Screen

Mode = Literal["live", "quiet", "json", "plain"]
Advance = Callable[[float], None]  # tells how much of some long work is done, 0 to 1

SECONDS_BETWEEN_LINES = 5.0


class Live:
    """A context in which records are shown. See the top of this file."""

    def __init__(
        self,
        title: str,
        budget: Mapping[str, float | None],
        mode: Mode = "live",
        console: Console | None = None,
        *,
        folder: object = "",
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        if mode not in get_args(Mode):
            raise ValueError(f"mode must be one of {', '.join(get_args(Mode))}, found {mode!r}")
        console = console or Console()
        if mode == "live" and not _can_draw(console):
            mode = "plain"
        self.mode = mode
        self._now = now
        self._progress = Progress(budget)
        self._display = _display(mode, console, Screen(title, str(folder), self._progress), now)

    def update(self, record: Mapping[str, Any]) -> None:
        """Show the record of one block."""
        self._progress.add(record)
        self._display.update()

    def note(self, text: str) -> None:
        """A line that stays: what was loaded, what went wrong, where something was saved."""
        self._display.note(text)

    @contextmanager
    def progress(self, text: str) -> Iterator[Advance]:
        """Something long is going on; when it ends, its time stays. The value can be told how far it is: `advance(0.5)`."""
        began = self._now()
        self._display.begin(text)
        try:
            yield lambda share: self._display.advance(f"{text} … {percent(share)}")
        finally:
            self._display.end(text, f"{self._now() - began:.1f} s")

    def __enter__(self) -> Live:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._display.close()


class _Display(Protocol):
    """One way of showing a run."""

    def update(self) -> None: ...
    def note(self, text: str) -> None: ...
    def begin(self, text: str) -> None: ...
    def advance(self, text: str) -> None: ...
    def end(self, text: str, took: str) -> None: ...
    def close(self) -> None: ...


class _Quiet:
    """Shows nothing."""

    def update(self) -> None: ...
    def note(self, text: str) -> None: ...
    def begin(self, text: str) -> None: ...
    def advance(self, text: str) -> None: ...
    def end(self, text: str, took: str) -> None: ...
    def close(self) -> None: ...


class _Json(_Quiet):
    """Every record as one line for another program; notes are for people and go to standard error."""

    def __init__(self, output: IO[str], progress: Progress) -> None:
        self._output = output
        self._progress = progress

    def update(self) -> None:
        _write(self._output, json.dumps(plain(self._progress.record), allow_nan=False) + "\n")

    def note(self, text: str) -> None:
        _write(sys.stderr, text + "\n")

    def end(self, text: str, took: str) -> None:
        self.note(f"{text} … {took}")


class _Plain(_Quiet):
    """A line every few seconds, and one for the last record."""

    def __init__(self, output: IO[str], screen: Screen, now: Callable[[], float]) -> None:
        self._output = output
        self._screen = screen
        self._now = now
        self._next_line = float("-inf")
        self._unshown = False
        self._line_is_open = False  # "compiling …" waits for its time

    def update(self) -> None:
        self._unshown = True
        if self._now() >= self._next_line:
            self._show()

    def note(self, text: str) -> None:
        start = "\n" if self._line_is_open else ""
        self._line_is_open = False
        _write(self._output, f"{start}{text}\n")

    def begin(self, text: str) -> None:
        if self._line_is_open:
            self.note("")
        _write(self._output, f"{text} … ")
        self._line_is_open = True

    def end(self, text: str, took: str) -> None:
        if not self._line_is_open:  # a note came in between
            _write(self._output, f"{text} … ")
        self._line_is_open = False
        _write(self._output, f"{took}\n")

    def close(self) -> None:
        if self._unshown:
            self._show()

    def _show(self) -> None:
        self._next_line = self._now() + SECONDS_BETWEEN_LINES
        self._unshown = False
        self.note(_one_line(self._screen.progress))


class _Terminal:
    """The screen, redrawn in place. Before the first record there is only a spinner for what is being set up."""

    def __init__(self, console: Console, screen: Screen) -> None:
        self._console = console
        self._screen = screen
        self._live: RichLive | None = None
        self._spinner = console.status("")

    def update(self) -> None:
        if self._live is None:
            self._live = RichLive(self._screen, console=self._console, auto_refresh=False)
            self._live.start()
        self._live.refresh()

    def note(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=True)

    def begin(self, text: str) -> None:
        self.advance(f"{text} …")
        if self._live is None:
            self._spinner.start()

    def advance(self, text: str) -> None:
        if self._live is None:
            self._spinner.update(Text(text))
            return
        self._screen.footer = text
        self._live.refresh()

    def end(self, text: str, took: str) -> None:
        self._spinner.stop()
        self._screen.footer = ""
        self._console.print(Text.assemble(f"{text} … ", (took, LABELS)), soft_wrap=True)

    def close(self) -> None:
        self._spinner.stop()
        if self._live is not None:
            self._live.stop()


def _display(mode: Mode, console: Console, screen: Screen, now: Callable[[], float]) -> _Display:
    if mode == "live":
        return _Terminal(console, screen)
    if mode == "plain":
        return _Plain(console.file, screen, now)
    if mode == "json":
        return _Json(console.file, screen.progress)
    return _Quiet()


def _can_draw(console: Console) -> bool:
    """Whether lines can be redrawn, and the characters of the screen written."""
    return console.is_terminal and not console.is_dumb_terminal and console.encoding.startswith("utf")


def _one_line(progress: Progress) -> str:
    record = progress.record
    parts = [
        clock(record.get("seconds")),
        f"steps {short(record.get('steps'))} ({short(record.get('steps_per_second'))}/s)",
        f"updates {short(record.get('updates'))} ({short(record.get('updates_per_second'))}/s)",
        f"score {short(progress.score)} (best {short(record.get('best_score'))})",
        f"epsilon {short(record.get('epsilon'))}",
        f"loss {short(record.get('loss'))}",
    ]
    if progress.fraction is not None:
        parts.insert(1, percent(progress.fraction))
        parts.append(f"ETA {clock(progress.seconds_left)}")
    return "  ".join(parts)


def _write(output: IO[str], text: str) -> None:
    """Written at once, and never an error for a character the output's encoding lacks."""
    encoding = getattr(output, "encoding", None) or "utf-8"
    output.write(text.encode(encoding, "replace").decode(encoding))
    output.flush()
