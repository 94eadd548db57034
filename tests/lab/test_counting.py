"""Counting: planted numbers come back exactly, from the lines they were planted in, in the phase they belong to.

Rows are compared as (what, the text of the line, through which library function): calls.
"""

import _thread
import copy
import functools
import gc
import io
import linecache
import operator
import os
import pickle
import threading
import time
from collections import deque

import numpy as np
import pytest
import torch
from planted import ENVS, Memory, count, nothing_is_left, ops, rows, total, vector_step  # noqa: F401 - a fixture
from torch import nn

from hotloop.lab.counting.window import Counting
from hotloop.lab.inside.events import ACT, FORWARD, LEARN, NOWHERE, SAMPLE, STEP, STORE, Recorder
from hotloop.lab.inside.trampoline import Detour

# What is seen --------------------------------------------------------------------------------------------------------


def test_a_loop_over_envs_is_counted_call_by_call():
    rewards, memory = torch.zeros(ENVS), Memory()
    counted = count(lambda: vector_step(rewards, memory))
    assert rows(counted, "python", "builtin", "sync", "op") == {
        ("vector_step", "counted = count(lambda: vector_step(rewards, memory))"): 1,
        ("item", "memory.push(rewards[env].item())"): 256,
        ("Memory.push", "memory.push(rewards[env].item())"): 256,
        ("append", "self.kept.append(value)"): 256,
        ("select", "memory.push(rewards[env].item())"): 256,
        ("_local_scalar_dense", "memory.push(rewards[env].item())"): 256,
    }


def test_one_env_more_is_noticed():
    """The check above must be able to fail."""
    rewards, memory = torch.zeros(ENVS + 1), Memory()
    counted = count(lambda: vector_step(rewards, memory, ENVS + 1))
    assert rows(counted, "sync") == {("item", "memory.push(rewards[env].item())"): 257}


def fetch(x, mapping):
    float(x)
    int(x), int(x)
    if x:
        pass
    while not x:
        pass
    x.item()
    mapping[x.tolist()]
    x.numpy()
    f"{x:.2f}"
    bool(x > 0)
    ["a", "b"][x.long()]
    return max(x, x)


def test_every_way_to_fetch_a_value_is_counted_under_its_name():
    x = torch.ones(())
    counted = count(lambda: fetch(x, {1.0: 0}))
    assert rows(counted, "sync") == {
        ("float", "float(x)"): 1,
        ("int", "int(x), int(x)"): 2,
        ("bool", "if x:"): 1,
        ("bool", "while not x:"): 1,
        ("item", "x.item()"): 1,
        ("tolist", "mapping[x.tolist()]"): 1,
        ("numpy", "x.numpy()"): 1,
        ("item", 'f"{x:.2f}"', "Tensor.__format__"): 1,
        ("bool", "bool(x > 0)"): 1,
        ("index", '["a", "b"][x.long()]'): 1,
        ("max", "return max(x, x)"): 1,
    }


def make(values, array):
    torch.tensor(values)
    torch.as_tensor(array)
    torch.from_numpy(array)
    torch.FloatTensor(values)
    torch.FloatTensor(array).unsqueeze(0)
    float_tensors = [torch.FloatTensor(part) for part in (values, values, array)]
    torch.LongTensor([1, 2])
    torch.Tensor(values)
    return np.array(values), float_tensors


def test_every_way_to_make_a_tensor_is_counted_under_its_name():
    counted = count(lambda: make([1.0, 2.0], np.zeros(2, np.float32)))
    assert rows(counted, "tensor", "array") == {
        ("tensor", "torch.tensor(values)"): 1,
        ("as_tensor", "torch.as_tensor(array)"): 1,
        ("from_numpy", "torch.from_numpy(array)"): 1,
        ("FloatTensor", "torch.FloatTensor(values)"): 1,
        ("FloatTensor", "torch.FloatTensor(array).unsqueeze(0)"): 1,
        ("FloatTensor", "float_tensors = [torch.FloatTensor(part) for part in (values, values, array)]"): 3,
        ("LongTensor", "torch.LongTensor([1, 2])"): 1,
        ("Tensor", "torch.Tensor(values)"): 1,
        ("array", "return np.array(values), float_tensors"): 1,
    }


