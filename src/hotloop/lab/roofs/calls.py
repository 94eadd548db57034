"""Calls' roofs: what it costs to ask for something at all, however little: a Python function, a C function, a small operation of NumPy or torch.

Everything is called ten times a turn, so that the loop around the calls hardly counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from hotloop.lab.roofs.arithmetic import torch_set
from hotloop.lab.roofs.probe import SECONDS, Probe, Run

IN_A_TURN = 10
SMALL = 64  # numbers in a small operation


def call_probes() -> list[Probe]:
    """One at a time, on one thread: none of this can be shared out."""
    return [*python_probes(), *numpy_probes(), *torch_probes()]


def python_probes() -> Iterator[Probe]:
    class Thing:
        def method(self) -> None:
            pass

    def function() -> None:
        pass

    yield probe("Python function", calls_of(function))
    yield probe("Python method", calls_of(Thing().method))
    yield probe("C function", calls_of([].count, 1))


def numpy_probes() -> Iterator[Probe]:
    import numpy as np

    left, right, out = (np.ones(SMALL, np.float32) for _ in range(3))
    yield probe("NumPy operation", calls_of(np.add, left, right, out))
    yield probe("NumPy operation, new array", calls_of(np.add, left, right))


def torch_probes() -> Iterator[Probe]:
    """Without and with a graph being recorded for the gradient; then the way back through a graph."""
    import torch

    left, right = torch.ones(SMALL), torch.ones(SMALL)
    weights = torch.ones(SMALL, requires_grad=True)
    yield probe("torch operation, in place", calls_of(left.add_, right), alone)
    yield probe("torch operation", calls_of(torch.add, left, right), alone)
    yield probe("torch operation, with grad", calls_of(torch.add, weights, right), alone)
    yield probe("torch operation, there and back", there_and_back(weights), alone)


def there_and_back(weights: Any) -> Run:
    """A chain of operations and its backward pass: the gradient of each is one operation more."""
    import torch

    def run(repeats: int) -> None:
        for _ in range(repeats):
            value = weights
            for _ in range(IN_A_TURN):
                value = torch.neg(value)
            value.backward(gradient)

    gradient = torch.ones(SMALL)
    return run


def calls_of(call: Any, *arguments: Any) -> Run:
    """Ten calls a turn, written out: unpacking arguments in the loop would cost as much as a call."""
    names = ", ".join("abc"[: len(arguments)])
    turn = f"            call({names})\n" * IN_A_TURN
    made: dict[str, Any] = {}
    exec(f"def make(call, {names}):\n    def run(repeats):\n        for _ in range(repeats):\n{turn}    return run", made)
    run: Run = made["make"](call, *arguments)
    return run


def probe(name: str, run: Run, within: Callable[[], AbstractContextManager[Any]] = nullcontext) -> Probe:
    return Probe("calls", name, SECONDS, float(IN_A_TURN), [run], within=within, is_busy=True)


def alone() -> AbstractContextManager[Any]:
    """torch on one thread: a second one is of no use to sixty-four numbers."""
    return torch_set(1, "highest")
