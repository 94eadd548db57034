"""`hotloop limits`: measured once, read after that, told apart when it will not do, drawn and printed as it was recorded."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from hotloop.lab.roofs.known import VERSION, key_of, path_of, roofs_from
from hotloop.records.machine import machine
from hotloop.report.limits import amount, bytes_word, limits_table
from hotloop.report.limits_plot import draw


def figure(group, name, best, unit, **at):
    return {"group": group, "name": name, "at": at, "unit": unit, "best": best, "median": best * (1.1 if unit == "s" else 0.9), "samples": 9}


FIGURES = [
    *[figure("memory", "copy", rate, "bytes/s", bytes=size, threads=n) for size, rate in ((16384, 271e9), (2**28, 20e9)) for n in (1, 2)],
    figure("memory", "copy past the caches", 29.4e9, "bytes/s", bytes=2**28, threads=1),
    figure("memory", "copy by the C library", 20.1e9, "bytes/s", bytes=2**28, threads=1),
    figure("arithmetic", "cycles", 4.2e9, "Hz"),
    figure("arithmetic", "bare", 268e9, "flop/s", dtype="float32", threads=1),
    figure("arithmetic", "bare", 1.05e12, "flop/s", dtype="bfloat16", threads=2),
    figure("arithmetic", "torch", 107.2e9, "flop/s", shape="64×128×128", dtype="float32", threads=1),
    figure("calls", "Python function", 14.6e-9, "s"),
    figure("processes", "pipe, there and back", 32e-6, "s", bytes=64),
    figure("disk", "write and fsync", 1.5e-3, "s", bytes=200),
]


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Measuring takes no time here; the list says how often, with what."""
    monkeypatch.setenv("HOTLOOP_CACHE", str(tmp_path / "cache"))
    times = []

    def measure(shapes, *, quick, tell):
        tell("memory: copy", 0, 1)
        times.append([[str(shape) for shape in shapes], quick])
        facts = machine()
        others = [figure("arithmetic", "torch", 1e9, "flop/s", shape=str(shape), dtype="float32", threads=1) for shape in shapes[1:]]
        figures = FIGURES + others
        record = {"version": VERSION, "key": key_of(facts), "measured": "2026-11-20 01:02", "quick": quick, "machine": facts, "seconds": 20.4}
        errors = {"64×128×128": {"torch, float32": 2e-7}}
        return record | {"figures": figures, "roofs": roofs_from(figures), "errors": errors, "missing": {"gpu": "none"}, "doubts": ["a doubt"], "libraries": {}}

    monkeypatch.setattr("hotloop.lab.roofs.measure.measure", measure)
    return times


USUAL = ["64×128×128", "256×128×128", "1024×1024×1024"]


def test_limits_are_measured_once_and_kept(hotloop, measured):
    first, second = hotloop("limits"), hotloop("limits")
    assert first.status == second.status == 0 and first == second and first.err == ""
    assert measured == [[USUAL, False]]
    assert hotloop("limits", "--fresh") == first and len(measured) == 2


def test_a_quick_record_does_for_a_quick_question_only(hotloop, measured):
    for words in ([], ["--quick"]):
        hotloop("limits", "--quick")
        hotloop("limits", *words)
    assert measured == [[USUAL, True], [USUAL, False]]  # the full one answers the quick question after that


def test_shapes_that_are_not_kept_are_measured(hotloop, measured):
    for _ in range(2):
        assert hotloop("limits", "--shapes", "32x24x128", "5x5x5").status == 0
    assert measured == [[[*USUAL, "32×24×128", "5×5×5"], False]]
    hotloop("limits", "--shapes", "6x6x6")
    assert len(measured) == 2


@pytest.mark.parametrize("text", ["", "{", '{"version": 99}', '{"version": 1, "key": "of another machine"}'])
def test_a_file_that_will_not_do_is_told_and_replaced(hotloop, measured, text):
    path = path_of(key_of(machine()))
    path.parent.mkdir()
    path.write_text(text)
    answer = hotloop("limits")
    assert answer.status == 0 and len(measured) == 1
    assert re.fullmatch(r"hotloop: expected this machine's limits in .*, found .*; measuring again\n", answer.err)
    assert hotloop("limits").err == "" and len(measured) == 1


