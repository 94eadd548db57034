"""Trial: one game under examination, and how it is played for that: random actions of those its mask allows, the same on every target.

    trial = Trial(env)
    for step, actions in trial.play(trial.envs("cpu")):
        seen(envs)["s.paddle"]

`python` can be stricter here than Python itself: StrictVecEnv refuses an index from the far end of an array, and `watched` looks at every call.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box as GymBox
from gymnasium.spaces import Discrete

from hotloop.engine.cuda import is_simulated
from hotloop.engine.env import Env
from hotloop.engine.plain import Cells, Game, Streams
from hotloop.engine.vecenv import TARGETS, Outcome, VecEnv, make_envs

Row = dict[str, np.ndarray]  # everything seen of games after a step, by the name a report calls it
REMEMBERED_BYTES = 64 << 20  # of rows, where two plays are compared one after the other


class Broken(Exception):
    """A game breaks the contract: the sentence says where."""


@dataclass
class Trial:
    """What the checks share: how much is played, and the games in progress, compiled once for each target."""

    env: Env
    targets: tuple[str, ...] = TARGETS
    games: int = 16  # played on `python`; compiled machines play more
    steps: int = 300
    ulps: int = 4  # units in the last place that maths libraries may differ by
    seed: int = 0
    patience: float = 2.5  # seconds for one play on a slow target: pictures drawn in Python would take minutes
    shut: dict[str, str] = field(default_factory=dict)  # target → why nothing more is asked of it
    _envs: dict[Any, VecEnv] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for target in self.targets:
            if target not in TARGETS:
                raise ValueError(f"unknown target {target!r}; expected some of {', '.join(TARGETS)}")
        if self.games < 1 or self.steps < 1:
            raise ValueError(f"a check needs at least one game and one step, found {self.games} games and {self.steps} steps; try 16 and 300")

    def games_on(self, target: str) -> int:
        return self.games * (1 if _is_slow(target) else 32)

    def envs(self, target: str, num_envs: int | None = None) -> VecEnv:
        """Games on a target, made once for each number of them."""
        key = target, num_envs or self.games_on(target)
        if key not in self._envs:
            self._envs[key] = make_envs(self.env, key[1], seed=self.seed, target=target, threads=1)
        return self._envs[key]

    def play(self, envs: VecEnv, steps: int | None = None, before: Callable[[], None] | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Games from their beginning: yields (step, actions) after each step, and 0 after the reset. `before` is called ahead of every step."""
        begin(envs, self.seed)
        started = time.perf_counter()
        yield 0, envs.host(envs.actions)
        for step in range(1, (steps or self.steps) + 1):
            if step > 3 and _is_slow(envs.target) and time.perf_counter() - started > self.patience:
                return
            actions = random_actions(envs, self.seed, step)
            if before is not None:
                before()
            take(envs, actions)
            yield step, actions

    def history(self, envs: VecEnv, before: Callable[[], None] | None = None) -> list[Row]:
        """What is seen after every step, for as many as there is room to remember."""
        row_bytes = sum(a.nbytes for a in seen(envs).values())
        return [{n: a.copy() for n, a in seen(envs).items()} for _ in self.play(envs, min(self.steps, max(3, REMEMBERED_BYTES // row_bytes)), before)]


def _is_slow(target: str) -> bool:
    return target == "python" or (target == "cuda" and is_simulated())


# ---------------------------------------------------------------- playing


def begin(envs: VecEnv, seed: int) -> None:
    """Put games where they would be had nothing been played on them."""
    envs._put(envs.books, np.zeros(envs.num_envs, envs.host(envs.books).dtype))
    envs._put(envs.games, np.zeros(envs.num_envs, envs.env.state))
    for array in (*envs.last.values(), *envs.obs.values(), *envs.outcome, envs.actions):
        envs._put(array, np.zeros_like(envs.host(array)))
    envs.reset(seed=seed)


def take(envs: VecEnv, actions: np.ndarray) -> None:
    envs._put(envs.actions, actions)
    envs.step(envs.actions)


def random_actions(envs: VecEnv, seed: int, step: int) -> np.ndarray:
    """Actions the space and the mask allow; those of the first games do not depend on how many there are."""
    env, count = envs.env, envs.num_envs
    luck = np.random.default_rng((seed, step)).random((count, int(np.prod(env.action_shape, dtype=int))))
    if isinstance(env.action, GymBox):
        low, high = np.maximum(env.action.low, -3.0), np.minimum(env.action.high, 3.0)
        return (low + luck.reshape(count, *env.action_shape) * (high - low)).astype(env.action_dtype)
    allowed = allowed_by_head(envs) if env.mask else [np.ones((count, n), bool) for n in choices(env)]
    return np.stack([_one_of(part, luck[:, head]) for head, part in enumerate(allowed)], axis=1).reshape(count, *env.action_shape).astype(env.action_dtype)


def choices(env: Env) -> list[int]:
    """How many actions each head of a discrete action space has."""
    return [int(env.action.n)] if isinstance(env.action, Discrete) else [int(n) for n in env.action.nvec.ravel()]  # type: ignore[attr-defined]


def allowed_by_head(envs: VecEnv) -> list[np.ndarray]:
    """The mask of the current row, cut into the heads of the action space."""
    return np.split(envs.host(envs.obs["allowed"]).astype(bool), np.cumsum(choices(envs.env))[:-1], axis=1)


def _one_of(allowed: np.ndarray, luck: np.ndarray) -> np.ndarray:
    """For every row, one of the columns that are true, each equally likely."""
    nth = np.floor(luck * allowed.sum(1)).astype(int)
    return np.argmax(np.cumsum(allowed, axis=1) > nth[:, None], axis=1)


# ---------------------------------------------------------------- comparing


def seen(envs: VecEnv) -> Row:
    games, books = envs.host(envs.games), envs.host(envs.books)
    rows = {f"s.{name}": games[name] for name in games.dtype.names or ()}
    rows |= {f"observation {name}": envs.host(array) for name, array in envs.obs.items()}
    rows |= {f"last observation {name}": envs.host(array) for name, array in envs.last.items()}
    rows |= dict(zip(("reward", "terminated", "truncated"), map(envs.host, envs.outcome)))
    rows |= {f"book {name}": books[name] for name in books.dtype.names or ()}
    return rows | {"luck": envs.host(envs.streams)}


class Difference(NamedTuple):
    name: str
    game: int
    cell: tuple[int, ...]
    left: Any
    right: Any

    def told(self, left: str, right: str) -> str:
        cell = f"[{', '.join(map(str, self.cell))}]" if self.cell else ""
        return f"game {self.game}: {self.name}{cell} is {self.left!r} {left}, {self.right!r} {right}"


def difference(left: Row, right: Row) -> Difference | None:
    """The first thing in which two rows are not the same, bit for bit, as far as both have games."""
    for name, a in left.items():
        count = min(len(a), len(right[name]))
        a, b = np.ascontiguousarray(a[:count]), np.ascontiguousarray(right[name][:count])
        if a.tobytes() != b.tobytes():
            same = ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b)) if a.dtype.kind == "f" else a == b
            if not same.all():
                game, *index = np.argwhere(~same)[0].tolist()
                return Difference(name, game, tuple(index), a[(game, *index)].item(), b[(game, *index)].item())
    return None


def ulps_between(a: np.ndarray, b: np.ndarray, before: np.ndarray) -> np.ndarray:
    """How far apart, in the last place of the largest of the two and of the value they were computed from; whole numbers must be equal."""
    if a.dtype.kind != "f":
        return np.where(a == b, 0.0, np.inf)
    size = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.abs(before))
    with np.errstate(invalid="ignore"):
        units = np.abs(a - b) / np.spacing(size)
    return np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.where(np.isfinite(units), units, np.inf))


