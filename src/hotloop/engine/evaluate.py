"""Evaluation: play whole episodes with a policy and describe what came out, with intervals.

Every game plays exactly one episode, its first. (Stopping at the n-th episode to *end* would favour short ones.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hotloop.engine.vecenv import Obs, VecEnv

Policy = Callable[[Obs, Any], None]  # (observations, actions to write)
RESAMPLES = 2000


@dataclass(frozen=True)
class Episodes:
    """One entry an episode."""

    returns: np.ndarray
    scores: np.ndarray
    lengths: np.ndarray
    endings: list[str]

    def summary(self) -> dict[str, Any]:
        names, counts = np.unique(self.endings, return_counts=True)
        return {
            "episodes": len(self.returns),
            "score": describe(self.scores),
            "return": describe(self.returns),
            "length": describe(self.lengths),
            "endings": dict(zip(names.tolist(), counts.tolist(), strict=True)),
        }


def play_episodes(envs: VecEnv, policy: Policy, progress: Callable[[float], None] | None = None) -> Episodes:
    """One episode in every game, from a fresh reset."""
    n = envs.num_envs
    names = ("cut off", *envs.env.endings)
    fields = {name: np.zeros(n) for name in ("total", "score", "length", "ending")}
    finished = np.zeros(n, np.bool_)
    obs = envs.reset()
    began = envs.host(envs.books)["episodes"].copy()
    while not finished.all():
        policy(obs, envs.actions)
        envs.step(envs.actions)
        obs = envs.obs
        books = envs.host(envs.books)
        now = (books["episodes"] > began) & ~finished
        if now.any():
            for name, values in fields.items():
                values[now] = books[name][now]
            finished |= now
            if progress is not None:
                progress(float(finished.mean()))
    return Episodes(fields["total"], fields["score"], fields["length"], [names[int(k)] for k in fields["ending"]])


def describe(values: np.ndarray) -> dict[str, float]:
    """Mean and median, and a 95 % bootstrap interval of the mean."""
    values = np.asarray(values, np.float64)
    rng = np.random.default_rng(0)
    resampled = [rng.choice(values, len(values)).mean() for _ in range(RESAMPLES)]  # one at a time: all at once take gigabytes for many episodes
    low, high = np.percentile(resampled, [2.5, 97.5])
    return {"mean": float(values.mean()), "median": float(np.median(values)), "low": float(low), "high": float(high)}
