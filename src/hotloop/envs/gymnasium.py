"""Gymnasium's environments as VecEnvs, so that our algorithms train on them: single ones, vector ones, EnvPool's.

    envs = gym_envs("CartPole-v1", num_envs=8, seed=1)           # hotloop train dqn gym:CartPole-v1
    envs = GymnasiumVecEnv(any_vector_env, seed=1)               # whatever its autoreset mode

What becomes of an episode's end in the three modes:

same step    the final observation comes in the infos and goes to `last`; the row shows the next episode
next step    the row shows the final observation; the step after it, spent on the reset, is marked not `played`
disabled     the games that ended are reset here, in the same step

Terminated and truncated at once counts as terminated: a death has no future, whatever the clock said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv

from hotloop.engine.env import Box, Env
from hotloop.engine.loop import books_dtype
from hotloop.engine.vecenv import Obs, Outcome, VecEnv
from hotloop.envs.gymnasium_spaces import SHORTEST, box_of, encoded, finals, first_action, limit_of, mode_of, spaces_of

SAME_STEP, NEXT_STEP, DISABLED = AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED
ALL: Any = slice(None)
READS: Any = Env  # its properties read what a learner needs off any action space


def make_gym_envs(name: str, num_envs: int, seed: int = 0, settings: Mapping[str, Any] | None = None) -> GymnasiumVecEnv:
    """What the command line calls `gym:NAME` or `envpool:NAME`."""
    maker, _, rest = name.partition(":")
    makers = {"gym": gym_envs, "envpool": envpool_envs}
    if maker not in makers or not rest:
        raise ValueError(f"expected gym:NAME or envpool:NAME, found {name!r}; try gym:{name}")
    return makers[maker](rest, num_envs, seed, **(settings or {}))


def gym_envs(name: str, num_envs: int, seed: int = 0, *, vectorization_mode: str = "sync", **settings: Any) -> GymnasiumVecEnv:
    """N of a registered environment: one after another (sync), in processes (async), or the vector environment it brings (vector_entry_point)."""
    ours = {"autoreset_mode": SAME_STEP, "copy": False} if vectorization_mode in ("sync", "async") else {}
    try:
        envs = gymnasium.make_vec(name, num_envs, vectorization_mode=vectorization_mode, vector_kwargs=ours, **settings)
    except (gymnasium.error.Error, ModuleNotFoundError) as error:
        raise ValueError(f"Gymnasium cannot make {name!r}: {error}") from error
    except (TypeError, KeyError, AssertionError) as error:
        if not settings:
            raise
        raise ValueError(f"Gymnasium cannot make {name!r} with {settings}: {error}; try leaving out what it does not take") from error
    return GymnasiumVecEnv(envs, seed=seed, name=f"gym:{name}", settings=settings)


def envpool_envs(name: str, num_envs: int, seed: int = 0, **settings: Any) -> GymnasiumVecEnv:
    """N of EnvPool's. It seeds its games when they are made, and (1.2.5) calls a death in the very step of the limit a cut-off."""
    try:
        import envpool  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise ValueError(f"envpool:{name} needs EnvPool, which is not installed; try: pip install envpool") from None
    if name not in envpool.list_all_envs():
        raise ValueError(f"EnvPool has no environment {name!r}; envpool.list_all_envs() says which it has")
    envs = envpool.make(name, env_type="gymnasium", num_envs=num_envs, seed=seed, **settings)
    return GymnasiumVecEnv(envs, seed=seed, name=f"envpool:{name}", max_steps=envs.spec.config.max_episode_steps, settings=settings)


@dataclass(frozen=True, eq=False)
class GymnasiumGame:
    """What learners and books ask of an Env, for a game whose rules are not ours."""

    name: str
    parts: Mapping[str, spaces.Box]
    action: spaces.Space
    max_steps: int  # no episode is cut off before
    render: Callable[[Any], Any] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    endings: tuple[str, ...] = ("ended",)
    reward_parts: tuple[str, ...] = ()

    num_choices, action_shape, action_dtype = READS.num_choices, READS.action_shape, READS.action_dtype

    @property
    def observations(self) -> dict[str, spaces.Box]:
        return {name: box for name, box in self.parts.items() if name != "allowed"}


