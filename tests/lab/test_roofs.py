"""Roofs: worked numbers from work to seconds and from figures to roofs, doubts that can be raised, records that will not do."""

import subprocess
import sys

import pytest

from hotloop.lab.roofs.known import VERSION, beyond_roof, cached, keep, key_of, load, path_of, rate_at, roof_of, roofs_from
from hotloop.lab.roofs.probe import SECONDS
from hotloop.lab.roofs.sanity import company, doubts, steered

ROOFS = {
    "seconds": {
        "Python function": 20e-9,
        "C function": 10e-9,
        "torch operation, in place": 1e-6,
        "message": 8e-6,
        "pickled byte": 1e-9,
        "file byte": 2e-9,
        "fsync": 1e-3,
        "launch": 10e-6,
        "graph node": 1e-6,
        "bus byte": 4e-11,
    },
    "flops": {"float32": {"1": 250e9, "2": 500e9}, "bfloat16": {"1": 500e9, "2": 1000e9}},
    "bytes": {"copy": {"1": [[16_000, 250e9], [4_000_000, 50e9], [256_000_000, 20e9]], "2": [[16_000, 100e9], [4_000_000, 100e9], [256_000_000, 40e9]]}},
    "disturbed": False,
}


# ---------------------------------------------------------------- from work to seconds


def test_the_largest_of_the_times_each_roof_allows_binds():
    work = {"python_calls": 1000, "c_calls": 500, "torch_ops": 40, "flops": {"float32": 10e6}, "bytes": 2_000_000}
    found = roof_of(work, ROOFS)
    assert found["binds"] == "dispatch" and found["attainable_seconds"] == pytest.approx(40e-6)
    assert found["roofs"] == pytest.approx({"interpreter": 25e-6, "dispatch": 40e-6, "arithmetic": 20e-6, "copy": 8e-6}, rel=1e-9)


@pytest.mark.parametrize(
    ("work", "binds", "seconds"),
    [
        ({"flops": {"float32": 5e9, "bfloat16": 10e9}}, "arithmetic", 0.02),
        ({"flops": {"torch.float32": 5e9}, "threads": 1}, "arithmetic", 0.02),
        ({"bytes": 512_000_000}, "copy", 0.0128),
        ({"bytes": 512_000_000, "threads": 1}, "copy", 0.0256),
        ({"bytes": 512_000_000, "bytes_at_once": 16_000, "threads": 1}, "copy", 0.002048),
        ({"slept_seconds": 0.016, "torch_ops": 100}, "sleep", 0.016),
        ({"file_bytes": 200, "fsyncs": 2}, "disk", 0.0020004),
        ({"messages": 16, "pickled_bytes": 16_000}, "ipc", 0.000144),
        ({"launches": 100, "graph_nodes": 10}, "launch", 0.00101),
        ({"bus_bytes": 25e6}, "bus", 0.001),
    ],
)
def test_every_kind_of_work_has_its_roof(work, binds, seconds):
    found = roof_of(work, ROOFS)
    assert found["binds"] == binds and found["attainable_seconds"] == pytest.approx(seconds)


@pytest.mark.parametrize("work", [{}, {"flops": {"int4": 1e9}}, {"flops": None, "bytes": None, "python_calls": 0}, {"threads": 1}])
def test_work_that_is_not_known_is_bound_by_nothing(work):
    assert roof_of(work, ROOFS) == {"binds": None, "attainable_seconds": 0.0, "roofs": {}}


def test_a_machine_without_some_roofs_still_has_the_others():
    assert roof_of({"torch_ops": 5, "launches": 9, "flops": {"float32": 1e6}}, {"seconds": {"launch": 1e-5}, "flops": {}, "bytes": {}}) == {
        "binds": "launch",
        "attainable_seconds": pytest.approx(9e-5),
        "roofs": {"launch": pytest.approx(9e-5)},
    }


def test_a_size_between_two_has_the_rate_of_the_smaller_and_never_less_than_a_larger_one():
    curve = [[16, 100.0], [64, 30.0], [256, 40.0], [1024, 20.0]]
    assert [rate_at(curve, size) for size in (1, 16, 63, 64, 200, 256, 5000)] == [100.0, 100.0, 100.0, 40.0, 40.0, 40.0, 20.0]
    assert rate_at([], 5) == 0.0


