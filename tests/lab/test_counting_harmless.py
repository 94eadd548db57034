"""Counting is harmless: a run is the same for having been counted, whatever the script does about it and whatever mistakes we make."""

import functools
import json
import os
import random
import sys
import threading
from collections import deque
from importlib import _bootstrap

import numpy as np
import pytest
import torch
from planted import Memory, count, nothing_is_left, ops, rows, total, vector_step  # noqa: F401 - a fixture
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from hotloop.lab.counting import window as counting_module
from hotloop.lab.counting.window import Counting
from hotloop.lab.inside.events import NOWHERE

# Nothing is different --------------------------------------------------------------------------------------------------


def train(seed, counting=None):
    """A small DQN: what it learned, where it went, and where all random streams stand after it."""
    random.seed(seed), np.random.seed(seed), torch.manual_seed(seed)  # noqa: NPY002 - the streams scripts use
    network = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2), nn.Dropout(0.1))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    memory, went = deque(maxlen=200), []
    for step in range(60):
        if step == 20 and counting:
            counting.open()
        obs = np.random.standard_normal(4).astype(np.float32)  # noqa: NPY002
        action = int(network(torch.FloatTensor(obs).unsqueeze(0)).argmax()) if random.random() < 0.7 else random.randrange(2)
        memory.append((obs, action, float(obs.sum())))
        went.append((obs.tobytes(), action))
        if len(memory) >= 8:
            batch = random.sample(memory, 8)
            values = network(torch.from_numpy(np.array([part[0] for part in batch])))[range(8), [part[1] for part in batch]]
            loss = ((values - torch.tensor([part[2] for part in batch])) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            went.append(loss.item())
        if step == 40 and counting:
            counting.close()
    ends = random.getstate(), np.random.get_state()[1].tobytes(), torch.get_rng_state().numpy().tobytes()  # noqa: NPY002
    return went, [parameter.detach().numpy().tobytes() for parameter in network.parameters()], ends


def test_a_run_is_the_same_to_the_last_bit():
    assert train(1, Counting(lambda: NOWHERE, pytest.fail)) == train(1)


def test_another_seed_is_noticed():
    assert train(1) != train(2)


def test_calls_are_the_same_whether_operations_are_counted_or_not(monkeypatch):
    """torch calls Python functions around every operation while a mode is on; none of them may be counted."""
    network, obs = nn.Sequential(nn.Linear(4, 8), nn.ReLU()), torch.ones(3, 4)

    optimizer = torch.optim.Adam(network.parameters())

    def body():
        optimizer.zero_grad()
        network(obs).sum().backward()
        optimizer.step()
        torch.distributions.Normal(torch.zeros(2), torch.ones(2)).sample().tolist()

    count(body)  # the first time an operation is met, torch makes a Python object of it
    both = count(body)
    monkeypatch.setattr(counting_module.Operations, "open", lambda self, thread: [])
    alone = count(body)
    assert both.functions == alone.functions
    assert total(both, "torch_ops") > 10 and total(alone, "torch_ops") == 0


def test_an_exception_goes_where_it_would_have_gone():
    seen = []

    def body():
        try:
            torch.ones(2) @ torch.ones(3)
        except RuntimeError as error:
            seen.append(str(error))
        [].append(1)

    counted = count(body)
    assert seen[0] == seen[1]
    assert rows(counted, "builtin")["append", "[].append(1)"] == 1  # counting goes on


def test_an_interrupt_within_an_operation_goes_through():
    def interrupt(gradient):
        raise KeyboardInterrupt

    def body():
        x = torch.ones(2, requires_grad=True)
        x.register_hook(interrupt)
        with pytest.raises(KeyboardInterrupt):
            (x * 2).sum().backward()
        [].append(1)

    assert rows(count(body), "builtin")["append", "[].append(1)"] == 1


@pytest.mark.parametrize("after", range(0, 120, 3))
def test_a_mistake_of_ours_ends_the_counting_and_nothing_else(after):
    """Wherever it happens: between two calls, within an operation, or at the very first look."""
    told, looks = [], []

    def phase():
        looks.append(1)
        if len(looks) > after:
            raise ZeroDivisionError("ours")
        return NOWHERE

    counting = Counting(phase, told.append)
    counting.open()
    result = [torch.ones(2).sum().item() for _ in range(20)]
    assert result == [2.0] * 20
    assert torch._C._len_torch_dispatch_stack() == 0
    assert sys.getprofile() is None
    assert told == ["counting: ZeroDivisionError: ours"]
    assert counting.close().blind == ["all after a mistake of the lab's (counting: ZeroDivisionError: ours)"]


def test_a_mistake_within_an_operation_does_not_reach_the_script(monkeypatch):
    told = []
    monkeypatch.setattr(counting_module.Operations, "_moved", lambda self, values: 1 / 0)
    counting = Counting(lambda: NOWHERE, told.append)
    counting.open()
    result = [torch.ones(2).sum().item() for _ in range(3)]
    assert result == [2.0] * 3
    assert told == ["counting operations: ZeroDivisionError: division by zero"]
    assert torch._C._len_torch_dispatch_stack() == 0


# Scripts that look at themselves -----------------------------------------------------------------------------------------


def test_a_profile_function_of_the_scripts_own_stays():
    events = []

    def theirs(frame, event, value):
        events.append(event)

    x = torch.ones(())
    sys.setprofile(theirs)
    try:
        counting = Counting(lambda: NOWHERE, pytest.fail)
        counting.open()
        assert sys.getprofile() is theirs
        float(x)
        counted = counting.close()
        assert sys.getprofile() is theirs
    finally:
        sys.setprofile(None)
    assert "c_call" in events
    assert counted.blind == ["calls: the script has a profile function of its own"]
    assert rows(counted, "sync") == {("float", "float(x)"): 1}  # operations are counted all the same


class Theirs(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func._schema.name)
        return func(*args, **(kwargs or {}))


def test_a_torch_mode_of_the_scripts_own_stays_alone():
    theirs = Theirs()
    with theirs:
        counting = Counting(lambda: NOWHERE, pytest.fail)
        counting.open()
        x = torch.ones(2)
        x.tolist()
        counted = counting.close()
        torch.zeros(2)
    torch.zeros(2)
    assert theirs.seen == ["aten::ones", "aten::zeros"]
    assert counted.blind == ["torch operations: the script has a torch mode of its own"]
    assert rows(counted, "sync") == {("tolist", "x.tolist()"): 1}


def test_a_mode_that_began_within_the_window_may_outlast_it():
    theirs, counting = Theirs(), Counting(lambda: NOWHERE, pytest.fail)
    counting.open()
    with theirs:
        torch.ones(2)
        counted = counting.close()
        torch.zeros(2)
        assert torch._C._len_torch_dispatch_stack() == 1
    assert theirs.seen == ["aten::ones", "aten::zeros"]
    assert ops(counted) == {"ones": 1}


# Bounds --------------------------------------------------------------------------------------------------------------


def test_places_beyond_the_bound_are_counted_but_not_told_apart(monkeypatch):
    def body():
        for _ in range(10):
            len(""), abs(0), hash(0), ord("a"), chr(1)

    exact = count(body)
    monkeypatch.setattr(counting_module, "MOST_PLACES", 4)
    counting = Counting(lambda: NOWHERE, pytest.fail)
    counting.open()
    body()
    counted = counting.close()
    assert counted.dropped > 0 and len(rows(counted, "builtin")) < 5
    assert total(counted, "c_calls") == total(exact, "c_calls")


def test_operations_of_lines_beyond_the_bound_are_counted_but_not_told_apart(monkeypatch):
    def body():
        x = torch.ones(2)
        for _ in range(3):
            x.sin(), x.cos(), x.tan()

    body()
    monkeypatch.setattr("hotloop.lab.counting.operations.MOST_LINES", 2)
    counting = Counting(lambda: NOWHERE, pytest.fail)
    counting.open()
    body()
    counted = counting.close()
    assert ops(counted) == {"ones": 1, "sin": 3, "cos": 3, "tan": 3}
    assert rows(counted, "op") == {("ones", "x = torch.ones(2)"): 1, ("sin", "x.sin(), x.cos(), x.tan()"): 3}
    assert counted.dropped == 6


def test_a_window_can_be_closed_from_another_thread():
    rewards, memory, counted = torch.zeros(4), Memory(), []
    counting = Counting(lambda: NOWHERE, pytest.fail)

    def close():
        counted.append(counting.close())

    counting.open()
    vector_step(rewards, memory, 4)
    thread = threading.Thread(target=close)
    thread.start()
    thread.join()
    functools.partial(len, "")()  # the next event in our thread is where the looking ends
    counting.stop()
    assert rows(counted[0], "sync") == {("item", "memory.push(rewards[env].item())"): 4}


def test_what_was_counted_is_plain():
    rewards, memory = torch.zeros(4), Memory()
    counted = count(lambda: vector_step(rewards, memory, 4))
    again = json.loads(json.dumps(counted._asdict()))
    assert [tuple(row) for row in again["rows"]] == counted.rows
    assert again["work"] == counted.work


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")  # as newer Pythons say of every fork
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_can_be_left_alone():
    counting = Counting(lambda: NOWHERE, pytest.fail)
    counting.open()
    child = os.fork()
    if not child:
        counting.stop()  # as what is registered with os.register_at_fork does
        os._exit(0 if sys.getprofile() is None and not torch._C._len_torch_dispatch_stack() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert total(counting.close(), "c_calls") > 0


def test_loading_a_module_is_not_counted(tmp_path, monkeypatch):
    (tmp_path / "loaded_meanwhile.py").write_text("def f():\n    return len([])\n\nfor _ in range(100):\n    f()\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = _bootstrap._find_and_load
    counting = Counting(lambda: NOWHERE, pytest.fail)
    counting.open()
    import loaded_meanwhile

    loaded_meanwhile.f()
    counted = counting.close()
    assert {name: calls for name, *_, calls in counted.functions if name in ("f", "builtins.len")} == {"f": 1, "builtins.len": 1}
    assert _bootstrap._find_and_load is before
