"""SB3VecEnv: our games as a vector environment of Stable-Baselines3.

    model = DQN("MlpPolicy", SB3VecEnv("snake", num_envs=256, size=8))

SB3's rules: reset in the step an episode ends in, `terminal_observation` and `TimeLimit.truncated` in its info. The info also has what a Monitor adds
(`episode`: r, l, t), `score`, `ending` and `reward_parts`. Observations are new arrays at every step, written in place. Infos of games that go on are the
same empty dicts every time: making 256 of them a step, as SB3 does, takes longer than the games.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv as SB3Base

from hotloop.engine.env import Env
from hotloop.engine.vecenv import Obs, VecEnv
from hotloop.envs.outside import Ledger, action_limits, check_actions, definition, games_on, new_outcome, new_row, observation_space, seed_games


class SB3VecEnv(SB3Base):
    """N of our games, by name, path or definition, for SB3's algorithms."""

    def __init__(self, game: str | Env, num_envs: int, *, seed: int = 0, target: str = "cpu", threads: int | None = None, **settings: Any) -> None:
        self.game = definition(game, settings)
        self.render_mode = "rgb_array" if self.game.render is not None else None
        self.vecenv: VecEnv = games_on(target, self.game, num_envs, threads)
        seed_games(self.vecenv, seed)
        super().__init__(num_envs, observation_space(self.game), self.game.action)
        self._ledger = Ledger(self.vecenv)
        self._limits = action_limits(self.game)
        self._infos: list[dict[str, Any]] = [{} for _ in range(num_envs)]
        self._started = time.time()

    def reset(self) -> Any:
        if any(seed is not None for seed in self._seeds):
            seed_games(self.vecenv, self._seeds)
        row = self.vecenv.reset(obs=new_row(self.vecenv))
        self._ledger.begin_anew(slice(None))
        self._reset_seeds()
        self._reset_options()
        return self._seen(row)

    def step_async(self, actions: np.ndarray) -> None:
        self.vecenv.actions[...] = actions
        check_actions(self.vecenv.actions, self._limits)

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict]]:
        row, outcome = new_row(self.vecenv), new_outcome(self.num_envs)
        self.vecenv.step(self.vecenv.actions, into=outcome, obs=row)
        ended = outcome.terminated | outcome.truncated
        infos = self._infos.copy()
        if ended.any():
            for i, info in zip(np.flatnonzero(ended).tolist(), self._final_infos(ended, outcome.truncated), strict=True):
                infos[i] = info
        return self._seen(row), outcome.rewards, ended, infos

    def _final_infos(self, ended: np.ndarray, truncated: np.ndarray) -> Iterable[dict[str, Any]]:
        which = np.flatnonzero(ended)
        seen = self._seen({name: array[which] for name, array in self.vecenv.last.items()})
        report = self._ledger.report(which)
        parts = {name: values.tolist() for name, values in report.pop("reward_parts", {}).items()}
        score, total, length, ending = (values.tolist() for values in report.values())
        seconds, cut_off = round(time.time() - self._started, 6), truncated[which].tolist()
        for k in range(len(which)):
            yield {
                "terminal_observation": {name: array[k] for name, array in seen.items()} if isinstance(seen, dict) else seen[k],
                "TimeLimit.truncated": cut_off[k],
                "episode": {"r": total[k], "l": length[k], "t": seconds},
                "score": score[k],
                "ending": ending[k],
                "reward_parts": {name: values[k] for name, values in parts.items()},
            }

    def _seen(self, row: Obs) -> Any:
        seen = {name: array for name, array in row.items() if name != "allowed"}
        return seen if isinstance(self.observation_space, spaces.Dict) else seen["obs"]

    # ------------------------------------------------------------------ what SB3 asks besides

    def action_masks(self) -> np.ndarray:
        """Which actions may be taken now, as sb3-contrib's MaskablePPO asks for them."""
        if "allowed" not in self.vecenv.obs:
            raise AttributeError(f"{self.game.name} has no mask")
        return self.vecenv.obs["allowed"]

    def close(self) -> None:
        self.vecenv.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        if self.game.render is None:
            return [None] * self.num_envs
        return [self.game.render(self.vecenv.game(i)) for i in range(self.num_envs)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """A game in this vector has no attributes of its own: all share the vector's."""
        value = self.action_masks() if attr_name == "action_masks" else getattr(self, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"a game's settings are fixed when it is made, {attr_name!r} cannot be set; try SB3VecEnv({self.game.name!r}, …, {attr_name}=…)")

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        if method_name != "action_masks":
            raise AttributeError(f"games have no method {method_name!r}; there is action_masks")
        masks = self.action_masks()
        return [masks[i] for i in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Infos have what a Monitor would add, so the question whether there is one is answered yes."""
        return [issubclass(wrapper_class, Monitor) for _ in self._get_indices(indices)]
