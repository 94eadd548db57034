"""What our games need to be played from outside, by Gymnasium's and Stable-Baselines3's rules: spaces, seeds, checked actions, reports of episodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from hotloop.engine.env import Env
from hotloop.engine.random import streams
from hotloop.engine.vecenv import Obs, Outcome, VecEnv
from hotloop.envs import make_env

TARGETS = ("cpu", "python")


class Ledger:
    """What there is to say of the episodes that ended, from the VecEnv's books."""

    def __init__(self, envs: VecEnv) -> None:
        self._envs = envs
        self._names = np.array(("cut off", *envs.env.endings), object)
        self._before: np.ndarray | None = envs.books["reward_parts"].copy() if envs.env.reward_parts else None  # sums when the episode began

    def begin_anew(self, which: Any) -> None:
        """These games were reset, whether they had ended or not."""
        if self._before is not None:
            self._before[which] = self._envs.books["reward_parts"][which]

    def report(self, which: Any) -> dict[str, Any]:
        """One entry for each of the games, which have just ended."""
        books = self._envs.books
        report: dict[str, Any] = {"score": books["score"][which], "return": books["total"][which]}
        report |= {"length": books["length"][which].astype(np.int64), "ending": self._names[books["ending"][which]]}
        if self._before is not None:
            now = books["reward_parts"][which]
            report["reward_parts"] = dict(zip(self._envs.env.reward_parts, (now - self._before[which]).T, strict=True))
            self._before[which] = now
        return report


def spread(report: Mapping[str, Any], which: np.ndarray, mask: np.ndarray) -> dict[str, Any]:
    """A report as Gymnasium's vector infos have it: an entry for each game, and beside each key the mask of those it says something of."""
    infos: dict[str, Any] = {}
    for key, values in report.items():
        if isinstance(values, dict):
            infos[key] = spread(values, which, mask)
        else:
            shape = (len(mask), *values.shape[1:])
            infos[key] = np.full(shape, None, object) if values.dtype == object else np.zeros(shape, values.dtype)
            infos[key][which] = values
        infos[f"_{key}"] = mask
    return infos


def only_value(report: Mapping[str, Any]) -> dict[str, Any]:
    """A report of one game, as plain values."""
    return {key: only_value(values) if isinstance(values, dict) else values.tolist()[0] for key, values in report.items()}


# ---------------------------------------------------------------- spaces and seeds


def definition(game: str | Env, settings: Mapping[str, Any], max_steps: int | None = None) -> Env:
    env = game if isinstance(game, Env) else make_env(game, **settings)
    return env if max_steps is None else dataclasses.replace(env, max_steps=max_steps)


def games_on(target: str, env: Env, num_envs: int, threads: int | None) -> VecEnv:
    if target not in TARGETS:
        raise ValueError(f"Gymnasium's arrays are NumPy's, so its games run on {' or '.join(TARGETS)}, found target {target!r}; try target='cpu'")
    return VecEnv(env, num_envs, target=target, threads=threads)


def observation_space(env: Env) -> spaces.Space:
    return spaces.Dict(dict(env.observations.items())) if isinstance(env.observation, Mapping) else env.observation


def rendering(env: Env, metadata: dict[str, Any], mode: str | None) -> tuple[dict[str, Any], str | None]:
    """What the game can draw, and how it was asked to."""
    modes = ["rgb_array"] if env.render is not None else []
    if mode is not None and mode not in modes:
        raise ValueError(f"render_mode of {env.name} must be {' or '.join(['None', *modes])}, found {mode!r}")
    return metadata | {"render_modes": modes}, mode


def action_limits(env: Env) -> np.ndarray | None:
    """The first action there is not, of each choice."""
    if isinstance(env.action, spaces.Discrete):
        return np.asarray(env.action.n, np.uint32)
    return env.action.nvec.astype(np.uint32) if isinstance(env.action, spaces.MultiDiscrete) else None


def check_actions(actions: np.ndarray, limits: np.ndarray | None) -> None:
    """Compiled games trust their actions. Read without its sign, a negative one is far too high."""
    if limits is not None and (actions.view(np.uint32) >= limits).any():
        raise ValueError(f"actions must be in 0 … {(limits.astype(int) - 1).tolist()}, found {actions.min()} … {actions.max()}")


def seed_games(envs: VecEnv, seed: int | Sequence[int | None], which: np.ndarray | None = None) -> None:
    """Start the streams of the marked games again: of one seed, or each of its own (None: it goes on)."""
    which = np.ones(envs.num_envs, np.bool_) if which is None else which
    if isinstance(seed, int | np.integer):
        envs.streams[which] = streams(int(seed), envs.num_envs)[which]
        return
    if len(seed) != envs.num_envs:
        raise ValueError(f"seeds must be one for each of the {envs.num_envs} games, found {len(seed)}")
    for i, own in enumerate(seed):
        if which[i] and own is not None:
            envs.streams[i] = streams(int(own), 1)[0]


def reset_mask(options: Mapping[str, Any] | None, num_envs: int) -> np.ndarray:
    """The games that `reset` is asked to reset: all of them, or those marked in its options."""
    mask = (options or {}).get("reset_mask")
    if mask is None:
        return np.ones(num_envs, np.bool_)
    if not isinstance(mask, np.ndarray) or mask.shape != (num_envs,) or mask.dtype != np.bool_ or not mask.any():
        raise ValueError(f"options['reset_mask'] must be a boolean array of shape ({num_envs},) that marks at least one game, found {mask!r}")
    return mask


def new_row(envs: VecEnv) -> Obs:
    return {name: np.empty_like(array) for name, array in envs.last.items()}


def new_outcome(num_envs: int) -> Outcome:
    return Outcome(np.empty(num_envs, np.float32), np.empty(num_envs, np.bool_), np.empty(num_envs, np.bool_))
