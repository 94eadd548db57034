"""Replay beside its slow obvious twin: a list of every transition played, on a game that writes (game, episode, step) into what it shows."""

import tracemalloc
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from hotloop.engine.checkpoint import load_checkpoint, save_checkpoint
from hotloop.engine.env import Box, Discrete, Env, state
from hotloop.engine.replay import Minibatch, Replay
from hotloop.engine.vecenv import VecEnv, make_envs

FORMS = ["native", "torch"]
GO_ON, END = 0, 1  # the actions; a game ends when it is told to


def told(limit: int, side: int = 2) -> Env:
    """Shows (game, episode, step) as numbers, the step again as a picture, and a mask."""

    def reset(s, rng):
        s.episode += 1
        s.at = 0

    def step(s, action, rng):
        s.at += 1
        return 100.0 * s.game + 10.0 * s.episode + s.at, action == END

    def observe(s, where, picture):
        where[0], where[1], where[2] = s.game, s.episode, s.at
        picture[:, :] = s.at

    def mask(s, allowed):
        allowed[0] = True
        allowed[1] = s.at % 2 == 0

    shown = {"where": Box(0, 1e6, (3,)), "picture": Box(0, 255, (side, side), np.uint8)}
    return Env("told", state(game="i4", episode="i4", at="i4"), shown, Discrete(2), reset, step, observe, max_steps=limit, mask=mask)


class Transition(NamedTuple):
    obs: bytes
    action: int
    reward: float
    next_obs: bytes
    terminated: bool


def as_bytes(parts, i) -> bytes:
    return b"".join(np.asarray(part[i]).tobytes() for part in parts.values())


class Twin:
    """Plays games into a Replay and writes down, one row after another, what each game lived through; None where a step was not played."""

    def __init__(self, games: int, capacity: int, limit: int, played: float | None = None, seed: int = 0) -> None:
        self.envs: VecEnv = make_envs(told(limit), games, target="python")
        self.envs.games["game"] = np.arange(games)
        self.envs.played = None if played is None else np.ones(games, np.bool_)
        self.memory = Replay(capacity, self.envs, seed=seed)
        self.draw, self.share = np.random.default_rng(seed), played
        self.rows: list[list[Transition | None]] = []
        self.room = capacity // games
        self.envs.reset(obs=self.memory.row().obs)

    def play(self, steps: int, ends: float = 0.2) -> None:
        for _ in range(steps):
            row = self.memory.row()
            row.actions[...] = self.draw.random(self.envs.num_envs) < ends
            self.envs.step(row.actions, into=row.outcome, obs=row.next_obs)
            if self.share is not None:
                self.envs.played[:] = self.draw.random(self.envs.num_envs) < self.share
            self.rows.append([self._lived(row, i) for i in range(self.envs.num_envs)])
            self.memory.advance(self.envs.last, self.envs.played)

    def _lived(self, row, i: int) -> Transition | None:
        if self.envs.played is not None and not self.envs.played[i]:
            return None
        follows = self.envs.last if row.outcome.truncated[i] else row.next_obs
        return Transition(as_bytes(row.obs, i), int(row.actions[i]), float(row.outcome.rewards[i]), as_bytes(follows, i), bool(row.outcome.terminated[i]))

    def remembered(self) -> list[Transition]:
        return [transition for row in self.rows[-self.room :] for transition in row if transition is not None]


def sampled(memory: Replay, size: int, form: str = "native") -> Minibatch:
    """A batch from the CPU's sampler, or from the one a GPU uses, run on the CPU."""
    if form == "native":
        return memory.sample(size).at(0)
    batch = memory.sample(size)
    memory._generator = memory._generator or torch.Generator().manual_seed(0)
    memory._draw(memory._buffers[size, 1])
    return batch.at(0)


def transitions(batch: Minibatch) -> list[Transition]:
    obs, next_obs = ({name: part.numpy() for name, part in parts.items()} for parts in (batch.obs, batch.next_obs))
    actions, rewards, terminated = batch.actions.tolist(), batch.rewards.tolist(), batch.terminated.tolist()
    return [Transition(as_bytes(obs, i), actions[i], rewards[i], as_bytes(next_obs, i), terminated[i]) for i in range(len(rewards))]


def check(twin: Twin, form: str = "native") -> None:
    """What is sampled is what is remembered: all of it, and nothing else."""
    remembered = set(twin.remembered())
    batch = sampled(twin.memory, 40 * len(remembered), form)
    found = set(transitions(batch))
    assert not found - remembered, "sampled what was not lived through"
    assert found == remembered, "some of what is remembered is never sampled"
    here, after = batch.obs["where"].int(), batch.next_obs["where"].int()
    goes_on = ~batch.terminated
    assert torch.equal(after[goes_on], (here + torch.tensor([0, 0, 1]))[goes_on]), "crossed the end of an episode"


# ---------------------------------------------------------------- what is remembered


