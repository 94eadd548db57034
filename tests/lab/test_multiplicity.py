"""Multiplicity: numbers worked by hand. 100 vector steps of 256 envs, 25 updates, 40 episodes, unless a test says otherwise."""

import json

import pytest

from hotloop.lab.counting.multiplicity import counts, known_sizes, match, per_what, summary, whole, work
from hotloop.lab.counting.names import Count, Counted

CLOCKS = {"env_steps": 25_600, "vector_steps": 100, "updates": 25, "episodes": 40}
ONE_ENV = {"env_steps": 100, "vector_steps": 100, "updates": 25, "episodes": 4}


def counted(*rows, functions=(), done=None, networks=()):
    return Counted(1.0, list(rows), list(functions), done or {}, list(networks), {}, [], 0)._asdict()


def row(kind, what, phase, calls, line=10):
    return Count(kind, what, "train.py", line, "main", "", phase, calls)


def as_told(what, per, times, matches):
    return {"what": what, "per": per, "times": times, "matches": matches}


def told(rows):
    return [as_told(row["what"], row["per"], row["times"], row["matches"]) for row in rows]


def test_a_loop_over_envs_reads_as_one():
    rows = (
        row("sync", "item", "step", 76_800, line=1),
        row("builtin", "numpy", "act", 51_200, line=2),
        row("python", "Buffer.push", "store", 25_600, line=3),
        row("builtin", "add", "glue", 100, line=4),
    )
    assert told(counts(counted(*rows), CLOCKS)) == [
        as_told("item", "vector step", 768.0, "3 × num_envs"),
        as_told("numpy", "vector step", 512.0, "2 × num_envs"),
        as_told("Buffer.push", "vector step", 256.0, "num_envs"),
        as_told("add", "vector step", 1.0, None),
    ]


def test_a_loop_with_one_env_left_out_does_not():
    """The loop above, broken: 255 is no multiple of anything."""
    assert told(counts(counted(row("python", "Buffer.push", "store", 25_500)), CLOCKS)) == [as_told("Buffer.push", "vector step", 255.0, None)]


def test_a_row_says_all_there_is_to_know():
    assert counts(counted(Count("sync", "item", "train.py", 41, "learn", "_get_value", "learn", 1600)), CLOCKS, {"batch_size": 64}) == [
        {
            "kind": "sync",
            "what": "item",
            "file": "train.py",
            "line": 41,
            "function": "learn",
            "through": "_get_value",
            "phase": "learn",
            "calls": 1600,
            "per": "update",
            "times": 64.0,
            "matches": "batch_size",
        }
    ]


def test_rows_read_back_from_json_are_the_same():
    before = counted(row("sync", "item", "learn", 1600))
    assert counts(json.loads(json.dumps(before)), CLOCKS) == counts(before, CLOCKS)


@pytest.mark.parametrize(
    ("calls", "phase", "clocks", "expected"),
    [
        (1600, "learn", CLOCKS, ("update", 64.0)),
        (1600, "sample", CLOCKS, ("update", 64.0)),
        (200, "act", CLOCKS, ("vector step", 2.0)),
        (200, "act", ONE_ENV, ("env step", 2.0)),
        (25, "glue", CLOCKS, ("update", 1.0)),  # in the loop itself, but once an update
        (700, "learn", {**CLOCKS, "updates": 33}, ("vector step", 7.0)),  # learning counts its own clock otherwise than we do
        (95, "act", CLOCKS, ("vector step", 0.95)),  # under ε, not every step
        (4, "step", ONE_ENV, ("episode", 1.0)),
        (8, "reset", ONE_ENV, ("episode", 2.0)),
        (7, "learn", {**ONE_ENV, "updates": 0}, ("env step", 0.07)),
        (7, "learn", {}, ("env step", 7.0)),  # no clocks at all
    ],
)
def test_what_a_number_is_a_multiple_of(calls, phase, clocks, expected):
    assert per_what(calls, phase, clocks) == expected


@pytest.mark.parametrize(
    ("calls", "ticks", "expected"),
    [(6400, 100, 64), (6336, 100, 64), (6464, 100, 64), (6401, 100, None), (63, 100, None), (6, 3, 2), (8, 3, None), (0, 100, None), (5, 0, None)],
)
def test_a_window_may_begin_or_end_within_a_tick(calls, ticks, expected):
    assert whole(calls, ticks, at_the_edge=True) == expected