def rounding(trial: Trial, left: VecEnv, right: VecEnv) -> tuple[float, int, Difference | None]:
    """The most by which two machines differ after one step from the same state, in units in the last place; where, and at which step."""
    worst: tuple[float, int, Difference | None] = (0.0, 0, None)
    again = np.arange(right.num_envs) % left.num_envs  # where one side has more games, they are copies
    before: Row = {}

    def same_state() -> None:
        before.update((name, array.copy()) for name, array in seen(left).items())
        right.restore({name: array[again] for name, array in left.save().items()})

    begin(right, trial.seed)
    for step, actions in trial.play(left, before=same_state):
        if step == 0:
            continue
        take(right, actions[again])
        here, there = seen(left), seen(right)
        for name in (n for n in here if not n.startswith("last")):
            units = ulps_between(here[name], there[name][: left.num_envs], before[name])
            if units.max(initial=0.0) > worst[0]:
                game, *index = (int(i) for i in np.unravel_index(int(units.argmax()), units.shape))
                values = (array[name][(game, *index)].item() for array in (here, there))
                worst = float(units.max()), step, Difference(name, game, tuple(index), *values)
    return worst


def side_by_side(trial: Trial, left: VecEnv, right: VecEnv, what: str, here: str, there: str) -> None:
    """Play the same games twice: they are the same after every step, or the game is broken."""
    for (step, _), _ in zip(trial.play(left), trial.play(right)):
        found = difference(seen(left), seen(right))
        if found:
            raise Broken(f"{what}: at step {step}, {found.told(here, there)}")