class GymnasiumVecEnv(VecEnv):
    """A Gymnasium vector environment behind our VecEnv's interface. Steps write into the rows they are given: the one copy there is."""

    def __init__(
        self, envs: VectorEnv, *, seed: int = 0, name: str | None = None, max_steps: int | None = None, settings: Mapping[str, Any] | None = None
    ) -> None:
        """`max_steps` is a promise the replay relies on: no episode is cut off before. It is read from the environment's spec where there is one."""
        self.theirs, self.num_envs, self.target, self._seed = envs, envs.num_envs, "gymnasium", seed
        self._mode = mode_of(envs)
        self._spaces = spaces_of(envs.single_observation_space)
        self._first_action = first_action(envs.single_action_space)
        _, infos = envs.reset(seed=seed)  # only to see whether there is a mask
        game: Any = self._describe(name, max_steps, settings or {}, infos.get("action_mask"))
        self._begun = False
        self.env, n, parts = game, self.num_envs, game.parts.items()
        self.books = np.zeros(n, books_dtype(game))
        self.actions = np.zeros((n, *self.env.action_shape), self.env.action_dtype)
        self.outcome = Outcome(np.zeros(n, np.float32), np.zeros(n, np.bool_), np.zeros(n, np.bool_))
        self.obs: Obs = {part: np.zeros((n, *box.shape), box.dtype) for part, box in parts}
        self.last: Obs = {part: np.zeros((n, *box.shape), box.dtype) for part, box in parts}
        self.played = np.ones(n, np.bool_)
        self._owed = np.zeros(n, np.bool_)  # games whose next step goes into their reset
        self._resumed = False  # … and so does everybody's, as the games themselves could not be saved

    # ------------------------------------------------------------------ playing

    def reset(self, *, seed: int | None = None, obs: Obs | None = None, only: Any = None) -> Obs:
        self.obs = self.obs if obs is None else obs
        if seed is None and not self._begun:
            seed = self._seed
        which = ALL if only is None else np.asarray(only, np.bool_)
        options = None if only is None else {"reset_mask": which.copy()}
        self._write(self.obs, which, self._parts(*self.theirs.reset(seed=seed, options=options)))
        self._begin_books(which)
        self._owed[which] = False
        self._begun, self._resumed = True, False
        return self.obs

    def step(self, actions: Any, *, into: Outcome | None = None, obs: Obs | None = None) -> Outcome:
        into = self.outcome if into is None else into
        self.obs = self.obs if obs is None else obs
        if self._resumed:
            return self._spend_on_reset(into)
        np.logical_not(self._owed, out=self.played)
        seen, into.rewards[...], terminated, truncated, infos = self.theirs.step(np.asarray(actions) + self._first_action)
        into.rewards[self._owed] = 0.0
        np.logical_and(terminated, self.played, out=into.terminated)
        np.logical_and(truncated, self.played & ~into.terminated, out=into.truncated)
        self._write(self.obs, ALL, self._parts(seen, infos))
        ended = into.terminated | into.truncated
        self._book(into, ended)
        if ended.any():
            self._keep_last(ended, infos)
        if self._mode is NEXT_STEP:
            self._owed = ended
        return into

    def _keep_last(self, ended: np.ndarray, infos: Mapping[str, Any]) -> None:
        if self._mode is SAME_STEP:
            which = np.flatnonzero(ended)
            self._write(self.last, which, self._parts(*finals(infos, which)), among=ALL)
            return
        for name, array in self.last.items():
            array[ended] = self.obs[name][ended]
        if self._mode is DISABLED:
            self._write(self.obs, ended, self._parts(*self.theirs.reset(options={"reset_mask": ended.copy()})))

    def _parts(self, seen: Any, infos: Mapping[str, Any]) -> dict[str, Any]:
        """What was seen, by the names of our parts."""
        parts = seen if isinstance(seen, Mapping) else {"obs": seen}
        return {"allowed": infos["action_mask"], **parts} if "allowed" in self.env.parts else dict(parts)

    def _write(self, row: Obs, which: Any, parts: Mapping[str, Any], among: Any = None) -> None:
        """What was seen of some games into their places in a row; `among` what was seen of all, unless told otherwise."""
        for name, array in row.items():
            array[which] = encoded(self._spaces.get(name), np.asarray(parts[name])[which if among is None else among])

    # ------------------------------------------------------------------ counting

    def _book(self, outcome: Outcome, ended: np.ndarray) -> None:
        books = self.books
        books["age"] += self.played
        books["steps"] += self.played
        books["running"] += outcome.rewards
        if not ended.any():
            return
        self._check_promise(outcome.truncated)
        which = np.flatnonzero(ended)
        ending = outcome.terminated[which].astype(np.int32)
        length, total = books["age"][which], books["running"][which]
        best = np.where(books["episodes"][which] == 0, total, np.maximum(books["best_score"][which], total))
        for name, value in (("ending", ending), ("length", length), ("total", total), ("score", total), ("best_score", best)):
            books[name][which] = value
        for name, value in (("episodes", 1), ("return_sum", total), ("score_sum", total), ("length_sum", length)):
            books[name][which] += value
        books["endings"][which, ending] += 1
        self._begin_books(which)

    def _begin_books(self, which: Any) -> None:
        self.books["age"][which] = 0
        self.books["running"][which] = 0.0

    def _check_promise(self, truncated: np.ndarray) -> None:
        early = truncated & (self.books["age"] < self.env.max_steps)
        if early.any():
            raise ValueError(
                f"an episode of {self.env.name} was cut off after {self.books['age'][early].min()} steps, before its limit of {self.env.max_steps}, and the "
                f"replay keeps room for cut-off observations by that limit; try GymnasiumVecEnv(envs, max_steps={SHORTEST}), which keeps room for any"
            )

    # ------------------------------------------------------------------ looking, saving

    def game(self, i: int) -> gymnasium.Env:
        if not hasattr(self.theirs, "envs"):
            raise ValueError(f"{type(self.theirs).__name__} keeps its games to itself; try gym_envs(…, vectorization_mode='sync')")
        return self.theirs.envs[i]

    def save(self) -> dict[str, np.ndarray]:
        """The books and the current row. A game that is not ours cannot be looked into: see `restore`."""
        return {"books": self.books.copy()} | {f"obs_{name}": array.copy() for name, array in self.obs.items()}

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on counting, in new episodes: the next step shows their first observations and is marked not played, so no transition crosses the gap."""
        if saved["books"].shape != self.books.shape or saved["books"].dtype != self.books.dtype:
            raise ValueError(f"saved are the books of {len(saved['books'])} of another kind of game; expected {self.num_envs} of {self.env.name}")
        self.books[...] = saved["books"]
        for name, array in self.obs.items():
            array[...] = saved[f"obs_{name}"]
        self._resumed = True

    def _spend_on_reset(self, into: Outcome) -> Outcome:
        fresh = np.random.SeedSequence([self._seed, int(self.books["steps"].sum())])  # not the seed again: that would play the first episodes again
        self.reset(seed=int(fresh.generate_state(1)[0] >> 1), obs=self.obs)
        self.played[:] = False
        for values in into:
            values[...] = 0
        return into

    def close(self) -> None:
        self.theirs.close()

    def _describe(self, name: str | None, max_steps: int | None, settings: Mapping[str, Any], mask: Any) -> GymnasiumGame:
        action = self.theirs.single_action_space
        if isinstance(action, spaces.Discrete):
            action = spaces.Discrete(int(action.n))
        parts = {part: box_of(space) for part, space in self._spaces.items()}
        if isinstance(action, spaces.Discrete) and mask is not None and mask.shape == (self.num_envs, action.n):
            parts["allowed"] = Box(0, 1, (int(action.n),), np.bool_)
        limit = max_steps or limit_of(self.theirs)
        drawn = getattr(self.theirs, "render_mode", None) == "rgb_array" and hasattr(self.theirs, "envs")
        name = name or getattr(self.theirs.spec, "id", None) or type(self.theirs).__name__
        return GymnasiumGame(name, parts, action, limit, (lambda game: game.render()) if drawn else None, settings)
