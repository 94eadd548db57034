"""The probes behind the roofs: samples by a clock that is moved, loops that do what they say, processes that are gone afterwards."""

import ctypes

import numpy as np
import pytest

from hotloop.lab.roofs import measure as roofs_measure
from hotloop.lab.roofs.arithmetic import HALF, SHAPES, Convolution, Shape, errors, torch_set
from hotloop.lab.roofs.calls import IN_A_TURN, call_probes, calls_of
from hotloop.lab.roofs.gpu import against_data_sheet, gpu_probes, until_done
from hotloop.lab.roofs.known import VERSION, keep, key_of, load
from hotloop.lab.roofs.memory import KIB, TURN, Buffer, memory_probes, sizes_for
from hotloop.lab.roofs.native import CannotBuild, count_cycles, features, memory_loop, multiply_add, vector_bits
from hotloop.lab.roofs.probe import SECONDS, Clocks, Effort, Probe, Samples, clocks, in_rounds, seconds_of, time_side_by_side, value
from hotloop.lab.roofs.processes import SIZES, disk_probes, process_probes

# ---------------------------------------------------------------- samples


class Clock:
    """Time that passes only where work is done, and a little whenever it is looked at."""

    def __init__(self, look=0.0):
        self.now, self.look = 0.0, look

    def __call__(self):
        self.now += self.look
        return self.now

    def work(self, *seconds_of_each):
        """A run whose repeats take so long, the last for ever after."""
        times = list(seconds_of_each)

        def run(repeats):
            self.now += repeats * (times.pop(0) if len(times) > 1 else times[0])

        return run


EFFORT = Effort(rounds=2, rounds_more=2, seconds=4.0, sample_seconds=1.0, limit=1000.0)


def test_a_figure_is_the_best_and_the_median_of_its_samples():
    clock = Clock()
    # warming up takes 9 s; once is too short, twice is a second; then samples of 1, 2 and 3 s, and every one after them 3 s
    samples = Samples(Probe("calls", "it", SECONDS, 10.0, [clock.work(9.0, 0.5, 0.5, 0.5, 1.0, 1.5)]))
    samples.take(EFFORT, Clocks(clock, clock))
    assert samples.values == [0.05, 0.1, 0.15]
    assert samples.figure() == {"group": "calls", "name": "it", "at": {}, "unit": "s", "best": 0.05, "median": 0.1, "samples": 3}


def test_a_rate_is_the_work_of_all_threads_and_a_time_that_of_one_thing():
    both = [lambda repeats: None] * 2
    assert value(Probe("memory", "copy", "bytes/s", 100.0, both), repeats=3, seconds=2.0) == 300.0
    assert value(Probe("calls", "it", SECONDS, 10.0, both[:1]), repeats=3, seconds=6.0) == 0.2


def test_threads_are_timed_from_the_first_that_begins_to_the_last_that_ends():
    made = []
    ticks = iter(range(100))
    assert seconds_of([made.append, made.append], 7, lambda: float(next(ticks))) in (2.0, 3.0)  # four looks at the clock, in any order
    assert made == [7, 7]
    assert time_side_by_side([(0.0, 10.0), (0.5, 10.25)]) == 10.0  # a late start is no slow work
    assert time_side_by_side([(0.0, 10.0), (10.0, 20.0)]) == 20.0  # one after the other is not side by side
    assert time_side_by_side([(0.0, 10.0), (2.0, 12.0)]) == 12.0


def test_busy_work_is_timed_by_its_threads_own_clock_and_nothing_else_is():
    wall, own = Clock(), Clock()

    def preempted(repeats):
        wall.now += 3.0 * repeats
        own.now += 1.0 * repeats

    best = {}
    for is_busy, runs in ((True, 1), (False, 1)):
        samples = Samples(Probe("calls", "it", SECONDS, 1.0, [preempted] * runs, is_busy=is_busy))
        samples.take(EFFORT, Clocks(wall, own))
        best[is_busy] = samples.best
    assert best == {True: 1.0, False: 3.0}


def test_a_mistake_in_a_thread_is_a_mistake_of_the_probe():
    with pytest.raises(ZeroDivisionError):
        seconds_of([lambda repeats: None, lambda repeats: repeats / 0], 1, Clock())