def product(a, b):
    return a @ b


def learn(a, b, optimizer):
    loss = product(a, b).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def test_an_update_is_counted_with_what_it_computes_and_moves():
    """[8, 4] @ [4, 16]: 2 · 8 · 4 · 16 = 1024 flops forward and 1024 backward, as only b wants a gradient; 4 · (32 + 64 + 128) = 896 bytes for the first."""
    a, b = torch.ones(8, 4), torch.ones(4, 16, requires_grad=True)
    alone = count(lambda: product(a, b))
    assert ops(alone) == {"mm": 1}
    assert (total(alone, "bytes"), alone.work["step"]["flops"]) == (896, {"float32": 1024})
    optimizer = torch.optim.SGD([b], lr=0.1, foreach=False)
    counted = count(lambda: learn(a, b, optimizer), phase=lambda: LEARN)
    assert list(counted.work) == ["learn"]
    assert counted.work["learn"]["flops"] == {"float32": 2048}
    assert {name: calls for name, calls in ops(counted).items() if name in ("mm", "sum", "ones_like", "expand", "t", "add_")} == {
        "mm": 2,  # one of them in the backward pass
        "sum": 1,
        "ones_like": 1,
        "expand": 1,
        "t": 1,
        "add_": 1,  # b -= 0.1 · gradient
    }


def products(a, image, kernel):
    torch.addmm(a, a, a), torch.bmm(a[None], a[None]), nn.functional.linear(a, a, a[0])
    for stride, convolve in ((1, nn.functional.conv2d), (2, nn.functional.conv2d), (1, nn.functional.conv_transpose2d)):
        convolve(image, kernel, stride=stride).sum().backward()


def test_our_formulas_give_what_torchs_give():
    from torch.utils.flop_counter import FlopCounterMode

    given = torch.ones(4, 4), torch.ones(2, 6, 9, 9, requires_grad=True), torch.ones(6, 6, 3, 3, requires_grad=True)
    with FlopCounterMode(display=False) as torchs:
        products(*given)
    assert count(lambda: products(*given)).work["step"]["flops"] == {"float32": torchs.get_total_flops()}


@pytest.mark.parametrize(
    ("body", "flops"),
    [
        (lambda: torch.ones(3, 4) @ torch.ones(4), 2 * 3 * 4),  # torch's formulas leave this out,
        (lambda: attend(torch.ones(1, 2, 8, 4)), 2 * 2 * (2 * 8 * 8 * 4)),  # and this on a CPU: two heads, two products
        (lambda: convolve_in_groups(), 3 * 10_368),  # and count this wrong: 2 · (2·6·4·4) · (3·3·3) forward, and twice that backward
    ],
)
def test_where_torchs_formulas_fall_short_ours_are_worked_by_hand(body, flops):
    assert count(body).work["step"]["flops"] == {"float32": flops}


def attend(query):
    nn.functional.scaled_dot_product_attention(query, query, query)


def convolve_in_groups():
    image, kernel = torch.ones(2, 6, 9, 9, requires_grad=True), torch.ones(6, 3, 3, 3, requires_grad=True)
    nn.functional.conv2d(image, kernel, stride=2, groups=2).sum().backward()


def test_dtypes_are_kept_apart():
    a, b = torch.ones(2, 2, dtype=torch.float64), torch.ones(2, 2)
    assert count(lambda: (a @ a, b @ b)).work["step"]["flops"] == {"float64": 16, "float32": 16}


def act_and_learn(network, obs):
    with torch.no_grad():
        network(obs)
    network(obs), network(obs)


