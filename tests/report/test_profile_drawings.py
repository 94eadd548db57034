"""Drawings: the shapes on a profile's page are what was recorded, worked out by hand."""

import pytest
from profile_records import plain_record, tiny_samples

from hotloop.report.blocks import Blocks, blocks_of
from hotloop.report.profile_drawings import flame, over_the_run, ticks, windows
from hotloop.report.profile_rows import span

SAMPLED = plain_record() | {"samples": tiny_samples()}


THREE = {"columns": ["seconds", "env_steps", "learn_seconds", "act_seconds"], "rows": [[2.0, 0, 0.0, 0.0], [6.0, 40, 0.0, 2.0], [10.0, 60, 3.0, 3.0]]}


def test_rates_are_what_was_added_a_second():
    blocks = blocks_of({"blocks": THREE})
    assert blocks.rates("env_steps") == [10.0, 5.0] and blocks.rates("learn_seconds") == [0.0, 0.75]


def test_areas_stand_upon_each_other():
    drawn = over_the_run(plain_record() | {"blocks": THREE, "wall_seconds": 10.0})
    assert drawn.start == 20.0 and drawn.phases == ["act", "learn"]
    assert drawn.charts[0].areas[0][1] == (
        "M20.00 50.00L60.00 50.00L60.00 75.00L100.00 75.00"  # act: half of the time, then a quarter
        "L100.00 100.00L60.00 100.00L60.00 100.00L20.00 100.00Z"
    )
    assert drawn.charts[0].areas[1][1] == "M20.00 50.00L60.00 50.00L60.00 0.00L100.00 0.00L100.00 75.00L60.00 75.00L60.00 50.00L20.00 50.00Z"


def test_change_points_stand_where_their_step_was_made():
    drift = {"verdict": "price-changed", "evidence": {"change_points": [20.0, 50.0, 999.0]}}
    drawn = over_the_run(plain_record() | {"blocks": THREE, "wall_seconds": 10.0, "drift": drift})
    assert drawn.marks == [(40.0, "step 20"), (80.0, "step 50")]  # 4 s and 8 s; step 999 was never made


def test_what_differs_by_a_large_factor_is_drawn_by_factors():
    rows = [[0.0, 0], [1.0, 1000], [2.0, 1010]]
    chart = over_the_run(plain_record() | {"blocks": {"columns": ["seconds", "env_steps"], "rows": rows}, "wall_seconds": 2.0}).charts[0]
    assert (chart.title, chart.range) == ("env steps a second", "10 – 1.00 k, logarithmic")
    assert chart.line == "M0.00 0.00L50.00 0.00L50.00 100.00L100.00 100.00"


def test_a_long_run_is_gathered_without_losing_its_ends():
    blocks = Blocks(["seconds", "env_steps"], [[float(second), 7 * second] for second in range(1001)]).coarse(50)
    assert blocks.column("seconds") == [20.0 * number for number in range(51)] and set(blocks.rates("env_steps")) == {7.0}


def test_what_is_not_known_stays_as_it_was():
    assert Blocks(["seconds", "rss_mb"], [[0.0, None], [1.0, 5.0], [2.0, None]]).column("rss_mb") == [0.0, 5.0, 5.0]


AXES = {60.0: "0 10 20 30 40 50 60", 14.9: "0.0 2.5 5.0 7.5 10.0 12.5", 0.5: "0.0 0.1 0.2 0.3 0.4 0.5", 7.0: "0 2 4 6"}


@pytest.mark.parametrize(("end", "labels"), AXES.items())
def test_an_axis_has_round_times(end, labels):
    assert [tick.label for tick in ticks(end)] == [f"{label} s" for label in labels.split()]


def test_a_window_is_drawn_from_its_first_event():
    events = [["learn", 5.0, 0.004, 0], ["sample", 5.001, 0.001, 1], ["step", 5.004, 0.001, 0]]
    [window] = windows({"timeline": {"windows": [{"start_seconds": 5.0, "events": events}]}})
    assert window.title == "5 ms, 5 s after the start" and window.rows == 2
    assert [(round(left, 6), round(width, 6), *rest) for left, width, *rest in window.events] == [
        (0, 80, 0, "learn", "learn, 4 ms"),
        (20, 20, 1, "sample", "sample, 1 ms"),
        (80, 20, 0, "step", "step, 1 ms"),
    ]


def test_of_many_windows_a_few_are_shown():
    many = [{"start_seconds": float(number), "events": [["step", float(number), 0.5, 0]]} for number in range(9)]
    assert [window.title for window in windows({"timeline": {"windows": many}})] == [f"500 ms, {span(at)} after the start" for at in (0.0, 4.0, 8.0)]


def test_the_flame_graph_gets_columns_of_the_tree():
    phases = [phase | {"seconds": 4.0 if phase["name"] == "glue" else phase["seconds"]} for phase in SAMPLED["phases"]]
    drawn = flame(SAMPLED | {"phases": phases})
    assert [drawn["frames"][frame][0] for frame in drawn["frame"]] == ["all", "main", "learn", "learn", "backward"]
    assert (drawn["depth"], drawn["seconds"], drawn["own"]) == ([0, 1, 2, 3, 4], [31, 31, 27, 18, 18], [0, 4, 9, 0, 18])
    assert [drawn["phases"][phase] if phase >= 0 else "several" for phase in drawn["phase"]] == ["several", "several", "learn", "learn", "learn"]