def test_a_probe_that_fails_is_left_out_and_takes_no_other_with_it():
    clock, failed = Clock(), []

    def break_down(repeats):
        raise RuntimeError("no such type")

    probes = [Probe("calls", "broken", SECONDS, 1.0, [break_down]), Probe("calls", "whole", SECONDS, 1.0, [clock.work(1.0)])]
    figures = in_rounds(probes, EFFORT, Clocks(clock, clock), told=lambda probe: None, failed=lambda probe, mistake: failed.append((probe.name, str(mistake))))
    assert [each["name"] for each in figures] == ["whole"] and failed == [("broken", "no such type")]


def test_what_was_disturbed_is_looked_at_again_and_what_was_not_is_not():
    clock, looked = Clock(), []
    quiet, busy = Probe("calls", "quiet", SECONDS, 1.0, [clock.work(1.0)]), Probe("calls", "busy", SECONDS, 1.0, [clock.work(1.0, 1.0, 1.0, 5.0)])
    in_rounds([quiet, busy], EFFORT, Clocks(clock, clock), told=lambda probe: looked.append(probe.name), failed=lambda *_: None)
    assert looked == ["quiet", "busy"] * 2 + ["busy"] * 2


def test_when_the_time_is_over_no_second_round_begins():
    clock, looked = Clock(), []
    probes = [Probe("calls", "slow", SECONDS, 1.0, [clock.work(600.0)]), Probe("calls", "other", SECONDS, 1.0, [clock.work(1.0)])]
    in_rounds(probes, EFFORT, Clocks(clock, clock), told=lambda probe: looked.append(probe.name), failed=lambda *_: None)
    assert looked == ["slow", "other"]


def test_a_clock_that_stands_still_ends():
    samples = Samples(Probe("calls", "nothing", SECONDS, 1.0, [lambda repeats: None]))
    samples.take(EFFORT, Clocks(Clock(), Clock()))
    assert samples.values == [] and samples.is_disturbed


# ---------------------------------------------------------------- bare loops


