"""Reading what a Gymnasium vector environment says of itself and of its steps: spaces, limits, autoreset mode, final observations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv

from hotloop.engine.env import Box

SHORTEST = 1  # what is known of when an environment without a limit cuts episodes off


def mode_of(envs: VectorEnv) -> AutoresetMode:
    declared = envs.metadata.get("autoreset_mode")
    if declared is None:
        modes = ", ".join(str(mode) for mode in AutoresetMode)
        raise ValueError(f"{type(envs).__name__} does not say when it resets: expected metadata['autoreset_mode'], one of {modes}; try setting it")
    return AutoresetMode(declared)


def limit_of(envs: VectorEnv) -> int:
    """The shortest limit of the environments inside, where they can be seen, or else of all of them together."""
    inside = [getattr(env, "spec", None) for env in getattr(envs, "envs", ())]
    whole: Any = getattr(envs, "spec", None)
    limits = [getattr(spec, "max_episode_steps", None) for spec in inside]
    if not limits and hasattr(whole, "kwargs"):
        limits = [whole.kwargs.get("max_episode_steps") or whole.max_episode_steps]
    return min((limit or SHORTEST for limit in limits), default=SHORTEST)


def spaces_of(space: spaces.Space) -> dict[str, spaces.Space]:
    """The parts of an observation."""
    parts = dict(space.spaces) if isinstance(space, spaces.Dict) else {"obs": space}
    for name, part in parts.items():
        if not isinstance(part, spaces.Box | spaces.Discrete):
            raise ValueError(f"observation {name!r} must be a Box or Discrete, found {part}; try gymnasium.wrappers.FlattenObservation")
    return parts


def box_of(space: spaces.Space) -> spaces.Box:
    """The Box our row holds: doubles as floats, a number as one of one, a choice as ones and zeros."""
    if isinstance(space, spaces.Discrete):
        return Box(0.0, 1.0, (int(space.n),))
    assert isinstance(space, spaces.Box)
    dtype = np.float32 if space.dtype == np.float64 else space.dtype
    shape = space.shape or (1,)
    with np.errstate(over="ignore"):  # a double's largest number is infinity to a float
        return Box(space.low.reshape(shape), space.high.reshape(shape), dtype=dtype)


def encoded(space: spaces.Space | None, batch: np.ndarray) -> np.ndarray:
    """Observations [B] of a space as rows of its Box; without a space, as they are."""
    if space is None:
        return batch
    if isinstance(space, spaces.Discrete):
        return np.arange(space.n) == (batch.reshape(-1, 1) - space.start)
    return batch.reshape(len(batch), *(space.shape or (1,)))


def finals(infos: Mapping[str, Any], which: np.ndarray) -> tuple[Any, dict[str, Any]]:
    """The final observations, and masks, of just the games that ended."""
    final, masks = infos.get("final_obs"), infos.get("final_info", {}).get("action_mask")
    if final is None:
        raise ValueError("an episode ended without infos['final_obs'], which same-step autoreset promises; is metadata['autoreset_mode'] right?")
    about = {} if masks is None else {"action_mask": masks[which]}
    if isinstance(final, Mapping):
        return {name: array[which] for name, array in final.items()}, about
    rows = [final[i] for i in which]
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]} if isinstance(rows[0], Mapping) else np.stack(rows), about


def first_action(action: spaces.Space) -> Any:
    """What has to be added to our actions, which count from 0."""
    if not isinstance(action, spaces.Discrete | spaces.MultiDiscrete | spaces.Box):
        raise ValueError(f"actions must be Discrete, MultiDiscrete or Box, found {action}; try a wrapper that makes them one of these")
    return getattr(action, "start", 0)
