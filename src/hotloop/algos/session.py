"""Session: what every training loop needs around it — clocks and budgets, blocks of metrics, checkpoints, Ctrl-C.

    with Session(envs, config, run, display, snapshot) as session:
        while session.goes_on():
            …                                   # collect, learn
            session.advance(steps, updates)
            if session.block_is_due():
                session.close_block({"loss": …})

The loop calls the session; the session never calls the loop.
"""

from __future__ import annotations

import errno
import math
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import numpy as np

from hotloop.algos.config import TrainConfig
from hotloop.engine.checkpoint import Arrays, counted, measured, misfit, save_checkpoint
from hotloop.engine.vecenv import VecEnv
from hotloop.records.files import RunError
from hotloop.records.machine import memory_mb
from hotloop.records.phases import LOG, SAVE, Stopwatch
from hotloop.records.run import Run

CHECKPOINT_SECONDS = 60.0
BEST_SECONDS = 10.0  # a better mean score is written at most this often: writing each one is a known way to be slow
KEPT_CHECKPOINTS = 3  # the newest; the best has a name of its own and stays
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Taken = tuple[dict, Arrays]  # what is saved at one moment: about and arrays


class TrainingFault(RuntimeError):
    """Training cannot go on: what was found, where, and what is still whole."""


class Display(Protocol):
    def update(self, record: Mapping[str, Any]) -> None: ...
    def note(self, text: str) -> None: ...
    def progress(self, text: str) -> AbstractContextManager[Any]: ...


