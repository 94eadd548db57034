"""Run: one training run on disk. Training writes it; resume, evaluate, watch, the plots and the lab read it.

run.json         what this folder is, the command, and how the run stands or why it stopped
config.json      the settings as used            machine.json   where it ran
metrics.jsonl    one JSON object a block         metrics.csv    the same as a table
phases.json      where the time went             checkpoints/   NAME_STEPS.npz
lock             there while somebody trains
"""

from __future__ import annotations

import difflib
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

from hotloop.records.files import SYSTEM, JsonLines, Opener, RunError, cannot_write, read_json, reason, write_atomically, write_json
from hotloop.records.machine import machine
from hotloop.records.phases import Stopwatch
from hotloop.records.table import to_csv

__all__ = ["Run", "RunError", "Status"]

FORMAT = 1  # rises when an older hotloop could no longer read what a newer one writes
RUNS = Path("runs")  # where runs go that were given no folder

Status = Literal["running", "finished", "interrupted", "failed"]


class Run:
    """One run's folder. Make one with `Run.create` or `Run.open`."""

    def __init__(self, folder: Path, about: dict[str, Any], opener: Opener = SYSTEM) -> None:
        self.folder = folder
        self._about = about
        self._opener = opener
        self._metrics = JsonLines(folder / "metrics.jsonl", opener)
        self._postponed: Callable[[], None] | None = None

    @classmethod
    def create(
        cls,
        folder: Path | None,
        *,
        config: Mapping[str, Any],
        command: Sequence[str],
        name: str,
        now: datetime | None = None,
        opener: Opener = SYSTEM,
    ) -> Run:
        """A new run in an empty or new folder; `None` picks `runs/NAME-DATE-TIME`."""
        created = now or datetime.now().astimezone()
        name = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"  # it becomes part of file names
        folder = _make_folder(folder) if folder else _make_dated_folder(f"{name}-{created:%Y%m%d-%H%M%S}")
        about = {"hotloop_run": FORMAT, "name": name, "created": created.isoformat(timespec="seconds"), "command": list(command)}
        run = cls(folder, about | {"status": "running", "why": None}, opener)
        try:
            write_json(folder / "config.json", config, opener)
            write_json(folder / "machine.json", machine(), opener)
            write_json(folder / "run.json", run._about, opener)  # last: a folder with a run.json is whole
        except BaseException:  # Ctrl-C too
            run.discard()
            raise
        return run

    @classmethod
    def open(cls, folder: Path | str) -> Run:
        """A run that is already there, to read or to go on with."""
        folder = Path(folder)
        if not folder.is_dir():
            found = "a file" if folder.exists() else "nothing there"
            raise RunError(f"expected a run folder at {folder}, found {found}; try {_suggestion(folder.parent, folder.name)}")
        if not (folder / "run.json").exists():
            raise RunError(f"expected a run folder at {folder}, found a folder without run.json; try {_suggestion(folder)}")
        about = read_json(folder / "run.json")
        found_format = about.get("hotloop_run")
        if not isinstance(found_format, int) or not isinstance(about.get("name"), str):
            raise RunError(f"expected a run of hotloop at {folder}, found a run.json of something else; try {_suggestion(folder.parent, folder.name)}")
        if found_format > FORMAT:
            raise RunError(f"expected a run of format {FORMAT} or older at {folder}, found format {found_format}; try a newer hotloop")
        return cls(folder, about)

    @property
    def name(self) -> str:
        """What was trained, as file names can hold it: `snake-dqn`."""
        return str(self._about["name"])

    @property
    def status(self) -> Status:
        """`running` also when the process died without a word."""
        status: Status = self._about.get("status", "failed")
        return status

    @property
    def about(self) -> dict[str, Any]:
        """run.json: name, created, command, status, why."""
        return dict(self._about)

    @property
    def config(self) -> dict[str, Any]:
        """The settings as used."""
        return read_json(self.folder / "config.json")

    @property
    def machine(self) -> dict[str, Any]:
        """Where it ran."""
        return read_json(self.folder / "machine.json")

    def set_status(self, status: Status, why: str | None = None) -> None:
        """How the run stands. When it comes to rest, the metrics are also written as a table."""
        if status not in get_args(Status):
            raise ValueError(f"status must be one of {', '.join(get_args(Status))}, found {status!r}")
        about = self._about | {"status": status, "why": why}
        write_json(self.folder / "run.json", about, self._opener)
        self._about = about
        if status != "running":
            self.write_csv()

    def discard(self) -> None:
        """Take back a run that never began: what it wrote, and the folder if nothing else is in it."""
        for name in ("tensorboard", "wandb"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        with suppress(OSError):  # something else is in it
            for name in ("run.json", "machine.json", "config.json", "lock"):
                (self.folder / name).unlink(missing_ok=True)
            self.folder.rmdir()

    def postpone(self, change: Callable[[], None]) -> None:
        """Make this change just before the next record or checkpoint: a resumed run is as it was until it really goes on."""
        self._postponed = change

    @property
    def is_as_it_was(self) -> bool:
        """Whether a change was postponed and nothing was written since."""
        return self._postponed is not None

    def log(self, record: Mapping[str, Any]) -> None:
        """Add the record of one block to the metrics; it is on its way to the disk when this returns."""
        self._change_now()
        self._metrics.append(record)

    def metrics(self) -> list[dict[str, Any]]:
        """Every block's record, oldest first; without one that a crash tore."""
        return self._metrics.read()

    def rewind(self, steps: int) -> None:
        """Forget the records after a checkpoint, so that a resumed run does not tell the same steps twice."""
        records = self.metrics()
        kept = [record for record in records if record.get("steps", 0) <= steps]
        if len(kept) < len(records):
            self._metrics.rewrite(kept)

    def write_csv(self) -> Path:
        """The metrics as a table, nested parts as columns such as `phases.act`."""
        path = self.folder / "metrics.csv"
        write_atomically(path, to_csv(self.metrics()).encode(), self._opener)
        return path

    def save_phases(self, watch: Stopwatch) -> None:
        """Where the time of the whole run went."""
        seconds = watch.seconds()
        value = {"seconds": seconds, "calls": watch.calls(), "wall_seconds": sum(seconds.values())}
        write_json(self.folder / "phases.json", value, self._opener)

    def phases(self) -> dict[str, Any]:
        """Seconds and calls by phase, and the wall time they add up to."""
        return read_json(self.folder / "phases.json")

    def checkpoint_path(self, steps: int) -> Path:
        """Where the checkpoint at this step belongs."""
        self._change_now()
        folder = self.folder / "checkpoints"
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise cannot_write(folder, error) from error
        return folder / f"{self.name}_{steps}.npz"

    def checkpoints(self) -> list[Path]:
        """All checkpoints, fewest steps first."""
        found = (self.folder / "checkpoints").glob("*.npz")
        return sorted((path for path in found if _steps_of(path) is not None), key=lambda path: _steps_of(path) or 0)

    def latest_checkpoint(self) -> Path:
        """The checkpoint with the most steps behind it."""
        checkpoints = self.checkpoints()
        if not checkpoints:
            raise RunError(f"expected a checkpoint in {self.folder / 'checkpoints'}, found none; try a run that trained for longer")
        return checkpoints[-1]

    def _change_now(self) -> None:
        change, self._postponed = self._postponed, None
        if change is not None:
            change()


def _steps_of(checkpoint: Path) -> int | None:
    """The steps in a checkpoint's name; None for other files, such as one half written."""
    match = re.fullmatch(r"[^.].*_(\d+)\.npz", checkpoint.name)
    return int(match[1]) if match else None


def _make_folder(folder: Path) -> Path:
    """The folder the user asked for, which must not hold anything yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = next(folder.iterdir(), None)
    except FileExistsError as error:
        raise RunError(f"expected a new or empty folder for the run, found a file at {folder}; try another --output") from error
    except OSError as error:
        raise RunError(f"expected to make the folder {folder}, found: {reason(error)}; try another --output") from error
    if taken is not None:
        raise RunError(f"expected a new or empty folder for the run, found {taken.name} in {folder}; try another --output, or `hotloop resume`")
    return folder


def _make_dated_folder(name: str) -> Path:
    """A folder of its own under `runs`, also for two runs begun in the same second."""
    number = 1
    while True:
        folder = RUNS / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            if RUNS.exists() and not RUNS.is_dir():
                raise RunError(f"expected a folder for runs, found a file at {RUNS}; try --output FOLDER") from None
            number += 1
        except OSError as error:
            raise RunError(f"expected to make the folder {folder}, found: {reason(error)}; try --output FOLDER") from error


def _suggestion(folder: Path, meant: str = "") -> str:
    """The run in or below a folder that someone who pointed beside it meant: the one with the nearest name, or the newest."""
    if (folder / "run.json").exists() and _is_ours(folder / "run.json"):
        return str(folder)
    for place in (folder, folder / "runs", RUNS):
        marks = sorted((path for path in place.glob("*/run.json") if _is_ours(path)), key=lambda path: path.stat().st_mtime)
        runs = {path.parent.name: path.parent for path in marks}
        nearest = difflib.get_close_matches(meant, runs, n=1) or list(runs)[-1:]
        if nearest:
            return str(runs[nearest[0]])
    return "a folder that `hotloop train` has written"


def _is_ours(path: Path) -> bool:
    """Whether a run.json is one of hotloop's; programs of other people have such files too."""
    try:
        return '"hotloop_run"' in path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
