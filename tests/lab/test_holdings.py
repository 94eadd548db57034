"""What a replay holds: transitions, bytes, types, what is kept twice. Numbers worked by hand."""

from collections import deque

import numpy as np
import pytest
import torch

from hotloop.lab.inside.holdings import OBJECT_BYTES, holdings
from hotloop.lab.memory import memory

OBS = 6  # float32: 24 bytes


def walk(steps, copies):
    """(obs, action, reward, next obs, ended): what came after is the very object that comes before, or a copy of it."""
    rng = np.random.default_rng(0)
    obs, kept = rng.normal(size=OBS).astype(np.float32), deque(maxlen=1000)
    for _ in range(steps):
        after = rng.normal(size=OBS).astype(np.float32)
        kept.append((obs, 1, 0.5, after.copy() if copies else after, False))
        obs = after
    return kept


def test_a_deque_of_tuples_tells_what_it_holds():
    held = holdings(walk(100, copies=False))
    assert (held["kind"], held["entries"], held["capacity"], held["kept_twice"]) == ("deque", 100, 1000, None)
    assert [(part["name"], part["type"], part["shape"], part["fits"]) for part in held["parts"]] == [
        ("0", "float32", (OBS,), None), ("1", "int", (), None), ("2", "float", (), None), ("3", "float32", (OBS,), None), ("4", "bool", (), None),
    ]  # fmt: skip


def test_copies_are_kept_twice_and_cost_twice():
    shared, copied = holdings(walk(100, copies=False)), holdings(walk(100, copies=True))
    assert copied["kept_twice"] == {"after": "3", "before": "0", "share": 1.0}
    assert copied["bytes_each"] - shared["bytes_each"] == pytest.approx(24 + OBJECT_BYTES, rel=0.02)


class Memory:
    def __init__(self, kept):
        self.name, self.kept = "memory", kept


class Columns:
    """Arrays, one row a transition, as libraries keep them."""

    def __init__(self, rows, filled, dtype, twice):
        rng = np.random.default_rng(1)
        self.obs = (rng.integers(0, 256, size=(rows, 4)) / (255 if dtype == "scaled" else 1)).astype(np.float32 if dtype == "scaled" else dtype)
        self.after = np.roll(self.obs, -1, axis=0) if twice else rng.normal(size=(rows, 4)).astype(np.float32)
        self.rewards, self.pos, self.full = np.full(rows, 0.25, np.float32), filled, False


def test_a_memory_is_found_within_the_object_that_keeps_it():
    assert holdings(Memory(walk(50, copies=False)))["entries"] == 50
    assert holdings(Memory(Memory(walk(50, copies=False))))["entries"] == 50
    assert holdings(object(), 3, None, Memory([1, 2, 3]), walk(50, copies=True))["entries"] == 50


@pytest.mark.parametrize("nothing", [None, object(), [1] * 100, Memory(deque([(1, 2, 3)])), np.zeros((100, 3))])
def test_what_is_no_memory_is_not_taken_for_one(nothing):
    assert holdings(nothing) is None


def test_columns_tell_how_full_they_are_and_what_is_kept_twice():
    held = holdings(Columns(rows=500, filled=120, dtype=np.uint8, twice=True))
    assert (held["kind"], held["entries"], held["capacity"], held["bytes_each"]) == ("arrays", 120, 500, 4 + 4 + 4)
    assert held["kept_twice"] == {"after": "after", "before": "obs", "share": 1.0}
    assert holdings(Columns(rows=500, filled=120, dtype=np.uint8, twice=False))["kept_twice"] is None


@pytest.mark.parametrize(("dtype", "fits"), [(np.float32, "uint8"), (np.int64, "uint8"), ("scaled", "uint8 / 255"), (np.uint8, None)])
def test_bytes_that_are_kept_as_wide_numbers_are_noticed(dtype, fits):
    parts = {part["name"]: part["fits"] for part in holdings(Columns(rows=500, filled=500, dtype=dtype, twice=False))["parts"]}
    assert parts == {"obs": fits, "after": None, "rewards": None}


def test_torchs_columns_are_read_as_numpys():
    columns = Columns(rows=64, filled=64, dtype=np.float32, twice=True)
    for name in ("obs", "after", "rewards"):
        setattr(columns, name, torch.from_numpy(getattr(columns, name)))
    held = holdings(columns)
    assert held["bytes_each"] == 16 + 16 + 4 and held["kept_twice"]["share"] == 1.0 and held["parts"][0]["type"] == "float32"


# Growth --------------------------------------------------------------------------------------------------------------


def record_of(mb_per_1000, rows=40, steps_a_row=500, jump_at=None):
    table = []
    for k in range(rows):
        steps = k * steps_a_row
        table.append([k * 1.0, steps, 200 + mb_per_1000 * steps / 1000 + (300 if jump_at is not None and k >= jump_at else 0), 1000.0])
    return {"blocks": {"columns": ["seconds", "env_steps", "rss_mb", "heap_blocks"], "rows": table}}


def test_growth_that_the_replay_explains_is_not_unexplained():
    holds = {"kind": "deque", "bytes_each": 2 * 1024 * 1024, "capacity": None, "entries": 1}
    told = memory(record_of(2000.0), holds)
    assert told["rss_mb_per_1000"] == pytest.approx(2000) and told["unexplained_mb_per_1000"] == pytest.approx(0)
    leaking = memory(record_of(2003.0), holds)
    assert leaking["unexplained_mb_per_1000"] == pytest.approx(3)


def test_a_full_replay_explains_nothing_more():
    holds = {"kind": "deque", "bytes_each": 2 * 1024 * 1024, "capacity": 1000, "entries": 1000}
    assert memory(record_of(2.0), holds)["replay_mb_per_1000"] == 0.0


def test_a_row_of_two_games_is_two_transitions():
    part = {"shape": (2, 4)}
    holds = {"kind": "arrays", "bytes_each": 2 * 1024 * 1024, "capacity": None, "entries": 1, "parts": [part]}
    record = record_of(1000.0)
    record["blocks"]["columns"].append("vector_steps")
    record["blocks"]["rows"] = [[*row, row[1] / 2] for row in record["blocks"]["rows"]]
    assert memory(record, holds)["replay_mb_per_1000"] == pytest.approx(1000)


def test_a_single_jump_is_no_growth():
    assert memory(record_of(0.0, jump_at=12), None)["rss_mb_per_1000"] == pytest.approx(0)


def test_a_run_too_short_says_so():
    assert memory(record_of(1.0, rows=4), None)["rss_mb_per_1000"] is None and memory({}, None) is None
