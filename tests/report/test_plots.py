"""Plots: what is drawn is what was recorded, and a run with little to show is no error."""

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from hotloop.records import Run
from hotloop.report import plot_run
from hotloop.report.plots import _draw
from hotloop.report.series import BINS, column, shares, smooth

NAN = float("nan")


def record(block, **more):
    value = {"steps": 100 * block, "seconds": 0.5 * block, "steps_per_second": 200.0, "score_mean": float(block), "best_score": 2.0 * block}
    return value | {"endings": {"wall": 3, "self": 1}, "loss": 1 / block, "phases": {"act": 0.2, "glue": 0.3}} | more


def nothing_happened(block):
    return record(block, score_mean=None, best_score=None, endings={}, loss=None, phases={}, steps_per_second=None)


RUNS = {
    "no records": [],
    "one record": [record(1)],
    "one record of nothing": [nothing_happened(1)],
    "records of nothing": [nothing_happened(block) for block in range(1, 5)],
    "records without most fields": [{"steps": 1}, {"steps": 2}],
    "an ending that came late": [record(1), record(2, endings={"starved": 2}), nothing_happened(3)],
    "a loss that falls far": [record(block, loss=10.0**-block) for block in range(1, 6)],
    "a loss of zero, and no speed": [record(block, loss=0.0, steps_per_second=0.0) for block in range(1, 4)],
    "a long run": [record(block) for block in range(1, 1000)],
}


@pytest.mark.parametrize("name", RUNS)
def test_any_run_can_be_drawn(tmp_path, name):
    run = Run.create(tmp_path / "a-run", config={}, command=[], name="snake-dqn")
    for each in RUNS[name]:
        run.log(each)
    plot_run(run, tmp_path / "plot.png")
    with Image.open(tmp_path / "plot.png") as picture:
        assert picture.size == (1560, 1430)
        assert len(np.unique(np.asarray(picture))) > 10  # something is on it


def test_the_lines_are_the_records(tmp_path):
    run = Run.create(tmp_path / "a-run", config={}, command=[], name="snake-dqn")
    score, speed, loss, *_ = _draw(run, [record(1), nothing_happened(2), record(3)]).axes
    np.testing.assert_array_equal(score.lines[0].get_xydata(), [[100, 1], [300, 3]])
    np.testing.assert_array_equal(speed.lines[0].get_xydata(), [[0.5, 200], [1.5, 200]])
    np.testing.assert_allclose(loss.lines[0].get_xydata(), [[100, 1], [300, 1 / 3]])


def test_a_gap_neither_counts_nor_spreads_when_smoothing():
    np.testing.assert_array_equal(smooth(np.array([1.0, 3.0, NAN, NAN, NAN, 5.0])), [1, 2, 3, NAN, 5, 5])
    assert smooth(np.array([])).size == 0


def test_smoothing_begins_and_ends_with_what_was_measured():
    values = np.array([1.0] + [9.0] * 90 + [4.0])
    assert smooth(values)[0] == 1 and smooth(values)[-1] == 4 and (smooth(values)[10:-10] == 9).all()


def test_missing_and_null_values_are_gaps():
    np.testing.assert_array_equal(column([{"loss": 1}, {"loss": None}, {}], "loss"), [1, NAN, NAN])


def test_shares_add_up_to_one_and_leave_out_where_nothing_happened():
    records = [record(1, endings={"wall": 1}), nothing_happened(2), record(3, endings={"wall": 1, "self": 3})]
    places, parts = shares(records, "endings", at="steps")
    np.testing.assert_array_equal(places, [100, 300])
    np.testing.assert_array_equal(parts["wall"], [1, 0.25])
    np.testing.assert_array_equal(parts["self"], [0, 0.75])


def test_bins_of_a_long_run_lose_no_episode():
    records = [record(block, endings={"wall": block % 2, "self": 1 - block % 2}) for block in range(1, 10 * BINS + 1)]
    places, parts = shares(records, "endings", at="steps")
    assert len(places) == BINS
    assert places[-1] == 100 * 10 * BINS
    assert set(parts["wall"]) == {0.5}


def test_the_live_display_does_not_wait_for_the_plotting_library():
    program = "import sys; from hotloop.report import Live, phase_table; print('matplotlib' in sys.modules, 'PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False False\n"
