"""What a run folder holds, as the verbs need it: its setup, a checkpoint, the agent in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hotloop.cli.errors import UsageError
from hotloop.cli.flags import Flag, split_words
from hotloop.cli.settings import Setup, setup_from
from hotloop.records.run import Run, RunError

if TYPE_CHECKING:
    from hotloop.engine.checkpoint import Arrays
    from hotloop.engine.env import Env
    from hotloop.engine.evaluate import Policy

CHECKPOINT = Flag("checkpoint", str, "latest", "which: latest, best (the best mean score of a block), or a file")


def run_in(verb: str, arguments: Sequence[str]) -> tuple[Run, list[str]]:
    """The run that was named, and the flags behind it."""
    words, rest = split_words(arguments, 1)
    if not words:
        raise UsageError(f"expected the folder of a run, found none; try: hotloop {verb} runs/…")
    return Run.open(words[0]), rest


def wants_help(arguments: Sequence[str]) -> bool:
    """Help can be asked for without a run."""
    return bool({"-h", "--help"} & set(arguments)) and not split_words(arguments, 1)[0]


def setup_of(run: Run) -> Setup:
    return setup_from(run.config, source=str(run.folder / "config.json"))


def checkpoint_of(run: Run, which: str = "latest") -> Path:
    """A checkpoint by what is special about it, or by its path, also within the run."""
    if which == "latest":
        return run.latest_checkpoint()
    folder = run.folder / "checkpoints"
    path = folder / "best.npz" if which == "best" else Path(which)
    if which == "best" and not path.exists():
        raise RunError(f"expected a best checkpoint in {folder}, found none: no episode ended within a block; try --checkpoint latest")
    return folder / path.name if not path.exists() and (folder / path.name).exists() else path


@dataclass(frozen=True)
class Agent:
    """A trained agent: what it was trained with, and where in its training this is."""

    setup: Setup
    path: Path
    about: dict[str, Any]
    arrays: Arrays

    @classmethod
    def of(cls, run: Run, which: str = "latest") -> Agent:
        from hotloop.engine.checkpoint import load_checkpoint

        path = checkpoint_of(run, which)
        about, arrays = load_checkpoint(path)
        return cls(setup_of(run), path, about, arrays)

    @property
    def steps(self) -> int:
        from hotloop.engine.checkpoint import counted

        return counted(self.about, "steps")

    def policy(self, env: Env) -> Policy:
        """How it plays this game."""
        from hotloop.algos import find_algo

        if self.about.get("algo") != self.setup.algo or "network" not in self.arrays:
            raise RunError(f"expected a checkpoint of {self.setup.algo} at {self.path}, found one of {self.about.get('algo')}; try --checkpoint latest")
        policy: Policy = find_algo(self.setup.algo).policy(env, self.setup.config, self.arrays, "cpu", self.about)
        return policy
