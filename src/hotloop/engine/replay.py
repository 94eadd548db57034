"""Replay: the off-policy memory. Environments write rows into it; learners get batches gathered from it.

A ring of rows, one row a vector step, each observation kept once: what follows an action is the next row. Where an episode was cut off, what it was
cut off at is kept aside, since the next row belongs to another episode. The write head's row holds the observation no action was chosen for yet.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import torch
from gymnasium.spaces import Box as GymBox
from gymnasium.spaces import Discrete, Space

from hotloop.engine.binding import bind, digest
from hotloop.engine.cache import keep_on_disk
from hotloop.engine.checkpoint import hold_to, hold_within
from hotloop.engine.random import randint, streams
from hotloop.engine.vecenv import Obs, Outcome, VecEnv

Batch = dict[str, torch.Tensor]


class Row(NamedTuple):
    """The write head: where to look, where to write."""

    obs: Obs  # [N, *part] to choose actions from
    actions: Any  # [N, *action] to be written by the policy
    outcome: Outcome  # [N] to be written by the step
    next_obs: Obs  # [N, *part] to be written by the step


class Minibatch(NamedTuple):
    """`count` batches of B transitions, in buffers that the next sample overwrites."""

    obs: Batch  # [count, B, *part]
    actions: torch.Tensor  # [count, B, *action]
    rewards: torch.Tensor  # [count, B]
    next_obs: Batch  # [count, B, *part]
    terminated: torch.Tensor  # [count, B]

    def at(self, k: int) -> Minibatch:
        """The k-th batch, without the leading dimension."""
        obs, next_obs = ({name: part[k] for name, part in parts.items()} for parts in (self.obs, self.next_obs))
        return Minibatch(obs, self.actions[k], self.rewards[k], next_obs, self.terminated[k])


class Replay:
    def __init__(self, capacity: int, envs: VecEnv, *, seed: int = 0) -> None:
        if capacity < envs.num_envs:
            raise ValueError(f"the replay must hold at least one row of {envs.num_envs} games; found a capacity of {capacity}; try {100 * envs.num_envs}")
        self.num_envs, self.device = envs.num_envs, torch.device(envs.device)
        self.rows = capacity // envs.num_envs + 1  # one more than it remembers: the write head
        self.places = min(self.rows, self.rows // envs.env.max_steps + 2)  # no game is cut off more often than that within the ring
        env, n = envs.env, envs.num_envs
        self._action = env.action
        self.obs = {name: self._column((self.rows, n, *box.shape), box.dtype) for name, box in env.parts.items()}
        self.cut = {name: self._column((self.places * n + 1, *box.shape), box.dtype) for name, box in env.parts.items()}
        self.actions = self._column((self.rows, n, *env.action_shape), env.action_dtype)
        self.rewards = self._column((self.rows, n), np.float32)
        self.terminated = self._column((self.rows, n), np.bool_)
        self.truncated = self._column((self.rows, n), np.bool_)
        self.cut_slot = self._column((self.rows, n), np.int32)
        self.played = self._column((self.rows, n), np.bool_).fill_(True) if envs.played is not None else None
        self.cuts = self._column((n,), np.int64)  # how often each game was cut off
        assert self.played is None or self.device.type == "cpu", "only environments of this machine's processors spend steps on resets"
        self.head = self.filled = self.unplayed = 0  # where is written, how many rows are remembered, how many cells of them nobody may learn from
        self.luck = streams(seed, 1, first=1 << 40)[0]  # the sampler's own stream
        self._buffers: dict[tuple[int, int], _Buffers] = {}
        self._written = {name: self._native(getattr(self, name)) for name in ("actions", "rewards", "terminated", "truncated")}
        self._seen = {name: self._native(column) for name, column in self.obs.items()}
        self._generator = torch.Generator(self.device).manual_seed(seed) if self.device.type == "cuda" else None

    def __len__(self) -> int:
        """Transitions it can give."""
        return self.filled * self.num_envs - self.unplayed

    @property
    def nbytes(self) -> int:
        columns = [*self.obs.values(), *self.cut.values(), self.actions, self.rewards, self.terminated, self.truncated, self.cut_slot]
        return sum(c.numel() * c.element_size() for c in columns)

    # ------------------------------------------------------------------ writing

    def row(self) -> Row:
        here, after, w = self.head, (self.head + 1) % self.rows, self._written
        outcome = Outcome(w["rewards"][here], w["terminated"][here], w["truncated"][here])
        return Row({n: c[here] for n, c in self._seen.items()}, w["actions"][here], outcome, {n: c[after] for n, c in self._seen.items()})

    def advance(self, last: Obs, played: Any = None) -> None:
        """The row is written: keep aside what was cut off, and move on."""
        if self.device.type == "cuda" or self._written["truncated"][self.head].any():
            self._keep_aside(self.truncated[self.head], last)
        if self.played is not None:
            forgotten = (self.head + 1) % self.rows  # the next row to be written; before the ring is full it counts as played
            self.unplayed += int(np.count_nonzero(~played)) - int((~self.played[forgotten]).sum())
            self.played[self.head] = torch.as_tensor(played)
            self.played[forgotten] = True
        self.head = (self.head + 1) % self.rows
        self.filled = min(self.filled + 1, self.rows - 1)

    def _keep_aside(self, cut_off: torch.Tensor, last: Obs) -> None:
        """Each game has places of its own, used in turn; who was not cut off writes to the spare one. No look at a value on the device."""
        spare = self.places * self.num_envs
        own = torch.arange(self.num_envs, device=self.device) * self.places + self.cuts % self.places
        place = torch.where(cut_off, own, spare)
        self.cuts += cut_off
        self.cut_slot[self.head] = place
        for name, column in self.cut.items():
            column.index_copy_(0, place, torch.as_tensor(last[name]))

    # ------------------------------------------------------------------ sampling

    def sample(self, batch_size: int, count: int = 1) -> Minibatch:
        """`count` batches, each uniform over what is remembered."""
        if not len(self):
            raise ValueError("nothing was played yet, so there is nothing to sample; expected at least one row of steps in the replay")
        key = (batch_size, count)
        if key not in self._buffers:
            self._buffers[key] = _Buffers(self, count, batch_size)
        buffers = self._buffers[key]
        if self.device.type == "cpu":
            self._draw_native(buffers)
        else:
            self._draw(buffers)
        return buffers.batches

    def _draw_native(self, b: _Buffers) -> None:
        here, after = b.here_array, b.after_array
        _draw_cells(self.luck, self.head, self.filled, self.rows, self.num_envs, *b.ends, here, after)
        for table, kept_aside, obs, next_obs in b.observed:
            _gather(table, here, obs)
            _gather_next(table, kept_aside, after, next_obs)
        for table, out in b.simple:
            _gather(table, here, out)

    def _draw(self, b: _Buffers) -> None:
        """The same in torch operations, for a GPU."""
        drawn = torch.randint(self.filled * self.num_envs, (len(b.here),), device=self.device, generator=self._generator)
        row = (self.head - self.filled + drawn // self.num_envs) % self.rows
        game = drawn % self.num_envs
        torch.add(row * self.num_envs, game, out=b.here)
        after = ((row + 1) % self.rows) * self.num_envs + game
        cut_off = self.truncated.view(-1)[b.here]
        slot = self.cut_slot.view(-1)[b.here].long()
        for name, column in self.obs.items():
            flat, kept = column.flatten(0, 1), self.cut[name]
            torch.index_select(flat, 0, b.here, out=b.obs[name])
            wanted = cut_off.view(-1, *[1] * (flat.dim() - 1))
            b.next_obs[name].copy_(torch.where(wanted, kept[torch.where(cut_off, slot, 0)], flat[after]))
        for column, out in ((self.actions, b.actions), (self.rewards, b.rewards), (self.terminated, b.terminated)):
            torch.index_select(column.flatten(0, 1), 0, b.here, out=out)

    # ------------------------------------------------------------------ saving

    def save(self) -> dict[str, np.ndarray]:
        """All that it holds; on the CPU as views, to be written before the next step."""
        columns = {**{f"obs_{k}": v for k, v in self.obs.items()}, **{f"cut_{k}": v for k, v in self.cut.items()}}
        columns |= {name: getattr(self, name) for name in ("actions", "rewards", "terminated", "truncated", "cut_slot", "cuts")}
        if self.played is not None:
            columns["played"] = self.played
        saved = {name: column.cpu().numpy() for name, column in columns.items()}
        if self._generator is not None:
            saved["generator"] = self._generator.get_state().cpu().numpy()
        return saved | {"at": np.array([self.head, self.filled]), "luck": self.luck.copy()}

    def check(self, saved: dict[str, np.ndarray]) -> None:
        """Whether this could be restored; if not, a RunError, and nothing was changed. Numbers that index memory are looked at one by one."""
        hold_to(saved, self.save(), "replay.")
        if not isinstance(self._action, GymBox):
            hold_within(saved["actions"], 0, highest_action(self._action), "replay.actions")
        hold_within(saved["cut_slot"], 0, self.places * self.num_envs, "replay.cut_slot")
        hold_within(saved["at"], 0, self.rows - 1, "replay.at")

    def restore(self, saved: dict[str, np.ndarray]) -> None:
        self.check(saved)
        for name in ("actions", "rewards", "terminated", "truncated", "cut_slot", "cuts", *(["played"] if self.played is not None else [])):
            getattr(self, name).copy_(torch.from_numpy(saved[name]))
        for name in self.obs:
            self.obs[name].copy_(torch.from_numpy(saved[f"obs_{name}"]))
            self.cut[name].copy_(torch.from_numpy(saved[f"cut_{name}"]))
        self.head, self.filled = (int(k) for k in saved["at"])
        self.unplayed = 0 if self.played is None else int((~self.played).sum())
        self.luck[:] = saved["luck"]
        if self._generator is not None:
            self._generator.set_state(torch.from_numpy(saved["generator"]))

    def _column(self, shape: tuple[int, ...], dtype: Any) -> torch.Tensor:
        column = torch.empty(shape, dtype=torch.from_numpy(np.empty(0, dtype)).dtype, device=self.device)
        return column.fill_(0)  # every page is touched before the clock starts

    def _native(self, tensor: torch.Tensor) -> Any:
        return tensor.numpy() if self.device.type == "cpu" else tensor


class _Buffers:
    """Reused room for `count` batches."""

    def __init__(self, replay: Replay, count: int, batch_size: int) -> None:
        size = count * batch_size

        def like(column: torch.Tensor, skipped: int = 2) -> torch.Tensor:
            return torch.zeros((size, *column.shape[skipped:]), dtype=column.dtype, device=column.device)

        def split(tensor: torch.Tensor) -> torch.Tensor:
            return tensor.view(count, batch_size, *tensor.shape[1:])

        self.here = torch.zeros(size, dtype=torch.int64, device=replay.device)  # cells of the ring, row * num_envs + game
        self.after = torch.zeros(size, dtype=torch.int64, device=replay.device)  # where next_obs is: a cell, or -1-slot of what was kept aside
        self.obs = {name: like(column) for name, column in replay.obs.items()}
        self.next_obs = {name: like(column) for name, column in replay.obs.items()}
        self.actions, self.rewards, self.terminated = like(replay.actions), like(replay.rewards), like(replay.terminated)
        obs, next_obs = ({name: split(part) for name, part in parts.items()} for parts in (self.obs, self.next_obs))
        self.batches = Minibatch(obs, split(self.actions), split(self.rewards), next_obs, split(self.terminated))  # views of the above
        if replay.device.type == "cpu":
            self._look_as_tables(replay)

    def _look_as_tables(self, replay: Replay) -> None:
        """What the native gathers work on, made once: making a view costs as much as gathering a batch."""
        self.here_array, self.after_array = self.here.numpy(), self.after.numpy()
        played = replay.played.numpy().reshape(-1) if replay.played is not None else None
        self.ends = (played, replay.truncated.numpy().reshape(-1), replay.cut_slot.numpy().reshape(-1))
        self.observed = [
            (_cells(column), _cells(replay.cut[name], 1), _cells(self.obs[name], 1), _cells(self.next_obs[name], 1)) for name, column in replay.obs.items()
        ]
        written = ((replay.actions, self.actions), (replay.rewards, self.rewards), (replay.terminated, self.terminated))
        self.simple = [(_cells(column), _cells(out, 1)) for column, out in written]


def highest_action(space: Space) -> Any:
    """The last of a Discrete, of every head of a MultiDiscrete."""
    return int(space.n) - 1 if isinstance(space, Discrete) else space.nvec - 1  # type: ignore[attr-defined]


def _cells(column: torch.Tensor, leading: int = 2) -> np.ndarray:
    """A column as a table of cells: [cells, width]."""
    array = column.numpy()
    return array.reshape(int(np.prod(array.shape[:leading])), -1)


_randint = bind(randint.__compiled__, numba.njit)


@numba.njit(nogil=True)
def _gather(table, cells, out):
    for i in range(len(cells)):
        for k in range(table.shape[1]):
            out[i, k] = table[cells[i], k]


@numba.njit(nogil=True)
def _gather_next(table, kept_aside, after, out):
    for i in range(len(after)):
        if after[i] >= 0:
            for k in range(table.shape[1]):
                out[i, k] = table[after[i], k]
        else:
            for k in range(table.shape[1]):
                out[i, k] = kept_aside[-1 - after[i], k]


@numba.njit(nogil=True)
def _draw_cells(luck, head, filled, rows, num_envs, played, truncated, cut_slot, here, after):
    """Transitions uniform over the ring, and where each one's next observation is."""
    oldest = head - filled + rows
    i = 0
    while i < len(here):
        drawn = _randint(luck, filled * num_envs)
        row = (oldest + drawn // num_envs) % rows
        game = drawn % num_envs
        cell = row * num_envs + game
        if played is not None and not played[cell]:
            continue
        here[i] = cell
        after[i] = -1 - cut_slot[cell] if truncated[cell] else (row + 1) % rows * num_envs + game
        i += 1


for _function in (_gather, _gather_next, _draw_cells):
    keep_on_disk(_function, f"replay-{_function.py_func.__name__}-{digest(_function.py_func)}")