@pytest.mark.parametrize(
    ("times", "batch_first", "expected"),
    [
        (256.0, False, "num_envs"),
        (64.0, True, "batch_size"),
        (512.0, True, "2 × num_envs"),
        (128.0, True, "2 × batch_size"),
        (576.0, True, None),  # 9 × 64
        (64.5, True, None),
        (2.0, False, None),
        (0.5, False, None),
    ],
)
def test_a_number_is_matched_to_the_nearest_size(times, batch_first, expected):
    assert match(times, {"num_envs": 256, "batch_size": 64, "actions": 2}, batch_first=batch_first) == expected


def test_what_belongs_to_a_network_is_matched_in_learning_only():
    network = {"name": "Net 1", "parameters": 4610, "tensors": 6}
    rows = row("sync", "item", "learn", 150), row("array", "array", "store", 600), row("builtin", "add", "learn", 600, line=11)
    assert told(counts(counted(*rows, networks=[network]), CLOCKS)) == [
        as_told("array", "vector step", 6.0, None),
        as_told("add", "update", 24.0, None),  # 4 × 6 is a coincidence
        as_told("item", "update", 6.0, "parameter tensors of Net 1"),
    ]


def test_of_two_equal_sizes_the_phase_decides():
    sizes = {"batch_size": 64, "num_envs": 64}
    assert (match(64.0, sizes, batch_first=True), match(64.0, sizes)) == ("batch_size", "num_envs")


def test_sizes_are_known_from_the_window_itself():
    network = {"name": "Net 1", "parameters": 4610, "tensors": 6}
    assert known_sizes(counted(networks=[network]), CLOCKS) == {"num_envs": 256, "parameters of Net 1": 4610, "parameter tensors of Net 1": 6}
    assert known_sizes(counted(), {**CLOCKS, "env_steps": 25_601}) == {}


def test_an_operation_that_was_counted_as_a_call_is_told_once():
    rows = row("builtin", "max", "learn", 25), row("op", "max", "learn", 25), row("op", "mul", "learn", 25), row("op", "lift_fresh", "learn", 25)
    assert [(told["kind"], told["what"]) for told in counts(counted(*rows), CLOCKS)] == [("builtin", "max"), ("op", "mul")]


def test_details_give_way_when_there_are_too_many():
    many = [row("builtin", f"f{i}", "learn", 100_000, line=i) for i in range(400)]
    found = counts(counted(*many, row("sync", "item", "learn", 25)), CLOCKS)
    assert len(found) == 300 and found[-1]["what"] == "item"


def test_work_is_per_call_of_its_phase():
    done = {"learn": {"python_calls": 500, "torch_ops": 250, "flops": {"float32": 1000}, "bytes": 50, "slept_seconds": 0.5}, "glue": {"python_calls": 3}}
    assert work(counted(done=done), {"learn": 25, "step": 100}) == {
        "learn": {"calls": 25, "per_call": {"python_calls": 20.0, "torch_ops": 10.0, "flops": {"float32": 40.0}, "bytes": 2.0, "slept_seconds": 0.02}}
    }


def test_sums_are_per_env_step():
    functions = [("f", "a.py", 1, "learn", 150), ("f", "a.py", 1, "act", 50), ("torch.add", "", 0, "learn", 300)]
    rows = row("sync", "item", "learn", 100), row("sync", "item", "act", 100, line=2), row("tensor", "FloatTensor", "learn", 25)
    done = {"learn": {"python_calls": 150, "c_calls": 300, "torch_ops": 300}, "act": {"python_calls": 50, "c_calls": 0, "torch_ops": 0}}
    found = summary(counted(*rows, functions=functions, done=done), ONE_ENV)
    assert found == {
        "functions": [{"function": "f", "file": "a.py", "line": 1, "per": "env step", "times": 2.0}],
        "python_calls": 2.0,
        "c_calls": 3.0,
        "torch_ops": 3.0,
        "sync": {"item": 2.0},
        "transfer": {},
        "tensor": {"FloatTensor": 0.25},
        "array": {},
        "copy": {},
        "forward": {},
        "garbage": {},
    }