def test_a_folder_that_cannot_be_written_costs_only_the_keeping(hotloop, measured, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("HOTLOOP_CACHE", str(tmp_path / "file" / "folder"))
    answer = hotloop("limits")
    assert answer.status == 0 and "memory" in answer.out
    assert answer.err.count("\n") == 1 and "expected to make the folder" in answer.err and answer.err.endswith("The limits are not kept\n")


def test_the_record_is_printed_as_json_and_nothing_else(hotloop, measured):
    answer = hotloop("limits", "--json")
    record = json.loads(answer.out)
    assert answer.err == "" and record["roofs"] == roofs_from(record["figures"])
    assert json.loads(hotloop("limits", "--json").out) == record


def test_what_steers_libraries_is_told_and_what_has_changed_since(hotloop, measured, monkeypatch):
    for name in machine()["environment"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    told = " ".join(hotloop("limits").out.split())
    assert "! measured with OMP_NUM_THREADS=1 set: they steer libraries" in told and "has changed" not in told
    monkeypatch.delenv("OMP_NUM_THREADS")
    told = " ".join(hotloop("limits").out.split())
    assert "! the environment has changed since: nothing set now" in told and len(measured) == 1
    assert "OMP_NUM_THREADS" not in os.environ  # told, not touched


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--shapes", "64x128"], "expected a shape ROWSxINNERxCOLUMNS, found '64x128'; try --shapes 256x128x128"),
        (["--shapes", "0x1x1"], "expected a shape ROWSxINNERxCOLUMNS, found '0x1x1'; try --shapes 256x128x128"),
        (["--plot", "limits.pdf"], "expected a file that ends in .png, found limits.pdf; try --plot limits.png"),
        (["--quik"], "expected a flag this command has, found --quik; try --quick, or --help for all"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_measured(hotloop, measured, words, found):
    assert hotloop("limits", *words) == (2, "", f"hotloop: {found}\n")
    assert measured == []


# ---------------------------------------------------------------- shown

RECORD = {
    "machine": {"cpu": "A processor", "gpus": [{"name": "A GPU"}]},
    "measured": "2026-11-20 01:02",
    "seconds": 20.4,
    "figures": FIGURES,
    "errors": {"64×128×128": {"torch, float32": 2.05e-7}},
    "missing": {"gpu": "none"},
    "doubts": ["a doubt"],
}


def page(record, remarks=()):
    console = Console(width=80, record=True, file=open(os.devnull, "w"))  # noqa: SIM115 - closed below
    with console.file:
        console.print(limits_table(record, remarks))
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_the_table_is_the_record():
    assert page(RECORD, ["a remark"]) == [
        "A processor · A GPU · 2 threads · measured 2026-11-20 01:02 in 20 s",
        "",
        "memory, GB a second; a byte copied counts once",
        "bytes    copy  on 2  fill  on 2  read  on 2  C library's copy",
        "16 KiB    271   271",
        "256 MiB  29.4    20                                      20.1",
        "",
        "arithmetic, G operations a second; of bare: of what the hardware itself does",
        "            type      1 thread  2 threads  of bare  error",
        "bare loop   float32        268",
        "bare loop   bfloat16                 1050",
        "64×128×128",
        "  torch     float32        107                40 %  2e-07",
        "a core's clock meanwhile: 4.20 GHz",
        "",
        "calls, one at a time",
        "                      best   median",
        "Python function    14.6 ns  16.1 ns",
        "",
        "processes",
        "                             best   median",
        "pipe, there and back  64 B  32 µs  35.2 µs",
        "",
        "disk, where the cache folder is",
        "                           best   median",
        "write and fsync  200 B  1.50 ms  1.65 ms",
        "",
        "! a remark",
        "! a doubt",
        "! not measured: gpu: none",
    ]


def test_a_record_with_little_in_it_is_shown_without_gaps():
    little = RECORD | {"figures": FIGURES[-1:], "missing": {}, "doubts": []}
    assert page(little)[1:] == [
        "",
        "disk, where the cache folder is",
        "                           best   median",
        "write and fsync  200 B  1.50 ms  1.65 ms",
    ]


def test_the_lines_drawn_are_the_figures():
    memory, arithmetic, costs = draw(RECORD).axes
    lines = {line.get_label(): line.get_xydata().tolist() for line in memory.lines}
    assert lines["copy, 1 thread"] == [[16384, 271], [2**28, 29.4]] and lines["copy by the C library"] == [[2**28, 20.1]] and lines["fill, 1 thread"] == []
    assert [round(bar.get_width()) for bar in arithmetic.patches if bar.get_width()] == [268, 1050, 107]
    assert [round(bar.get_width(), 1) for bar in costs.patches] == [14.6, 32_000, 1_500_000]


def test_the_plot_is_a_picture(hotloop, measured, tmp_path):
    assert hotloop("limits", "--plot", tmp_path / "limits.png").status == 0
    with Image.open(tmp_path / "limits.png") as picture:
        assert picture.size == (1560, 1625) and len(np.unique(np.asarray(picture))) > 10


def test_amounts_carry_their_unit():
    assert [amount(number, "s") for number in (2e-9, 999.7e-9, 1.5e-3, 2.0)] == ["2 ns", "1.00 µs", "1.50 ms", "2 s"]
    assert [amount(2.5e9, "bytes/s"), amount(1.5e12, "flop/s")] == ["2.50 GB/s", "1500 G/s"]
    assert [bytes_word(size) for size in (64, 28 * 1024, 2**28, 2**31)] == ["64 B", "28 KiB", "256 MiB", "2 GiB"]


# ---------------------------------------------------------------- this machine


@pytest.mark.slow
def test_this_machine_has_limits(tmp_path):
    """All of it, quickly: nothing breaks down, and what was measured is found again."""
    environment = os.environ | {"HOTLOOP_CACHE": str(tmp_path), "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-m", "hotloop", "limits", "--quick", "--json"]
    first, second = (subprocess.run(command, capture_output=True, text=True, env=environment, check=True) for _ in range(2))
    record = json.loads(first.stdout)
    assert first.stderr == second.stderr == "" and json.loads(second.stdout) == record
    assert {each["group"] for each in record["figures"]} >= {"memory", "arithmetic", "calls", "processes", "disk"}
    assert all(each["best"] > 0 and each["samples"] >= 2 for each in record["figures"])
    assert set(record["missing"]) <= {"bare bfloat16 arithmetic", "bare float32 arithmetic", "bare float64 arithmetic"}
    assert record["roofs"]["flops"]["float32"]["1"] > 1e9 and record["roofs"]["seconds"]["Python function"] < 1e-6