def test_the_copy_and_fill_loops_move_every_byte_and_no_more():
    for past_caches in (False, True):
        to, source = np.zeros(4 * TURN + 64, np.uint8), np.arange(4 * TURN + 64, dtype=np.uint8)
        at, origin = -(-to.ctypes.data // 64) * 64, -(-source.ctypes.data // 64) * 64
        memory_loop("copy", past_caches=past_caches)(at, origin, 2 * TURN, 1)
        begin = at - to.ctypes.data
        assert bytes(to[begin : begin + 2 * TURN]) == ctypes.string_at(origin, 2 * TURN) and not to[begin + 2 * TURN :].any()
        to[:] = 0
        to[begin : begin + 64] = 7
        memory_loop("fill", past_caches=past_caches)(at, origin, 2 * TURN, 3)
        assert (to[begin : begin + 2 * TURN] == 7).all() and not to[begin + 2 * TURN :].any()


def test_the_read_loop_has_read_every_number():
    to, source = Buffer(4 * KIB), Buffer(4 * KIB)
    ctypes.memset(to.address, 0, 4 * KIB)
    numbers = np.arange(1024, dtype=np.uint32)
    ctypes.memmove(source.address, numbers.ctypes.data, 4 * KIB)
    memory_loop("read")(to.address, source.address, 4 * KIB, 1)
    lanes = vector_bits()[0] // 32
    assert np.frombuffer(ctypes.string_at(to.address, 4 * lanes), np.uint32).tolist() == numbers.reshape(-1, lanes).sum(0).tolist()


@pytest.mark.parametrize(("dtype", "once", "twice"), [("float32", 0.5, 0.75), ("float64", 0.5, 0.75), ("bfloat16", 0.5, 1.0)])
def test_a_turn_of_the_arithmetic_loop_is_one_step_of_every_sum(dtype, once, twice):
    """From zero: a half of it and a half more; bfloat16 adds two products of halves."""
    try:
        loop, flops = multiply_add(dtype)
    except CannotBuild as why:
        pytest.skip(str(why))
    registers = vector_bits()[1]
    numbers = np.frombuffer(HALF[dtype] * (64 // len(HALF[dtype])), np.uint8)
    for turns, each in ((1, once), (2, twice)):
        out = np.zeros(64, np.uint8)
        loop(turns, numbers.ctypes.data, out.ctypes.data)
        sums = out.view("f8" if dtype == "float64" else "f4")[: vector_bits()[0] // (64 if dtype == "float64" else 32)]
        assert sums.tolist() == [each * registers] * len(sums)
    operations = len(sums) * (4 if dtype == "bfloat16" else 2)  # two products and two additions, or one of each
    assert flops == registers * operations


def test_the_chain_of_additions_is_not_shortened():
    assert [count_cycles()(turns, 3) for turns in (1, 2, 1000)] == [3, 3, 3]  # xor takes it to nothing, the addition brings it back


def test_a_processor_without_the_instruction_is_told(monkeypatch):
    monkeypatch.setattr("hotloop.lab.roofs.native.features", dict)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    for dtype in ("bfloat16", "float32"):
        with pytest.raises(CannotBuild, match="expected a processor with"):
            multiply_add.__wrapped__(dtype)
    assert features.__wrapped__()  # the real one knows some


# ---------------------------------------------------------------- what the probes do


def test_sizes_and_shapes_are_counted_by_hand():
    assert Shape(2, 3, 4).flops == 48 and str(Shape(2, 3, 4)) == "2×3×4"
    layer = Convolution(batch=1, channels=1, side=5, filters=2, kernel=3, stride=2)
    assert layer.flops == 2 * 4 * 2 * 9  # four places, two filters, nine numbers each


def test_memory_probes_touch_as_many_bytes_as_they_say():
    probes = memory_probes(2, (16 * KIB, 64 * KIB))
    assert {(probe.name, probe.at["bytes"], probe.at["threads"]): probe.work * len(probe.runs) for probe in probes} == {
        **{(name, size * KIB, threads): size * KIB for name in ("copy", "fill", "read") for size in (16, 64) for threads in (1, 2)},
        **{("copy by the C library", size * KIB, 1): size * KIB for size in (16, 64)},
    }
    for probe in probes:
        for run in probe.runs:
            run(1)
    assert [probe.at for probe in memory_probes(64, (16 * KIB,)) if probe.at["threads"] == 64] == []  # nothing left for each of so many
    assert all(probe.work >= 2 * KIB for probe in memory_probes(64, (128 * KIB,)))


def test_the_largest_size_grows_with_the_cores_and_not_for_ever():
    assert [sizes_for(threads, quick=True)[-1] // 2**20 for threads in (1, 4, 8, 16, 256)] == [256, 256, 512, 1024, 1024]
    assert len(sizes_for(2, quick=False)) == 7


def test_a_turn_makes_as_many_calls_as_it_says():
    made = []
    calls_of(made.append, 1)(3)
    assert len(made) == 3 * IN_A_TURN
    for probe in call_probes():
        with probe.within():
            probe.runs[0](1)


def test_other_processes_answer_and_are_gone_afterwards():
    import psutil

    before = {child.pid for child in psutil.Process().children()}
    with process_probes() as probes:
        for probe in probes:
            with probe.within():
                probe.runs[0](2)
        assert {probe.name: probe.at["bytes"] for probe in probes if probe.at["bytes"] != SIZES[0]} == {
            "pickle and back": SIZES[-1],
            "pipe, there and back": SIZES[-1],
            "shared memory, there and back": 1,
        }
    assert {child.pid for child in psutil.Process().children()} == before


def test_the_disk_is_written_where_it_was_asked_and_left_as_it_was(tmp_path):
    with disk_probes(tmp_path) as probes:
        for probe in probes:
            probe.runs[0](1)
    assert [(probe.name, probe.at["bytes"]) for probe in probes] == [("write", 200), ("write", 2**20), ("write and fsync", 200), ("write and fsync", 2**20)]
    assert list(tmp_path.iterdir()) == []


def test_settings_of_torch_are_put_back_whatever_happens():
    import torch

    before = torch.get_num_threads(), torch.get_float32_matmul_precision()
    with pytest.raises(KeyError), torch_set(1, "medium"):
        assert (torch.get_num_threads(), torch.get_float32_matmul_precision()) == (1, "medium")
        raise KeyError
    assert (torch.get_num_threads(), torch.get_float32_matmul_precision()) == before


def test_errors_tell_a_sloppy_product_from_an_exact_one():
    found = errors(Shape(32, 64, 32))
    assert set(found) == {"NumPy, float32", "torch, float32", 'torch, "medium", float32', "torch, bfloat16"}
    assert found["NumPy, float32"] < 1e-6 and found["torch, float32"] < 1e-6 and 1e-4 < found["torch, bfloat16"] < 1e-2


def test_a_machine_without_a_gpu_has_no_probes_of_one(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert gpu_probes() == []


def test_a_device_is_waited_for_once_a_turn(monkeypatch):
    waits, calls = [], []
    monkeypatch.setattr("torch.cuda.synchronize", lambda: waits.append(len(calls)))
    until_done(lambda: calls.append(1), 5)(3)
    assert waits == [5, 10, 15]


def test_what_is_far_from_the_data_sheet_is_told():
    def figures(copied, product):
        asked = ("copy within the device", {}, copied), ("product", {"dtype": "bfloat16"}, product)
        return [{"group": "gpu", "name": name, "at": at, "best": best} for name, at, best in asked]

    h200 = [{"name": "NVIDIA H200"}]
    assert list(against_data_sheet(figures(2.3e12, 960e12), h200)) == [] == list(against_data_sheet(figures(1.0, 1.0), [{"name": "another"}]))
    assert list(against_data_sheet(figures(2.3e12, 742e12), h200)) == [
        "product, bfloat16: 75 % of the data sheet's 989.0 T a second: a library's product, at the clock its power allows"
    ]


@pytest.mark.gpu
def test_a_gpu_answers_every_probe():
    effort = Effort(rounds=1, rounds_more=0, seconds=0.01, sample_seconds=0.001, limit=60.0)
    mistakes = []
    figures = in_rounds(gpu_probes(), effort, clocks(), told=lambda probe: None, failed=lambda probe, mistake: mistakes.append((probe.name, mistake)))
    assert mistakes == [] and len(figures) >= 15 and all(each["best"] > 0 for each in figures)


# ---------------------------------------------------------------- all of it


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOTLOOP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_others_used_is_what_is_left_of_everybodys_time():
    assert roofs_measure.others_cores((100.0, 10.0), (130.0, 25.0), 10.0) == 1.5
    assert roofs_measure.others_cores((100.0, 10.0), (110.0, 25.0), 10.0) == 0.0  # clocks of different grain
    everybody, ours = roofs_measure.used()
    assert everybody >= ours > 0


def test_parts_that_cannot_be_measured_are_named_and_the_rest_is(folder, monkeypatch):
    clock = Clock(look=0.001)

    def no_memory(*_):
        raise MemoryError("too little")

    def nothing(*_):
        return []

    monkeypatch.setattr(roofs_measure, "memory_probes", no_memory)
    monkeypatch.setattr(roofs_measure, "arithmetic_probes", nothing)
    monkeypatch.setattr(roofs_measure, "gpu_probes", nothing)
    monkeypatch.setattr(roofs_measure, "process_probes", no_memory)
    monkeypatch.setattr(roofs_measure, "call_probes", lambda: [Probe("calls", "Python function", SECONDS, 10.0, [clock.work(0.01)])])
    told = []
    record = roofs_measure.measure(SHAPES[:1], quick=True, tell=lambda *each: told.append(each), clocks=Clocks(clock, clock))
    assert record["missing"] == {"memory": "too little", "processes": "too little"}
    assert [each["name"] for each in record["figures"]] == ["Python function", "write", "write", "write and fsync", "write and fsync"]
    assert record["figures"][0]["best"] == pytest.approx(0.001, rel=0.2)
    assert set(record["errors"]) == {"64×128×128"} and record["quick"] is True and record["version"] == VERSION
    assert told[0] == ("calls: Python function", 0, 4 * 5) and record["key"] == key_of(record["machine"])
    keep(record)
    assert load() == record["roofs"]
