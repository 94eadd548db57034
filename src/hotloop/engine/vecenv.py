"""VecEnv: N games in progress on one target, writing into arrays it is given.

`python` runs the author's functions as they are; `cpu` compiles the same loop to native code and spreads it over threads where that measures
faster; `cuda` (in cuda.py) runs one thread a game. All three produce the same bits.

    envs = make_envs(snake(), num_envs=256, target="cpu")
    obs = envs.reset()
    rewards, terminated, truncated = envs.step(actions)      # envs.obs is the next row
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numba
import numpy as np

from hotloop.engine.cache import keep_on_disk
from hotloop.engine.env import Env
from hotloop.engine.explain import explained
from hotloop.engine.loop import books_dtype, build, fingerprint, loop_source, range_source, whole_source
from hotloop.engine.plain import Game, as_python_reads
from hotloop.engine.random import streams

TARGETS = ("python", "cpu", "cuda")
SHORT_CALL_SECONDS = 200e-6  # threads cost more than they bring below this
NATIVE: Any = {"error_model": "numpy", "fastmath": False, "_nrt": False}  # no reference counts: nothing may be allocated, and views cost nothing

Obs = dict[str, Any]  # each part [num_envs, *shape]: arrays of the machine the games are on
Note = Callable[[str], None]


class Outcome(NamedTuple):
    """What a step writes besides the next observations, one value a game."""

    rewards: Any  # [N] float32
    terminated: Any  # [N] bool: ended by the game's own rules
    truncated: Any  # [N] bool: cut off by the step limit


def make_envs(
    env: Env,
    num_envs: int,
    *,
    seed: int = 0,
    target: str = "cpu",
    threads: int | None = None,
    final_observations: bool = True,
    note: Note | None = None,
) -> VecEnv:
    """N games of `env` on a target. With `final_observations`, `last` also holds where episodes ended by themselves; learning needs only the cut-offs."""
    if target not in TARGETS:
        raise ValueError(f"unknown target {target!r}; expected one of {', '.join(TARGETS)}")
    if target == "cuda":
        from hotloop.engine.cuda import CudaVecEnv

        return CudaVecEnv(env, num_envs, seed=seed, final_observations=final_observations, note=note)
    return VecEnv(env, num_envs, seed=seed, target=target, threads=threads, final_observations=final_observations, note=note)


class VecEnv:
    """Games on this machine's processors. `obs` is the row an action is chosen from, `last` where episodes stopped."""

    device = "cpu"
    obs: Obs
    last: Obs
    outcome: Outcome
    _known_obs: Obs  # a row found to be laid out as the loop expects

    def __init__(
        self,
        env: Env,
        num_envs: int,
        *,
        seed: int = 0,
        target: str = "cpu",
        threads: int | None = None,
        final_observations: bool = True,
        note: Note | None = None,
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, found {num_envs}")
        self.env, self.num_envs, self.target, self.final_observations = env, num_envs, target, final_observations
        self.played: Any = None  # [N] bool where an environment may spend a step on its own reset; None: every step is played
        self._threads = 1 if target == "python" else threads
        self._pool: ThreadPoolExecutor | None = None
        self._at_once: Any = None  # the compiled loop, without Numba's look at the types of its arguments
        self._allocate(seed)
        started = time.perf_counter()
        self._begin, self._advance = self._make_loops()
        self._warm_up()
        if note is not None:
            note(f"{env.name} ready on {target}: {num_envs} games, {self._threads} thread{'s' * (self._threads != 1)}, {time.perf_counter() - started:.1f} s")

    # ------------------------------------------------------------------ playing

    def reset(self, *, seed: int | None = None, obs: Obs | None = None, only: Any = None) -> Obs:
        """Begin an episode in every game (or only those marked); with a seed, start the streams of luck again too."""
        if seed is not None:
            self.streams[...] = streams(seed, self.num_envs)
        obs = self.obs if obs is None else obs
        args = self._arguments(self.actions, self.outcome, obs)
        if only is None:
            self._begin(0, self.num_envs, 0, *args)
        else:
            for i in np.flatnonzero(only):
                self._begin(int(i), int(i) + 1, 0, *args)
        self.obs = obs
        return obs

    def step(self, actions: Any, *, into: Outcome | None = None, obs: Obs | None = None) -> Outcome:
        """One step of every game. Results go `into` given arrays and the next observations into `obs`; without them, into the VecEnv's own."""
        into = self.outcome if into is None else into
        obs = self.obs if obs is None else obs
        args = self._arguments(actions, into, obs)
        advance = self._at_once if self._is_laid_out(actions, into, obs) else self._advance
        if self._pool is None:
            advance(0, self.num_envs, 0, *args)
        else:
            list(self._pool.map(lambda part: advance(*part, *args), self._ranges))
        self.obs = obs
        return into

    @property
    def num_played(self) -> int:
        """Env steps the last step was."""
        return self.num_envs if self.played is None else int(self.played.sum())

    # ------------------------------------------------------------------ looking

    def tally(self) -> dict[str, Any]:
        """Sums over all games since the beginning: episodes, steps, returns, scores, endings. Differences of two tallies are blocks."""
        books = self.host(self.books)
        return {
            "episodes": int(books["episodes"].sum()),
            "steps": int(books["steps"].sum()),
            "return_sum": float(books["return_sum"].sum()),
            "score_sum": float(books["score_sum"].sum()),
            "length_sum": int(books["length_sum"].sum()),
            "best_score": float(books["best_score"][books["episodes"] > 0].max(initial=-np.inf)),
            "endings": dict(zip(("cut off", *self.env.endings), books["endings"].sum(0).tolist(), strict=True)),
            "reward_parts": dict(zip(self.env.reward_parts, books["reward_parts"].sum(0).tolist(), strict=True)) if self.env.reward_parts else {},
        }

    def host(self, array: Any) -> np.ndarray:
        """An array of this VecEnv as NumPy reads it."""
        return array

    def game(self, i: int) -> Any:
        """Game i as its author's functions read it: fields as attributes, printed by name."""
        return Game(self.host(self.games)[i])

    def save(self) -> dict[str, np.ndarray]:
        """Everything needed to go on from here exactly: states, streams, books and the current row."""
        saved = {name: _copy(self.host(getattr(self, name))) for name in ("games", "streams", "books")}
        return saved | {f"obs_{name}": self.host(array).copy() for name, array in self.obs.items()}

    def restore(self, saved: dict[str, np.ndarray]) -> None:
        self.check(saved)
        for name in ("games", "streams", "books"):
            self._put(getattr(self, name), saved[name])
        for name, array in self.obs.items():
            self._put(array, saved[f"obs_{name}"])

    def check(self, saved: Mapping[str, np.ndarray]) -> None:
        """Whether this could be restored; if not, a ValueError, and nothing was changed."""
        for name, mine in self.save().items():
            given = saved.get(name)
            if given is None or given.shape != mine.shape or given.dtype != mine.dtype:
                found = "missing" if given is None else f"{given.shape[0] if given.ndim else 1} of another kind of game"
                raise ValueError(f"saved {name} are {found}; expected {mine.shape[0]} of {self.env.name}; try what was saved of these very games")

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    # ------------------------------------------------------------------ the machine

    def _put(self, array: Any, values: np.ndarray) -> None:
        array[...] = values

    def _allocate(self, seed: int) -> None:
        env, n = self.env, self.num_envs
        self.games = np.zeros(n, env.state)
        self.streams = streams(seed, n)
        self.books = np.zeros(n, books_dtype(env))
        self.world = world_record(env)
        self.actions = np.zeros((n, *env.action_shape), env.action_dtype)
        self.outcome = Outcome(np.zeros(n, np.float32), np.zeros(n, np.bool_), np.zeros(n, np.bool_))
        self.obs = {name: np.zeros((n, *box.shape), box.dtype) for name, box in env.parts.items()}
        self.last = {name: np.zeros((n, *box.shape), box.dtype) for name, box in env.parts.items()}
        rooms = (os.cpu_count() or 1) if self._threads is None else self._threads
        self.scratch = np.zeros(rooms, env.scratch) if env.scratch is not None else None

    def _arguments(self, actions: Any, into: Outcome, obs: Obs) -> tuple:
        args = (self.games, self.streams, self.books, self.world, self.scratch, actions, *into, *obs.values(), *self.last.values())
        return as_python_reads(*args) if self.target == "python" else args

    def _is_laid_out(self, actions: Any, into: Outcome, obs: Obs) -> bool:
        """Whether arrays are as those the loop was compiled for, so that it may be called at once: asking Numba is most of a call (1.3 of 1.9 µs)."""
        if self._at_once is None or not _is_like(actions, self.actions):
            return False
        if into is not self.outcome and not all(map(_is_like, into, self.outcome)):
            return False
        if obs is not self._known_obs:
            if not all(_is_like(obs[name], array) for name, array in self._known_obs.items()):
                return False
            self._known_obs = obs
        return True

    def _make_loops(self) -> tuple[Callable, Callable]:
        final = self.final_observations
        texts = loop_source(self.env, final), whole_source(self.env, final), range_source(self.env)
        if self.target == "python":
            scope = build(self.env, None, *texts)
        else:
            scope = build(self.env, numba.njit(nogil=True, forceinline=True, **NATIVE), *texts)
            key = fingerprint(self.env, *texts, str(NATIVE))
            for name in ("begin", "advance"):
                keep_on_disk(scope[name], f"{self.env.name}-{name}-{key}")
        return scope["begin"], scope["advance"]

    def _warm_up(self) -> None:
        """Compile, touch every page, and find out whether threads help, without leaving a trace in the games."""
        before = self.save()
        args = self._arguments(self.actions, self.outcome, self.obs)
        with explained(self.env):
            self._begin(0, 0, 0, *args)
            self._advance(0, 0, 0, *args)
        if self.target == "cpu":
            (compiled,) = self._advance.overloads.values()  # type: ignore[attr-defined]
            self._at_once, self._known_obs = compiled.entry_point, self.obs
        if self._threads is None:
            self._threads = self._measured_threads(args)
        if self._threads > 1:
            self._use_threads(self._threads)
        self.restore(before)
        for array in (*self.last.values(), *self.outcome):
            array[...] = 0

    def _measured_threads(self, args: tuple) -> int:
        cores = min(os.cpu_count() or 1, self.num_envs)
        self._begin(0, self.num_envs, 0, *args)
        alone = _best_seconds(lambda: self._advance(0, self.num_envs, 0, *args))
        if cores == 1 or alone < SHORT_CALL_SECONDS:
            return 1
        self._use_threads(cores)
        together = _best_seconds(lambda: self.step(self.actions))
        self.close()
        return cores if together < 0.8 * alone else 1

    def _use_threads(self, count: int) -> None:
        bounds = [self.num_envs * k // count for k in range(count + 1)]
        self._ranges = [(bounds[k], bounds[k + 1], k) for k in range(count)]
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="hotloop-games")


def world_record(env: Env) -> np.ndarray | None:
    """The world as one record of arrays, which every machine reads as `world.name[…]`."""
    if not env.world:
        return None
    record = np.zeros(1, np.dtype([(name, a.dtype, a.shape) for name, a in env.world.items()], align=True))
    for name, array in env.world.items():
        record[name][0] = array
    record.flags.writeable = False
    return record


def _copy(array: np.ndarray) -> np.ndarray:
    """A copy whose padding is zero: `copy()` of records leaves it as the memory was, and equal games would differ in bytes."""
    copied = np.zeros(array.shape, array.dtype)
    copied[...] = array
    return copied


def _is_like(array: Any, other: np.ndarray) -> bool:
    """Whether compiled code may take one array for the other."""
    return type(array) is np.ndarray and array.dtype is other.dtype and array.shape == other.shape and array.flags.carray


def _best_seconds(call: Callable[[], Any], repeats: int = 5) -> float:
    call()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)