@pytest.mark.parametrize("form", FORMS)
@given(games=st.integers(1, 4), rows=st.integers(1, 9), spare=st.integers(0, 3), limit=st.integers(1, 6), ends=st.sampled_from([0.0, 0.3]))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_sample_holds_what_was_lived_through_however_long_it_goes_on(form, games, rows, spare, limit, ends):
    """Before the ring is full, as it fills, and after it has gone round more than twice."""
    twin = Twin(games, rows * games + min(spare, games - 1), limit)
    for steps in (1, rows, rows + 1, 3):
        twin.play(steps, ends)
        check(twin, form)
        assert len(twin.memory) == len(twin.remembered())


@given(games=st.integers(1, 4), rows=st.integers(2, 9), limit=st.integers(1, 6), share=st.sampled_from([0.3, 0.7]))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_step_that_was_not_played_is_never_sampled(games, rows, limit, share):
    twin = Twin(games, rows * games, limit, played=share)
    for steps in (rows, rows + 1):
        twin.play(steps)
        assert len(twin.memory) == len(twin.remembered())
        if twin.remembered():
            check(twin)


@pytest.mark.parametrize("played", [None, 0.0])
def test_where_nothing_was_played_there_is_an_error_and_no_waiting(played):
    twin = Twin(2, 8, limit=3, played=played)
    if played is not None:
        twin.play(3)
    with pytest.raises(ValueError, match="nothing was played yet"):
        twin.memory.sample(4)


def test_the_two_forms_give_the_same_bytes_for_the_same_draws(monkeypatch):
    twin = Twin(games=3, capacity=30, limit=4)
    twin.play(25)
    memory = twin.memory
    native = transitions(sampled(memory, 500))
    row, game = np.divmod(memory._buffers[500, 1].here_array, memory.num_envs)
    drawn = (row - (memory.head - memory.filled)) % memory.rows * memory.num_envs + game
    monkeypatch.setattr(torch, "randint", lambda *_, **__: torch.from_numpy(drawn))
    assert transitions(sampled(memory, 500, "torch")) == native
    assert any(t.terminated for t in native)


def ignore_the_cut_offs(twin):
    twin.memory.truncated.zero_()


def keep_the_next_row_aside(twin):
    """The games themselves are wrong, so twin and memory agree; only the observations can tell."""
    step = twin.envs.step

    def broken(actions, into, obs):
        step(actions, into=into, obs=obs)
        for name, part in obs.items():
            twin.envs.last[name][...] = part

    twin.envs.step = broken


def have_room_for_one_cut_off_a_game(twin):
    twin.memory.places = 1


def call_cut_offs_deaths(twin):
    twin.memory.terminated |= twin.memory.truncated


def remember_the_write_head(twin):
    twin.memory.filled += 1


def forget_a_row(twin):
    twin.memory.filled -= 1


def play_what_was_not_played(twin):
    twin.memory.played.fill_(True)


@pytest.mark.parametrize(
    ("sabotage", "before", "complaint"),
    [
        (ignore_the_cut_offs, False, "not lived through"),
        (keep_the_next_row_aside, True, "crossed the end of an episode"),
        (have_room_for_one_cut_off_a_game, True, "not lived through"),
        (call_cut_offs_deaths, False, "not lived through"),
        (remember_the_write_head, False, "not lived through"),
        (forget_a_row, False, "never sampled"),
        (play_what_was_not_played, False, "not lived through"),
    ],
)
def test_sabotage_is_noticed(sabotage, before, complaint):
    twin = Twin(games=3, capacity=30, limit=4, played=0.8 if sabotage is play_what_was_not_played else None)
    if before:
        sabotage(twin)
    twin.play(25, ends=0.05)
    if not before:
        sabotage(twin)
    with pytest.raises(AssertionError, match=complaint):
        check(twin)


# ---------------------------------------------------------------- how it is sampled


def unevenness(twin: Twin, form: str, each: int = 400) -> tuple[float, float]:
    """Chi-square of how often each transition was drawn, and what it exceeds once in a thousand times if all are equally likely."""
    remembered = twin.remembered()
    counts = Counter(transitions(sampled(twin.memory, each * len(remembered), form)))
    return sum((counts[t] - each) ** 2 / each for t in remembered), chi2.ppf(0.999, len(remembered) - 1)


@pytest.mark.parametrize(("form", "played"), [("native", None), ("torch", None), ("native", 0.5)])
def test_every_remembered_transition_is_equally_likely(form, played):
    twin = Twin(games=5, capacity=35, limit=4, played=played)
    twin.play(17)
    found, allowed = unevenness(twin, form)
    assert found < allowed


def test_a_sampler_that_favours_one_row_is_noticed(monkeypatch):
    """A sixth of the draws from the oldest row come from the next one instead."""
    uniform = torch.randint

    def biased(*args, **kwargs):
        drawn = uniform(*args, **kwargs)
        return torch.where((drawn < 5) & (torch.arange(len(drawn)) % 6 == 0), drawn + 5, drawn)

    twin = Twin(games=5, capacity=35, limit=4)
    twin.play(17)
    monkeypatch.setattr(torch, "randint", biased)
    found, allowed = unevenness(twin, "torch")
    assert found > allowed