def hold_equal(histories: list[list[Row]], what: str) -> None:
    """The same was seen twice, after every step, or the game is broken."""
    for step, (a, b) in enumerate(zip(*histories)):
        found = difference(a, b)
        if found:
            raise Broken(f"{what}: at step {step}, {found.told('once', 'the other time')}")


# ---------------------------------------------------------------- stricter than Python


class StrictCells(Cells):
    """Cells that refuse an index from the far end, and know what they are called."""

    __slots__ = ("_name",)

    def __init__(self, array: np.ndarray, name: str) -> None:
        super().__init__(array)
        self._name = name

    def __getitem__(self, index: Any) -> Any:
        self._refuse_odd(index)
        value = self._array[index]
        return StrictCells(value, f"{self._name}[{index}]") if isinstance(value, np.ndarray) else value.item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._refuse_odd(index)
        super().__setitem__(index, value)

    def _refuse_odd(self, index: Any) -> None:
        for i, length in zip(index if isinstance(index, tuple) else (index,), self._array.shape):
            if isinstance(i, bool | np.bool_ | float | np.floating):
                raise IndexError(f"{self._name}[{index}]: the index is not a whole number")
            if not isinstance(i, slice) and not 0 <= i < length:
                far_end = f"; write {length + i} if the far end is meant" if -length <= i < 0 else ""
                raise IndexError(f"{self._name}[{index}], but its indices are 0 to {length - 1}{far_end}")


class StrictGame(Game):
    __slots__ = ("_called",)

    def __init__(self, record: np.void, called: str) -> None:
        super().__init__(record)
        object.__setattr__(self, "_called", called)

    def __getattr__(self, name: str) -> Any:
        value = super().__getattr__(name)
        return StrictCells(value._array, f"{self._called}.{name}") if isinstance(value, Cells) else value


class StrictGames:
    __slots__ = ("_called", "_records")

    def __init__(self, records: np.ndarray, called: str) -> None:
        self._records, self._called = records, called

    def __getitem__(self, i: int) -> StrictGame:
        return StrictGame(self._records[i], self._called)


class StrictVecEnv(VecEnv):
    """Games on `python` whose arrays are read strictly."""

    def _arguments(self, actions: Any, into: Outcome, obs: Any) -> tuple:
        arrays = {"s": self.games, "book": self.books, "world": self.world, "scratch": self.scratch}
        games, books, world, scratch = (None if a is None else StrictGames(a, called) for called, a in arrays.items())
        return games, Streams(self.streams), books, world, scratch, StrictCells(actions, "action"), *into, *obs.values(), *self.last.values()


def watched(env: Env, names: tuple[str, ...], around: Callable[[str, Callable, tuple], Any]) -> Env:
    """The game with some of its functions called by `around(name, function, arguments)`, for `python`."""

    def wrapped(name: str) -> Callable:
        function = getattr(env, name)

        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            return around(name, function, arguments)

        return call

    changed: dict[str, Any] = {name: wrapped(name) for name in names if getattr(env, name) is not None}
    return replace(env, **changed)


def play_strictly(trial: Trial, env: Env | None = None) -> None:
    """Play on `python` with strict arrays. What is raised there carries a note of the step and the game."""
    envs = StrictVecEnv(trial.env if env is None else env, trial.games, target="python")
    when = "at the first reset"
    try:
        for step, _ in trial.play(envs):
            when = f"at step {step + 1}"
    except Exception as error:
        error.add_note(f"{when}, game {_game_of(error)}")
        raise


def _game_of(error: BaseException) -> Any:
    """The game that was being played when an error was raised: the loop's own variable."""
    trace, game = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith("<hotloop"):
            game = trace.tb_frame.f_locals.get("i", game)
        trace = trace.tb_next
    return game
