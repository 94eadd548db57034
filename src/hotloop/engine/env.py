"""Env: a game's definition, as its author writes it. Immutable; it holds no game in progress.

    State = state(ball_row="i4", ball_column="i4", paddle="i4")

    def reset(s, rng): ...
    def step(s, action, rng): ...        # -> reward, ended
    def observe(s, obs): ...

    catch = Env(name="catch", state=State, observation=Box(0.0, 1.0, (3,)), action=Discrete(3), reset=reset, step=step, observe=observe, max_steps=100)

What the functions may name besides: `world` (arrays every game shares and none may change) and `scratch` (room to work in, within one call).
The rules that can be seen before anything is compiled are checked here; the others by `hotloop check`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium.spaces import Box as GymBox
from gymnasium.spaces import Discrete, MultiDiscrete, Space

from hotloop.engine.binding import compiled

__all__ = ["Box", "Discrete", "Env", "GameError", "MultiDiscrete", "compiled", "state"]

EXTRAS = ("world", "scratch")
STATE_TYPES = ("i1", "i2", "i4", "i8", "f8", "bool")
NO_LIMIT = 2**31 - 1


class GameError(ValueError):
    """A game breaks a rule of the contract. The message says which, where, and what to try."""


def Box(low: Any, high: Any, shape: tuple[int, ...] | None = None, dtype: Any = np.float32) -> GymBox:  # noqa: N802 - Gymnasium's name
    """Gymnasium's Box, in float32 unless told otherwise and without its warnings about precision."""
    low, high = (np.asarray(bound, dtype) for bound in (low, high))
    if shape is not None:
        low, high = np.broadcast_to(low, shape).copy(), np.broadcast_to(high, shape).copy()
    return GymBox(low, high, dtype=dtype)


def state(**fields: Any) -> np.dtype:
    """The fields of a game's state: `state(x="f8", body=("i2", (100,)))`."""
    described = []
    for name, kind in fields.items():
        base, shape = (kind, ()) if isinstance(kind, str | type | np.dtype) else kind
        dtype = np.dtype(base)
        if dtype not in [np.dtype(t) for t in STATE_TYPES]:
            wide = "f8" if dtype.kind == "f" else "i2" if dtype == np.uint8 else "i8"
            raise GameError(
                f"state field {name!r} has type {dtype.name}, which compiled code and Python compute with differently; "
                f"expected one of {', '.join(STATE_TYPES)}; try {wide!r}"
            )
        if name.startswith("_") or not name.isidentifier():
            raise GameError(f"state field {name!r} is not a name a game can write as s.{name}; try a plain word")
        described.append((name, dtype, tuple(shape)))
    if not described:
        raise GameError("a state needs at least one field; try state(x='f8')")
    return np.dtype(described, align=True)