def test_a_time_shorter_than_any_could_be_is_a_measurement_error():
    assert beyond_roof(0.89e-3, 1e-3)
    assert not beyond_roof(0.91e-3, 1e-3) and not beyond_roof(5.0, 1e-3) and not beyond_roof(1e-9, 0.0)
    assert beyond_roof(0.98e-3, 1e-3, tolerance=0.01)


# ---------------------------------------------------------------- from figures to roofs


def figure(group, name, best, unit="flop/s", median=None, **at):
    return {"group": group, "name": name, "at": at, "unit": unit, "best": best, "median": best if median is None else median, "samples": 9}


WELL = [
    figure("memory", "copy", 250e9, "bytes/s", bytes=16384, threads=1),
    figure("memory", "copy", 20e9, "bytes/s", bytes=2**28, threads=1),
    figure("memory", "copy past the caches", 29e9, "bytes/s", bytes=2**28, threads=1),
    figure("memory", "copy by the C library", 21e9, "bytes/s", bytes=2**28, threads=1),
    figure("memory", "read", 500e9, "bytes/s", bytes=16384, threads=2),
    figure("arithmetic", "cycles", 4e9, "Hz"),
    figure("arithmetic", "bare", 250e9, dtype="float32", threads=1),
    figure("arithmetic", "bare", 490e9, dtype="float32", threads=2),
    figure("arithmetic", "torch", 110e9, dtype="float32", threads=1, shape="64×128×128"),
    figure("arithmetic", "torch", 480e9, dtype="bfloat16", threads=1, shape="64×128×128"),
    figure("calls", "Python function", 15e-9, SECONDS),
    figure("processes", "pipe, there and back", 32e-6, SECONDS, bytes=64),
    figure("processes", "pipe, there and back", 1032e-6, SECONDS, bytes=1_000_064),
    figure("processes", "shared memory, there and back", 2e-7, SECONDS, bytes=1),
    figure("disk", "write", 1e-6, SECONDS, bytes=200),
    figure("disk", "write", 5e-5, SECONDS, bytes=1_000_000),
    figure("disk", "write and fsync", 1.001e-3, SECONDS, bytes=200),
    figure("gpu", "launch", 1e-5, SECONDS),
    figure("gpu", "copy to the device", 10e9, "bytes/s", bytes=65536, pinned=False),
    figure("gpu", "copy to the device", 50e9, "bytes/s", bytes=65536, pinned=True),
    figure("gpu", "product", 50e12, shape="256×128×128", dtype="float32"),
]


def test_the_roofs_are_the_best_of_every_kind():
    assert roofs_from(WELL) == {
        "seconds": {
            "Python function": 15e-9,
            "message": 8e-6,
            "pickled byte": pytest.approx(0.25e-9),
            "file byte": pytest.approx(5e-11),
            "fsync": pytest.approx(1e-3),
            "launch": 1e-5,
            "bus byte": pytest.approx(2e-11),
        },
        "flops": {"float32": {"1": 250e9, "2": 490e9}, "bfloat16": {"1": 480e9}},
        "bytes": {"copy": {"1": [[16384, 250e9], [2**28, 29e9]]}, "read": {"2": [[16384, 500e9]]}},
    }


def test_no_figures_are_no_roofs_and_no_doubts():
    assert roofs_from([]) == {"seconds": {}, "flops": {}, "bytes": {}} and doubts([]) == []


# ---------------------------------------------------------------- doubts


def test_figures_that_can_be_are_not_doubted():
    assert doubts(WELL) == []


@pytest.mark.parametrize(
    ("place", "best", "doubt"),
    [
        (0, 300e9, "copy, bytes 16384, threads 1: 75 a cycle and core, expected at most 64; the clock may have been measured while it was low, try again"),
        (1, 280e9, "copy: faster for the largest size than for the smallest; the machine was disturbed, try again"),
        (7, 562e9, "bare, dtype float32, threads 2: 2.2 times as fast as one thread; that one was disturbed, try again"),
        (7, 250e9, "bare float32: 2 threads do 1.0 times as much as one; other cores were busy, or two threads share one"),
        (
            8,
            500e9,
            "torch, dtype float32, threads 1, shape 64×128×128: 2.0 times the bare loop; it has units that loop does not use, or the loop was disturbed; "
            "the roof is the library's",
        ),
        (16, 2e-6, "write and fsync of 200 bytes: hardly longer than the write alone; the folder is in memory, or the disk does not wait"),
    ],
)
def test_a_figure_that_cannot_be_is_doubted(place, best, doubt):
    sick = [dict(each) for each in WELL]
    sick[place] |= {"best": best, "median": best}
    assert doubts(sick) == [doubt]


