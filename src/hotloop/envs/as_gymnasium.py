"""Our games as Gymnasium's environments: `GameEnv`, one game, and `GameVectorEnv`, many side by side.

    gymnasium.make("hotloop/Snake-v0", size=8)
    gymnasium.make_vec("hotloop/Snake-v0", num_envs=256, size=8)
    GameEnv("./my_game.py")                                      # and any other Env, by name, path or value

Arrays that are returned belong to the caller: each step writes into new ones, in place, so nothing is copied either. With `copy=False`, as in Gymnasium's
own vector environments, a step returns the arrays of the step before. Where a game has a mask it is `info["action_mask"]`, as Gymnasium samples with.
When an episode ends its info has `score`, `return`, `length`, `ending` (a name) and `reward_parts` (where rewards are named).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from hotloop.engine.env import Env
from hotloop.engine.plain import Game
from hotloop.engine.vecenv import Obs, VecEnv
from hotloop.envs.outside import (
    Ledger,
    action_limits,
    check_actions,
    definition,
    games_on,
    new_outcome,
    new_row,
    observation_space,
    only_value,
    rendering,
    reset_mask,
    seed_games,
    spread,
)

FRAMES_PER_SECOND = 10


class GameEnv(gymnasium.Env):
    """One game. Without a seed, the first `reset` draws one and the others go on with the stream."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": FRAMES_PER_SECOND}

    def __init__(self, game: str | Env, render_mode: str | None = None, target: str = "cpu", **settings: Any) -> None:
        self.game = definition(game, settings)
        self.metadata, self.render_mode = rendering(self.game, self.metadata, render_mode)
        self.observation_space, self.action_space = observation_space(self.game), self.game.action
        self.vecenv = games_on(target, self.game, 1, threads=1)
        self._ledger = Ledger(self.vecenv)
        self._limits = action_limits(self.game)
        self._next: Obs | None = None  # after an end: what the next episode begins with
        self._begun = False
        self._before: tuple[np.ndarray, np.ndarray] | None = None  # the game and its luck before the step, kept only for `render`

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is None and not self._begun:
            seed = int(self.np_random.integers(2**31))
        row = self._next
        if row is None or seed is not None:
            row = self.vecenv.reset(seed=seed, obs=new_row(self.vecenv))
            self._ledger.begin_anew([0])
        self._begun, self._next = True, None
        return self._seen(row), self._mask(row)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self._next is not None or not self._begun:
            raise ResetNeeded("no episode is in progress; try env.reset()")
        envs = self.vecenv
        envs.actions[0] = action
        check_actions(envs.actions, self._limits)
        if self.render_mode is not None:
            self._before = envs.games.copy(), envs.streams.copy()
        row = new_row(envs)
        outcome = envs.step(envs.actions, obs=row)
        terminated, truncated = bool(outcome.terminated[0]), bool(outcome.truncated[0])
        info: dict[str, Any] = {}
        if terminated or truncated:
            self._next, row = row, {name: array.copy() for name, array in envs.last.items()}
            info = only_value(self._ledger.report([0]))
        return self._seen(row), float(outcome.rewards[0]), terminated, truncated, info | self._mask(row)

    def render(self) -> Any:
        if self.render_mode is None or self.game.render is None:
            return None
        return self.game.render(self.vecenv.game(0) if self._next is None else self._where_it_ended())

    def close(self) -> None:
        self.vecenv.close()

    def _seen(self, row: Obs) -> Any:
        seen = {name: array[0] for name, array in row.items() if name != "allowed"}
        return seen if isinstance(self.observation_space, spaces.Dict) else seen["obs"]

    def _mask(self, row: Obs) -> dict[str, Any]:
        return {"action_mask": row["allowed"][0].view(np.int8)} if "allowed" in row else {}

    def _where_it_ended(self) -> Game:
        """The VecEnv has begun the next episode already: the last step is played once more, from the state before it, by games that stay where they end."""
        assert self._before is not None
        staying = VecEnv(dataclasses.replace(self.game, reset=stay), 1, target="python")
        staying.games[...], staying.streams[...] = self._before
        staying.step(self.vecenv.actions)
        return staying.game(0)