@dataclass(frozen=True, eq=False)
class Env:
    name: str
    state: np.dtype
    observation: Space | Mapping[str, GymBox]  # a Box, or one for each part `observe` names
    action: Space  # Discrete, MultiDiscrete or Box
    reset: Callable  # (s, rng)
    step: Callable  # (s, action, rng) -> reward, ended
    observe: Callable | None = None  # (s, obs), or (s, part, other_part, …)
    max_steps: int = NO_LIMIT  # steps before an episode is cut off
    mask: Callable | None = None  # (s, allowed): which discrete actions may be taken
    look: Callable | None = None  # (s) -> view: what every pixel of a frame shares
    pixel: Callable | None = None  # (s, view, row, column) -> value: the part that `observe` does not name
    score: Callable | None = None  # (s) -> what people compare; without it, the return
    render: Callable | None = None  # (s) -> RGB picture [height, width, 3]; runs in Python only
    reward_parts: tuple[str, ...] = ()  # named: then `step` returns a tuple of rewards, one a part
    endings: tuple[str, ...] = ("ended",)  # named: then `step` returns 0 to go on, or 1, 2, … for one of these
    world: Mapping[str, np.ndarray] = field(default_factory=dict)
    scratch: np.dtype | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)  # what the factory was called with

    def __post_init__(self) -> None:
        if not isinstance(self.state, np.dtype) or not self.state.names:
            raise GameError(f"{self.name}: state must be made by state(field=type, …), found {self.state!r}")
        if self.max_steps < 1:
            raise GameError(f"{self.name}: max_steps must be at least 1, found {self.max_steps}")
        if not isinstance(self.action, Discrete | MultiDiscrete | GymBox):
            raise GameError(f"{self.name}: action must be Discrete, MultiDiscrete or Box, found {self.action!r}")
        if isinstance(self.action, Discrete) and self.action.start != 0:
            raise GameError(f"{self.name}: actions are counted from 0; found Discrete(start={self.action.start})")
        self._check_world()
        self._check_parts()
        self._check_arguments()

    @property
    def observations(self) -> dict[str, GymBox]:
        """Every array an observation has, by name: one called `obs` unless the author named several."""
        return dict(self.observation) if isinstance(self.observation, Mapping) else {"obs": self.observation}  # type: ignore[dict-item]

    @cached_property
    def parts(self) -> dict[str, GymBox]:
        """What is written for each row: the observations and, where the game has a mask, the actions allowed."""
        parts = self.observations
        if self.mask is not None:
            parts["allowed"] = Box(0, 1, (self.num_choices,), np.bool_)
        return parts

    @property
    def num_choices(self) -> int:
        """How many logits a policy needs: the actions of a Discrete, all heads of a MultiDiscrete, the dimensions of a Box."""
        if isinstance(self.action, Discrete):
            return int(self.action.n)
        if isinstance(self.action, MultiDiscrete):
            return int(self.action.nvec.sum())
        return int(np.prod(self.action_shape))

    @property
    def action_shape(self) -> tuple[int, ...]:
        return () if isinstance(self.action, Discrete) else tuple(self.action.shape)  # type: ignore[arg-type]

    @property
    def action_dtype(self) -> np.dtype:
        return np.dtype(np.float32 if isinstance(self.action, GymBox) else np.int32)

    @cached_property
    def observed(self) -> list[str]:
        """The parts `observe` writes, in the order of its arguments."""
        if self.observe is None:
            return []
        names = [n for n in parameters(self.observe)[1:] if n not in EXTRAS]
        return names if isinstance(self.observation, Mapping) else ["obs"] * len(names)

    @cached_property
    def painted(self) -> str | None:
        """The part drawn by `pixel`: the one `observe` does not name."""
        if self.pixel is None:
            return None
        return next(n for n in self.observations if n not in self.observed)

    def _check_world(self) -> None:
        world = {name: as_shared(name, array) for name, array in dict(self.world).items()}
        object.__setattr__(self, "world", world)

    def _check_parts(self) -> None:
        for name, box in self.observations.items():
            if not isinstance(box, GymBox) or not box.shape:
                raise GameError(f"{self.name}: observation {name!r} must be a Box with at least one dimension, found {box!r}; try Box(low, high, (1,))")
        unwritten = [n for n in self.observations if n not in self.observed]
        if self.pixel is None and unwritten:
            raise GameError(f"{self.name}: nothing writes observation {unwritten[0]!r}; name it as an argument of observe, or draw it with look and pixel")
        if self.pixel is not None and (self.look is None or len(unwritten) != 1):
            raise GameError(f"{self.name}: pixel draws the one observation that observe does not name, from what look returns; found {unwritten or 'none'}")
        if self.painted and len(self.observations[self.painted].shape) not in (2, 3):
            raise GameError(f"{self.name}: a picture is (rows, columns) or (1, rows, columns), found {self.observations[self.painted].shape}")
        if self.mask is not None and not isinstance(self.action, Discrete | MultiDiscrete):
            raise GameError(f"{self.name}: mask needs discrete actions, found {self.action}")
        if self.mask is not None and "allowed" in self.observations:
            raise GameError(f"{self.name}: 'allowed' is the name of the mask; call the observation something else")

    def _check_arguments(self) -> None:
        expected = {
            "reset": ["s", "rng"],
            "step": ["s", "action", "rng"],
            "observe": ["s", *(self.observations if isinstance(self.observation, Mapping) else ["obs"])],
            "mask": ["s", "allowed"],
            "look": ["s"],
            "pixel": ["s", "view", "row", "column"],
            "score": ["s"],
        }
        for name, wanted in expected.items():
            function = getattr(self, name)
            if function is None:
                continue
            if not inspect.isfunction(function):
                raise GameError(f"{self.name}: {name} must be a plain function, found {function!r}; leave decorators to the engine")
            found = [p for p in parameters(function) if p not in EXTRAS]
            right = set(found[1:]) <= set(wanted[1:]) if name == "observe" and isinstance(self.observation, Mapping) else len(found) == len(wanted)
            if not right:
                code = function.__code__
                raise GameError(
                    f"{code.co_filename}:{code.co_firstlineno}: {name} takes ({', '.join(wanted)}) and, where it wants them, world and scratch; "
                    f"found ({', '.join(parameters(function))})"
                )
            if "scratch" in parameters(function) and self.scratch is None:
                raise GameError(f"{self.name}: {name} names scratch, but the Env has none; try scratch=state(…)")
            if "scratch" in parameters(function) and name in ("look", "pixel"):
                raise GameError(f"{self.name}: {name} cannot have scratch, because many threads draw one picture; try local variables")
            if "world" in parameters(function) and not self.world:
                raise GameError(f"{self.name}: {name} names world, but the Env has none; try world={{'map': array}}")


def parameters(function: Callable) -> list[str]:
    return list(inspect.signature(function).parameters)


def as_shared(name: str, array: Any) -> np.ndarray:
    """A world's array as every machine reads it: contiguous, never written, floats in double."""
    array = np.ascontiguousarray(array)
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
    elif array.dtype.kind not in "iub":
        raise GameError(f"world array {name!r} has type {array.dtype}; expected numbers or booleans")
    elif array.dtype.kind == "u":
        array = array.astype({1: np.int16, 2: np.int32}.get(array.dtype.itemsize, np.int64))
    shared = array.copy() if array.flags.writeable else array
    shared.flags.writeable = False
    return shared