class Session:
    def __init__(self, envs: VecEnv, config: TrainConfig, run: Run | None, display: Display | None, snapshot: Callable[[bool, bool], Taken]) -> None:
        """`snapshot(whole, replay)` gives (about, arrays): all that resuming needs, or only what acting needs; the replay where it is asked for."""
        self.watch = Stopwatch()
        self.steps = self.updates = 0
        self.why = ""  # the training stopped
        self.best_score = -math.inf
        self.envs, self.config, self._run, self._display, self._snapshot = envs, config, run, display, snapshot
        self._interrupted = False
        self._seconds_before = 0.0
        self._best: Taken | None = None  # of the best block so far, until it is written

    def __enter__(self) -> Session:
        self._former = _on_interrupt(self._interrupt)
        self.watch.start()
        self._began = self._saved = self._saved_best = time.perf_counter()
        self._saved_steps = self.steps
        self._begin_block()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._former is not None:
            signal.signal(signal.SIGINT, self._former)
        try:
            self._write_best()
        except RunError:  # a full disk, which was already told
            pass

    def preparing(self, what: str) -> AbstractContextManager[Any]:
        """Set-up before the clock starts, shown as it goes on."""
        return nullcontext() if self._display is None else self._display.progress(what)

    # ------------------------------------------------------------------ clocks

    @property
    def seconds(self) -> float:
        """Time in training, over all the sittings of this run."""
        return self._seconds_before + time.perf_counter() - self._began

    def advance(self, steps: int, updates: int) -> None:
        self.steps += steps
        self.updates += updates

    def within_budget(self, updates: int) -> int:
        """As many of these updates as may still be made."""
        limit = self.config.max_updates
        return updates if limit is None else max(0, min(updates, limit - self.updates))

    def goes_on(self) -> bool:
        self.why = self._reason_to_stop()
        return not self.why

    @property
    def interrupted(self) -> bool:
        return self._interrupted

    def _reason_to_stop(self) -> str:
        config = self.config
        if self._interrupted:
            return "interrupted"
        if config.max_steps is not None and self.steps >= config.max_steps:
            return f"{config.max_steps} steps"
        if config.max_updates is not None and self.updates >= config.max_updates:
            return f"{config.max_updates} updates"
        if config.max_time is not None and self.seconds >= config.max_time:
            return f"{config.max_time:g} seconds"
        if config.max_episodes is not None and self.envs.tally()["episodes"] >= config.max_episodes:
            return f"{config.max_episodes} episodes"
        return ""

    # ------------------------------------------------------------------ blocks

    def block_is_due(self) -> bool:
        return time.perf_counter() - self._block_began >= self.config.log_seconds

    def close_block(self, numbers: Mapping[str, float | None]) -> None:
        """Record what happened since the last block; `numbers` are the algorithm's own (loss, q_mean, epsilon)."""
        for name, value in numbers.items():
            if value is not None and not math.isfinite(value):
                raise TrainingFault(self._fault(name, value))
        record = self._record(numbers)
        self._begin_block()
        if self._run is not None:
            self._run.log(record)
        if self._display is not None:
            self._display.update(record)
        self.watch.lap(LOG)
        if self._run is not None:
            self._keep(record["score_mean"])

    def _record(self, numbers: Mapping[str, float | None]) -> dict[str, Any]:
        tally, before = self.envs.tally(), self._block_tally
        span = time.perf_counter() - self._block_began
        ended = tally["episodes"] - before["episodes"]
        steps = self.steps - self._block_steps

        def mean(name: str) -> float | None:
            return (tally[name] - before[name]) / ended if ended else None

        return {
            "steps": self.steps,
            "updates": self.updates,
            "episodes": tally["episodes"],
            "seconds": self.seconds,
            "steps_per_second": steps / span,
            "updates_per_second": (self.updates - self._block_updates) / span,
            "score_mean": mean("score_sum"),
            "return_mean": mean("return_sum"),
            "length_mean": mean("length_sum"),
            "best_score": tally["best_score"] if tally["episodes"] else None,
            "endings": {name: count - before["endings"][name] for name, count in tally["endings"].items()},
            "reward_parts": {name: (total - before["reward_parts"][name]) / max(steps, 1) for name, total in tally["reward_parts"].items()},
            **numbers,
            "memory_mb": memory_mb(),
            "phases": self.watch.take_block(),
        }

    def _begin_block(self) -> None:
        self._block_began = time.perf_counter()
        self._block_steps, self._block_updates, self._block_tally = self.steps, self.updates, self.envs.tally()

    def _fault(self, name: str, value: float) -> str:
        strange = self._strange()
        where = strange[0] if strange else f"{name} is {value}"
        kept = self._run.checkpoints() if self._run is not None else []
        last = f"; the last checkpoint, {kept[-1].name}, is from before it" if kept else ""
        remedy = "try `hotloop check`, and look at what the game computes there" if strange else "try a smaller --learning-rate"
        return f"expected finite numbers, found {where} by update {self.updates} (step {self.steps}){last}; {remedy}"

    def _strange(self) -> list[str]:
        """What of the game, now or as remembered, is not a number: by the time a loss shows it the games have moved on."""
        _, arrays = self._snapshot(True, True)
        rewards = self.envs.host(self.envs.outcome.rewards)
        found = ["a reward of the game is not a number" for array in (rewards, arrays.get("replay.rewards", rewards)) if not np.isfinite(array).all()]
        for name, array in self.envs.obs.items():
            seen = self.envs.host(array)
            if not all(np.isfinite(part).all() for part in (seen, arrays.get(f"replay.obs_{name}", seen))):
                found.append(f"observation {name!r} has a value that is not a number")
        return found

    # ------------------------------------------------------------------ checkpoints

    def save(self) -> None:
        """All that going on needs; where the disk has no room for the replay, without it."""
        if self._run is None:
            return
        path = self._run.checkpoint_path(self.steps)
        try:
            save_checkpoint(path, *self._taken(True, self.config.save_replay))
        except RunError as error:
            if not self.config.save_replay or getattr(error.__cause__, "errno", None) not in NO_SPACE:
                raise
            save_checkpoint(path, *self._taken(True, False))
            self._note(f"the disk has no room for the replay, so {path.name} was saved without it; free some space before you resume")
        else:
            self._forget_before(path)
        self.watch.lap(SAVE)
        self._write_best()

    def resume(self, about: Mapping[str, Any]) -> None:
        """Go on counting from a checkpoint that `check_about` has passed."""
        self.steps, self.updates, self._seconds_before = about["steps"], about["updates"], about["seconds"]
        self.best_score = -math.inf if about["best_score"] is None else about["best_score"]
        self.watch.restore(about["watch"])

    def _taken(self, whole: bool, replay: bool) -> Taken:
        about, arrays = self._snapshot(whole, replay)
        if any(not np.isfinite(array).all() for name, array in arrays.items() if name.startswith("network")):
            raise TrainingFault(self._fault("a parameter of the network", math.nan))
        clocks = {"steps": self.steps, "updates": self.updates, "seconds": self.seconds, "best_score": self.best_score, "watch": self.watch.state()}
        return about | clocks, arrays

    def _keep(self, score: float | None) -> None:
        now, every = time.perf_counter(), self.config.checkpoint_steps
        if score is not None and score > self.best_score:
            self.best_score = score
            self._best = self._taken(False, False)  # a few copies; the disk comes later
        if self.steps - self._saved_steps >= every if every else now - self._saved >= CHECKPOINT_SECONDS:
            self.save()
            self._saved, self._saved_steps = now, self.steps
        if now - self._saved_best >= BEST_SECONDS:
            self._write_best()

    def _write_best(self) -> None:
        if self._best is None or self._run is None:
            return
        best, self._best, self._saved_best = self._best, None, time.perf_counter()
        save_checkpoint(self._run.folder / "checkpoints" / "best.npz", *best)
        self.watch.lap(SAVE)

    def _forget_before(self, newest: Path) -> None:
        """Only what this run wrote, and nothing with more steps: that is of another past."""
        assert self._run is not None
        ours = [path for path in self._run.checkpoints() if path.name.startswith(f"{self._run.name}_")]
        for path in ours[: ours.index(newest) + 1][:-KEPT_CHECKPOINTS]:
            try:
                path.unlink(missing_ok=True)
            except OSError:  # one too many does no harm
                pass

    def _note(self, text: str) -> None:
        if self._display is not None:
            self._display.note(text)

    def _interrupt(self, *_: Any) -> None:
        if self._interrupted:
            raise KeyboardInterrupt
        self._interrupted = True
        self._note("stopping and saving; Ctrl-C again stops at once")


def check_about(about: Mapping[str, Any]) -> None:
    """Whether a session could go on from this; if not, a RunError that names what is wrong."""
    counted(about, "steps")
    counted(about, "updates")
    measured(about, "seconds")
    best, watch = about.get("best_score", ""), about.get("watch")
    if best is not None and not (isinstance(best, int | float) and math.isfinite(best)):
        raise misfit("'best_score'", "a number or null", repr(best))
    for name in ("nanoseconds", "calls", "taken"):
        if not isinstance(watch, Mapping) or not isinstance(watch.get(name), Mapping):
            raise misfit("'watch'", f"a table with {name}", repr(watch))
        for phase in watch[name]:
            counted(watch[name], phase)


def _on_interrupt(handler: Callable[[int, FrameType | None], None]) -> Any:
    """Install a handler and give back the former one; outside the main thread there is nothing to install."""
    try:
        return signal.signal(signal.SIGINT, handler)
    except ValueError:
        return None
