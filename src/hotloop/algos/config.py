"""What every algorithm's Config has: how many games, how long, where, and how it is recorded. Comments are the help texts."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

HIGHEST_SEED = 2**63 - 1  # that torch, NumPy and Gymnasium all take
MOST_THREADS = 1024  # not this machine's own: a run must also open on a smaller one


class ConfigError(ValueError):
    """A setting that cannot be: what was expected, what was found, what to try."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    num_envs: int = 256  # games played side by side
    seed: int = 0  # equal seeds, equal runs on the same machine
    device: str = "cpu"  # where games and learning run: cpu or cuda; auto: cuda where there is one
    threads: int | None = None  # threads that step the games; unset: measured before the clock starts
    maths_threads: int = 1  # threads of one matrix product; small networks are fastest with one
    max_steps: int | None = 1_000_000  # stop after so many env steps
    max_episodes: int | None = None  # stop after so many whole episodes
    max_updates: int | None = None  # stop after so many updates
    max_time: float | None = None  # stop after so many seconds of training
    log_seconds: float = 0.5  # length of a block of the metrics
    checkpoint_steps: int | None = None  # save every so many env steps; unset: about once a minute
    save_replay: bool = True  # keep the replay in checkpoints, so that a resumed run is the run it was

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, float) and not math.isfinite(value):
                raise ConfigError(f"expected a finite {name}, found {value}; {self.try_default(name)}")
        self.check("num_envs", self.num_envs, at_least=1)
        self.check("seed", self.seed, at_least=0, at_most=HIGHEST_SEED)
        self.check("log_seconds", self.log_seconds, above=0)
        for name in ("max_steps", "max_episodes", "max_updates", "max_time", "checkpoint_steps", "threads", "maths_threads"):
            if getattr(self, name) is not None:
                self.check(name, getattr(self, name), above=0)
        for name in ("threads", "maths_threads"):
            if getattr(self, name) is not None:
                self.check(name, getattr(self, name), at_most=MOST_THREADS)
        if all(getattr(self, name) is None for name in ("max_steps", "max_episodes", "max_updates", "max_time")):
            raise ConfigError("expected a budget, because a run needs a budget to end, found none; try --max-steps 1000000 or --max-time 60")
        if self.device not in ("cpu", "cuda", "auto"):
            raise ConfigError(f"expected the device to be cpu, cuda or auto, found {self.device!r}; try --device cpu")

    def check(self, name: str, value: float, *, at_least: float | None = None, above: float | None = None, at_most: float | None = None) -> None:
        flag = "--" + name.replace("_", "-")
        if at_least is not None and not value >= at_least:
            raise ConfigError(f"expected {name} to be at least {at_least}, found {value}; try {flag} {at_least}")
        if above is not None and not value > above:
            raise ConfigError(f"expected {name} to be above {above}, found {value}; {self.try_default(name)}")
        if at_most is not None and not value <= at_most:
            raise ConfigError(f"expected {name} to be at most {at_most}, found {value}; try {flag} {at_most}")

    def try_default(self, name: str) -> str:
        flag, default = "--" + name.replace("_", "-"), next(f.default for f in fields(self) if f.name == name)
        return f"try leaving out {flag}" if default is None else f"try {flag} {default}"
