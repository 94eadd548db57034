"""What the tests of counting have in common: a window around a body, and its rows as a person would say them; a loop over envs to be counted."""

import gc
import linecache
import sys
import time
from collections import deque

import pytest
import torch

from hotloop.lab.counting.window import Counting
from hotloop.lab.inside.events import NOWHERE

ENVS = 256


def count(body, *, phase=lambda: NOWHERE, clock=time.perf_counter, warm=True):
    """What is counted while the body runs; the first time around, libraries set themselves up."""
    if warm:
        body()
    counting = Counting(phase, pytest.fail, clock=clock)
    counting.open()
    try:
        body()
    finally:
        counted = counting.close()
    assert counted.dropped == 0
    return counted


def rows(counted, *kinds):
    return {
        (row.what, linecache.getline(row.file, row.line).strip(), *([row.through] if row.through else [])): row.calls
        for row in counted.rows
        if row.kind in kinds and row.function != "count"
    }


def ops(counted):
    return {name: calls for work in counted.work.values() for name, calls in work["ops"].items()}


def total(counted, what):
    return sum(work.get(what, 0) for work in counted.work.values())


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Whatever a window did, nothing of it stays."""
    before = list(gc.callbacks), torch._C._len_torch_dispatch_stack()
    yield
    assert sys.getprofile() is None
    assert (list(gc.callbacks), torch._C._len_torch_dispatch_stack()) == before


class Memory:
    def __init__(self):
        self.kept = deque(maxlen=1000)

    def push(self, value):
        self.kept.append(value)


def vector_step(rewards, memory, envs=ENVS):
    for env in range(envs):
        memory.push(rewards[env].item())