def test_forward_passes_are_counted_by_network_and_gradients_and_layers_are_not():
    network = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    counted = count(lambda: act_and_learn(network, torch.ones(3, 4)))
    assert rows(counted, "forward") == {
        ("forward of Sequential 1 without gradients", "network(obs)"): 1,
        ("forward of Sequential 1 with gradients", "network(obs), network(obs)"): 2,
    }
    assert counted.networks == [{"name": "Sequential 1", "parameters": 4 * 8 + 8 + 8 * 2 + 2, "tensors": 4}]


def keep_house(network, stream, path):
    copy.deepcopy(network)
    torch.optim.SGD(network.parameters(), lr=0.1)
    torch.save(network.state_dict(), stream)
    pickle.dumps([1, 2])
    print("hello", file=stream_of_text)
    print("again", file=stream_of_text)
    with open(path, "wb", buffering=0) as file:
        file.write(b"x" * 1000)
    Screen().render()


stream_of_text = io.StringIO()


class Screen:
    def render(self):
        return Glass().render()


class Glass:
    def render(self):
        return None


def test_what_costs_much_has_a_name_of_its_own(tmp_path):
    network = nn.Linear(2, 2)
    counted = count(lambda: keep_house(network, io.BytesIO(), tmp_path / "file"))
    assert rows(counted, "copy", "optimizer", "checkpoint", "serialise", "print", "render") == {
        ("deepcopy", "copy.deepcopy(network)"): 1,
        ("state_dict", "torch.save(network.state_dict(), stream)"): 1,
        ("optimizer made", "torch.optim.SGD(network.parameters(), lr=0.1)", "SGD.__init__"): 1,
        ("torch.save", "torch.save(network.state_dict(), stream)"): 1,
        ("dumps", "pickle.dumps([1, 2])"): 1,
        ("print", 'print("hello", file=stream_of_text)'): 1,
        ("print", 'print("again", file=stream_of_text)'): 1,
        ("render", "Screen().render()"): 1,  # and not the one within
    }
    assert rows(counted, "file")["write", 'file.write(b"x" * 1000)'] == 1
    if os.path.exists("/proc/thread-self/io"):
        assert total(counted, "file_bytes") == 1000


def doze():
    time.sleep(0)
    time.sleep(0)


def test_sleeping_is_counted_in_seconds():
    """A clock that goes on by one second each time it is read: each sleep lasts from one reading to the next."""
    ticks = iter(range(1000))
    counted = count(doze, clock=lambda: float(next(ticks)))
    assert [(row.what, row.function, row.calls) for row in counted.rows if row.kind == "sleep"] == [("sleep", "doze", 1)] * 2
    assert total(counted, "slept_seconds") == 2.0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)


def test_a_function_that_a_library_calls_belongs_to_the_line_that_called_the_library():
    network, x = Net(), torch.ones(1, 2)
    counted = count(lambda: network(x))
    assert rows(counted, "python", "forward") == {
        ("forward of Net 1 with gradients", "counted = count(lambda: network(x))"): 1,
        ("Net.forward", "counted = count(lambda: network(x))", "Module._call_impl"): 1,
        ("Module.__getattr__", "return self.layer(x)"): 1,
    }


def test_python_functions_are_added_up_whoever_calls_them():
    def leaf():
        return None

    def twice():
        leaf()
        leaf()

    counted = count(lambda: [twice() for _ in range(10)])
    called = {name.rpartition(".")[2]: calls for name, _, _, _, calls in counted.functions if "<locals>" in name}
    assert called["leaf"] == 20 and called["twice"] == 10


def test_a_collection_of_garbage_is_counted():
    counted = count(lambda: gc.collect(0))
    assert rows(counted, "garbage")["collect", "counted = count(lambda: gc.collect(0))"] == 1
    assert [row.calls for row in counted.rows if row.what == "collection of generation 0"] == [1]