def stay(s, rng):
    """A reset that leaves a game where it ended."""


class GameVectorEnv(VectorEnv):
    """Games side by side, reset in the step they end in. `reset(seed=s)` gives each game a stream of its own; a list seeds each as a GameEnv is seeded."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": FRAMES_PER_SECOND, "autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(
        self,
        game: str | Env,
        num_envs: int = 1,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        target: str = "cpu",
        threads: int | None = None,
        copy: bool = True,
        **settings: Any,
    ) -> None:
        self.game = definition(game, settings, max_episode_steps)
        self.metadata, self.render_mode = rendering(self.game, self.metadata, render_mode)
        self.num_envs, self.copy = num_envs, copy
        self.single_observation_space, self.single_action_space = observation_space(self.game), self.game.action
        self.observation_space, self.action_space = (batch_space(space, num_envs) for space in (self.single_observation_space, self.single_action_space))
        self.vecenv = games_on(target, self.game, num_envs, threads)
        self._ledger = Ledger(self.vecenv)
        self._limits = action_limits(self.game)
        self._begun = False

    def reset(self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed if isinstance(seed, int) else None)
        envs, which = self.vecenv, reset_mask(options, self.num_envs)
        if seed is None and not self._begun:
            seed = int(self.np_random.integers(2**31))
        if seed is not None:
            seed_games(envs, seed, which)
        row = {name: array.copy() for name, array in envs.obs.items()} if self.copy else envs.obs
        envs.reset(obs=row, only=None if which.all() else which)
        self._ledger.begin_anew(which)
        self._begun = True
        return self._seen(row), self._mask(row, which)

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        if not self._begun:
            raise ResetNeeded("no episode is in progress; try envs.reset()")
        envs = self.vecenv
        envs.actions[...] = actions
        check_actions(envs.actions, self._limits)
        row, outcome = (new_row(envs), new_outcome(self.num_envs)) if self.copy else (envs.obs, envs.outcome)
        envs.step(envs.actions, into=outcome, obs=row)
        ended = outcome.terminated | outcome.truncated
        infos = self._final(ended) if ended.any() else {}
        return self._seen(row), *outcome, infos | self._mask(row, np.ones(self.num_envs, np.bool_))

    def render(self) -> Any:
        if self.render_mode is None or self.game.render is None:
            return None
        return tuple(self.game.render(self.vecenv.game(i)) for i in range(self.num_envs))

    def close_extras(self, **_: Any) -> None:
        self.vecenv.close()

    def _final(self, ended: np.ndarray) -> dict[str, Any]:
        """What Gymnasium's same-step autoreset says of episodes that ended."""
        which = np.flatnonzero(ended)
        last = {name: array[which] for name, array in self.vecenv.last.items()}
        final_info = spread(self._ledger.report(which), which, ended)
        if "allowed" in last:
            final_info |= spread({"action_mask": last["allowed"].view(np.int8)}, which, ended)
        seen, final_obs = self._seen(last), np.full(self.num_envs, None, object)
        for k, i in enumerate(which):
            final_obs[i] = {name: array[k] for name, array in seen.items()} if isinstance(seen, dict) else seen[k]
        return {"final_obs": final_obs, "_final_obs": ended, "final_info": final_info, "_final_info": ended}

    def _seen(self, row: Obs) -> Any:
        seen = {name: array for name, array in row.items() if name != "allowed"}
        return seen if isinstance(self.single_observation_space, spaces.Dict) else seen["obs"]

    def _mask(self, row: Obs, which: np.ndarray) -> dict[str, Any]:
        if "allowed" not in row:
            return {}
        allowed = row["allowed"] if which.all() else row["allowed"] & which[:, None]  # nothing is said of the others
        return {"action_mask": allowed.view(np.int8), "_action_mask": which}