def test_batches_of_one_call_differ_and_share_no_room():
    twin = Twin(games=4, capacity=400, limit=9)
    twin.play(100)
    batches = twin.memory.sample(32, 3)
    assert batches.rewards.shape == (3, 32) and batches.obs["where"].shape == (3, 32, 3) and batches.next_obs["allowed"].shape == (3, 32, 2)
    assert len({tuple(transitions(batches.at(k))) for k in range(3)}) == 3


def test_equal_seeds_sample_the_same_and_others_do_not():
    envs, drawn = make_envs(told(5), 2, target="python"), []
    for seed in (3, 3, 4):
        memory = Replay(40, envs, seed=seed)
        memory.filled = 20
        memory.sample(64)
        drawn.append(memory._buffers[64, 1].here.tolist())
    assert drawn[0] == drawn[1] != drawn[2]


# ---------------------------------------------------------------- room


def test_buffers_are_used_again_and_each_size_has_its_own():
    twin = Twin(games=2, capacity=40, limit=5)
    twin.play(20)
    first = twin.memory.sample(16, 2)
    before = first.rewards.clone()
    again, other = twin.memory.sample(16, 2), twin.memory.sample(32, 1)
    assert again is first and not torch.equal(first.rewards, before)
    assert other.obs["where"].data_ptr() != first.obs["where"].data_ptr()


def test_writing_and_sampling_allocate_nothing_the_size_of_a_row_or_a_batch():
    """A row and a batch are 128 KiB each; torch's allocations are in the profile, NumPy's and Python's in the trace."""
    envs = make_envs(told(limit=3, side=64), 32, threads=1)
    memory = Replay(32 * 10, envs)
    envs.reset(obs=memory.row().obs)

    def walk(steps):
        for _ in range(steps):
            row = memory.row()
            row.actions[...] = GO_ON
            envs.step(row.actions, into=row.outcome, obs=row.next_obs)
            memory.advance(envs.last)
            memory.sample(32)

    walk(20)
    tracemalloc.start()
    walk(20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        walk(20)
        torch.ones(10_000)  # what the profile must be able to see
    allocated = sorted((event.cpu_memory_usage for event in profile.events()), reverse=True)
    assert peak < 20_000
    assert allocated[0] == 40_000 and max(size for size in allocated if size < 40_000) < 4_000


@pytest.mark.parametrize(("limit", "places"), [(1, 101), (20, 7), (100, 3), (101, 3), (102, 2), (2**31 - 1, 2)])
def test_there_is_room_aside_for_as_many_cut_offs_as_the_ring_can_hold(limit, places):
    """Within 101 rows an episode of 20 steps can be cut off six times; there is one place more than that, and never more than rows."""
    memory = Replay(300, make_envs(told(limit), 3, target="python"))
    assert memory.rows == 101
    assert memory.places == places and memory.cut["where"].shape == (places * 3 + 1, 3)


def test_nbytes_is_the_memory_of_the_columns():
    """Three rows of two games and their cut-offs: where 12 bytes, picture 4, allowed 2, action 4, reward 4, two flags, a slot of 4."""
    memory = Replay(4, make_envs(told(1), 2, target="python"))
    assert memory.nbytes == 3 * 2 * (12 + 4 + 2 + 4 + 4 + 1 + 1 + 4) + (3 * 2 + 1) * (12 + 4 + 2)


def test_a_memory_too_small_for_one_row_says_what_would_do():
    envs = make_envs(told(4), 8, target="python")
    with pytest.raises(ValueError, match="at least one row of 8 games; found a capacity of 7; try 800"):
        Replay(7, envs)
    assert Replay(8, envs).rows == 2


# ---------------------------------------------------------------- saving


@pytest.mark.parametrize("played", [None, 0.7])
def test_a_memory_put_back_goes_on_with_identical_samples(tmp_path, played):
    twin = Twin(games=3, capacity=30, limit=4, played=played)
    twin.play(17)
    twin.memory.sample(8)
    save_checkpoint(tmp_path / "memory.npz", {}, twin.memory.save())
    other = Twin(games=3, capacity=30, limit=4, played=played, seed=5)
    other.play(3)
    other.memory.restore(load_checkpoint(tmp_path / "memory.npz")[1])
    other.envs.obs = other.memory.row().obs
    other.envs.restore(twin.envs.save())
    other.draw, other.rows = np.random.default_rng(8), list(twin.rows)
    twin.draw = np.random.default_rng(8)
    for steps in (0, 1, 4, 30):
        for one in (twin, other):
            one.play(steps)
        assert transitions(twin.memory.sample(64).at(0)) == transitions(other.memory.sample(64).at(0))
        assert twin.remembered() == other.remembered()
        check(other)
        check(twin)