def test_other_threads_are_not_counted():
    rewards, memory = torch.zeros(4), Memory()

    def elsewhere():
        thread = threading.Thread(target=vector_step, args=(rewards, memory, 4))
        thread.start()
        thread.join()

    assert rows(count(elsewhere), "sync", "op") == {}


def test_an_operation_in_a_thread_of_torchs_belongs_to_the_line_that_waits_for_it():
    """As backward passes on a GPU: a thread without a line of Python, and the mode that was on where it was called from."""
    x, waiting = torch.ones(2), _thread.allocate_lock()
    counting = Counting(lambda: NOWHERE, pytest.fail)
    counting.open()
    push, pop, mode = torch._C._push_on_torch_dispatch_stack, torch._C._pop_torch_dispatch_stack, counting._operations._mode
    calls = functools.partial(push, mode), functools.partial(torch.sin, x), functools.partial(pop, None), waiting.release
    waiting.acquire()
    _thread.start_new_thread(deque, (map(operator.call, calls),))
    waiting.acquire()
    counted = counting.close()
    assert rows(counted, "op") == {("sin", "waiting.acquire()"): 1}


def test_a_function_behind_a_probe_belongs_to_the_line_that_called_it():
    def store(value):
        return [value]

    recorder = Recorder()
    detour = Detour(store, recorder.probe(STORE))
    counted = count(lambda: store(1), phase=lambda: recorder._kind)
    detour.remove()
    found = {row for row in counted.rows if row.what.endswith("store")}
    assert [(row.phase, linecache.getline(row.file, row.line).strip(), row.through, row.calls) for row in found] == [
        ("store", "counted = count(lambda: store(1), phase=lambda: recorder._kind)", "", 1)
    ]
    assert counted.work["store"]["python_calls"] == 1  # and none of ours


# To which phase it belongs ---------------------------------------------------------------------------------------------


class Phases:
    """A phase that is set by hand."""

    def __init__(self):
        self.kind = NOWHERE

    def __call__(self):
        return self.kind

    def during(self, kind, body):
        self.kind = kind
        body()
        self.kind = NOWHERE


def by_phase(counted, kind):
    return {(row.phase, linecache.getline(row.file, row.line).strip()): row.calls for row in counted.rows if row.kind == kind}


def loop(phases, x, decisive):
    phases.during(STEP, lambda: len("step"))
    hash("after step")
    phases.during(FORWARD, lambda: x.tanh())
    abs(1)
    phases.during(FORWARD, lambda: x.exp())
    id("made into an action")
    phases.during(decisive, lambda: len("decisive"))


@pytest.mark.parametrize(("decisive", "settled", "gap"), [(STEP, "act", "act"), (LEARN, "learn", "learn"), (SAMPLE, "learn", "learn")])
def test_a_forward_pass_and_what_is_about_it_belong_where_its_time_does(decisive, settled, gap):
    phases, x = Phases(), torch.ones(1)
    counted = count(lambda: loop(phases, x, decisive), phase=phases)
    name = {STEP: "step", LEARN: "learn", SAMPLE: "sample"}[decisive]
    assert by_phase(counted, "builtin") == {
        ("step", 'phases.during(STEP, lambda: len("step"))'): 1,
        ("glue", 'hash("after step")'): 1,
        (settled, "phases.during(FORWARD, lambda: x.tanh())"): 1,
        (settled, "abs(1)"): 1,
        (settled, "phases.during(FORWARD, lambda: x.exp())"): 1,
        (gap, 'id("made into an action")'): 1,
        (name, 'phases.during(decisive, lambda: len("decisive"))'): 1,
    }
    assert counted.work[settled]["ops"] == {"tanh": 1, "exp": 1}


def test_what_stands_between_acting_and_storing_is_glue():
    phases = Phases()

    def body():
        phases.during(ACT, lambda: len("act"))
        hash("between")
        phases.during(LEARN, lambda: len("learn"))

    assert ("glue", 'hash("between")') in by_phase(count(body, phase=phases), "builtin")