def test_a_busy_machine_is_told_when_a_fifth_of_the_figures_show_it():
    def disturbed(count):
        return [each | {"median": each["best"] * (1.3 if each["unit"] == SECONDS else 0.7)} if place < count else each for place, each in enumerate(WELL)]

    assert doubts(disturbed(4)) == []
    busy = "the machine was busy: in 5 of 21 figures half of the samples are more than 25 % off the best; try --fresh when it is quiet"
    assert doubts(disturbed(5)) == [busy]


def test_other_programs_are_told_of_when_they_took_a_tenth_of_the_machine():
    assert company(0.19, 2) == [] and company(0.84, 2) == [
        "other programs used 0.8 cores meanwhile: figures of several threads, and of other processes, may be too low"
    ]


def test_what_steered_the_libraries_is_told_and_that_it_changed():
    record = {"machine": {"environment": {"OPENBLAS_CORETYPE": "Haswell"}}, "libraries": {"NumPy": "openblas Haswell"}}
    measured, changed = steered(record, {"OMP_NUM_THREADS": "1"})
    assert measured.startswith("measured with OPENBLAS_CORETYPE=Haswell set") and "openblas Haswell" in measured
    assert changed.startswith("the environment has changed since: OMP_NUM_THREADS=1 set now")
    assert steered(record, {"OPENBLAS_CORETYPE": "Haswell"}) == [measured] == steered(record)
    assert steered({"machine": {"environment": {}}}, {}) == []


# ---------------------------------------------------------------- the record, and where it is kept


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOTLOOP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


FACTS = {
    "cpu": "a processor",
    "cores": 2,
    "threads": 2,
    "threads_allowed": 2,
    "gpus": [],
    "system": "a system",
    "python": "3.11",
    "packages": {"hotloop": "1", "torch": "2"},
    "environment": {},
}
RECORD = {"version": VERSION, "key": key_of(FACTS), "figures": WELL, "roofs": roofs_from(WELL), "machine": FACTS}


def test_what_was_kept_is_loaded_and_another_machine_has_nothing(folder):
    assert load(FACTS) is None and cached(FACTS) == (None, "")
    path = keep(RECORD)
    assert path.parent == folder and load(FACTS) == roofs_from(WELL)
    assert load(FACTS | {"cpu": "another"}) is None
    assert roof_of({"python_calls": 10}, load(FACTS))["attainable_seconds"] == pytest.approx(150e-9)


@pytest.mark.parametrize(
    ("facts", "same"),
    [
        ({"environment": {"OMP_NUM_THREADS": "1"}}, True),
        ({"packages": {"hotloop": "2", "torch": "2"}}, True),
        ({"packages": {"hotloop": "1", "torch": "3"}}, False),
        ({"threads_allowed": 1}, False),
        ({"gpus": [{"name": "a GPU"}]}, False),
    ],
)
def test_a_machine_is_known_by_what_decides_its_speed(facts, same):
    assert (key_of(FACTS | facts) == key_of(FACTS)) is same


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "found a file that cannot be read"),
        ("[1]", "found a file that cannot be read"),
        ('{"version": 0}', "found those of another version or machine"),
        (f'{{"version": {VERSION}, "key": "another"}}', "found those of another version or machine"),
        (f'{{"version": {VERSION}, "key": "{key_of(FACTS)}", "roofs": {{}}, "figures": [1]}}', "found a record with parts missing"),
    ],
)
def test_a_file_that_will_not_do_is_nothing_and_says_why(folder, text, why):
    folder.mkdir()
    path_of(key_of(FACTS)).write_text(text)
    assert load(FACTS) is None
    assert cached(FACTS) == (None, f"expected this machine's limits in {path_of(key_of(FACTS))}, {why}")


def test_loading_imports_nothing_heavy(folder):
    program = "import sys; from hotloop.lab.roofs.known import load, roof_of; load(); print({'torch', 'numba', 'numpy', 'llvmlite'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "set()\n"
