"""Exports: other people's formats, read as their tools read them. The samples are ten, three seconds each, and counted by hand."""

import json
import marshal
import pstats

import pytest
from profile_records import plain_record, rich_record, tiny_samples

from hotloop.records import RunError
from hotloop.report.export import EXPORTS, collapsed, nested, perfetto, speedscope
from hotloop.report.export import pstats as as_pstats

SAMPLED = plain_record() | {"samples": tiny_samples()}
MAIN, LEARN, BACKWARD = ("/me/a.py", 1, "main"), ("/me/a.py", 10, "learn"), ("/site-packages/torch/b.py", 5, "backward")


def with_stacks(*stacks):
    return plain_record() | {"samples": tiny_samples() | {"stacks": [{"phase": phase, "stack": stack, "ticks": ticks} for phase, stack, ticks in stacks]}}


# speedscope ----------------------------------------------------------------------------------------------------------


def test_speedscope_gets_frames_stacks_and_seconds():
    page = json.loads(speedscope(SAMPLED))
    assert page["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert [(frame["name"], frame["file"], frame["line"]) for frame in page["shared"]["frames"]] == [
        ("main", "/me/a.py", 1),
        ("learn", "/me/a.py", 10),
        ("backward", "/site-packages/torch/b.py", 5),
    ]
    whole = page["profiles"][0]
    assert whole == {
        "type": "sampled",
        "name": "all phases",
        "unit": "seconds",
        "startValue": 0,
        "endValue": 30.0,
        "samples": [[0], [0, 1], [0, 1, 1, 2]],
        "weights": [3.0, 9.0, 18.0],
    }


def test_speedscope_gets_each_phase_by_itself_too():
    profiles = {profile["name"]: profile for profile in json.loads(speedscope(SAMPLED))["profiles"]}
    assert {name: (profile["samples"], profile["endValue"]) for name, profile in profiles.items() if name != "all phases"} == {
        "glue": ([[0]], 3.0),
        "learn": ([[0, 1], [0, 1, 1, 2]], 27.0),
    }


@pytest.mark.parametrize("record", [SAMPLED, rich_record()], ids=["three stacks", "rich"])
def test_speedscopes_own_rules_hold(record):
    """What its importer insists on: as many weights as samples, frames that exist, an end that is the sum."""
    page = json.loads(speedscope(record))
    for profile in page["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"]) > 0
        assert all(0 <= frame < len(page["shared"]["frames"]) for sample in profile["samples"] for frame in sample)
        assert profile["endValue"] == pytest.approx(sum(profile["weights"])) and min(profile["weights"]) > 0


# Perfetto ------------------------------------------------------------------------------------------------------------


def complete(events):
    return [(event["name"], event["ts"], event["dur"]) for event in events if event["ph"] == "X"]


def test_perfetto_gets_microseconds():
    window = {"start_seconds": 2.0, "events": [["learn", 2.0, 0.001, 0], ["sample", 2.00025, 0.0005, 1], ["step", 2.001, 0.0001, 0]]}
    page = json.loads(perfetto(plain_record() | {"timeline": {"windows": [window]}}))
    assert complete(page["traceEvents"]) == [("learn", 2_000_000.0, 1000.0), ("sample", 2_000_250.0, 500.0), ("step", 2_001_000.0, 100.0)]


def not_nested(events):
    """Pairs of complete events that overlap without one being within the other."""
    spans = [(event["ts"], event["ts"] + event["dur"]) for event in events if event["ph"] == "X"]
    return [(a, b) for i, a in enumerate(spans) for b in spans[i + 1 :] if a[0] < b[0] < a[1] - 1e-6 and b[1] > a[1] + 1e-6]


def test_events_are_strictly_nested():
    assert not_nested(json.loads(perfetto(rich_record()))["traceEvents"]) == []


def test_a_child_that_ends_after_its_parent_by_rounding_is_cut():
    events = [["learn", 1.0, 0.1000000001, 0], ["sample", 1.05, 0.0500000009, 1]]
    assert complete(nested(events)) == [("learn", 1_000_000.0, 100_000.0), ("sample", 1_050_000.0, 50_000.0)]


def test_events_that_are_not_nested_would_be_noticed():
    crossing = [{"ph": "X", "ts": 0, "dur": 10}, {"ph": "X", "ts": 5, "dur": 10}]
    assert not_nested(crossing) == [((0, 10), (5, 15))]


def test_counters_show_each_phases_share_between_two_moments():
    blocks = {"columns": ["seconds", "env_steps", "learn_seconds"], "rows": [[1.0, 0, 0.0], [3.0, 100, 1.0], [4.0, 400, 2.0]]}
    page = json.loads(perfetto(plain_record() | {"blocks": blocks}))
    counted = [(event["name"], event["ts"], event["args"]) for event in page["traceEvents"] if event["ph"] == "C"]
    assert counted == [
        ("share of the time", 1e6, {"learn": 0.5}),
        ("env steps", 1e6, {"a second": 50.0}),
        ("share of the time", 3e6, {"learn": 1.0}),
        ("env steps", 3e6, {"a second": 300.0}),
    ]


# pstats --------------------------------------------------------------------------------------------------------------


def test_pstats_counts_a_function_that_calls_itself_once():
    stats = marshal.loads(as_pstats(SAMPLED))
    assert {name: row[:4] for name, row in stats.items()} == {
        MAIN: (10, 10, 3.0, 30.0),
        LEARN: (9, 9, 9.0, 27.0),  # twice on six stacks: 45 s would be wrong
        BACKWARD: (6, 6, 18.0, 18.0),
    }


def test_pstats_knows_who_called():
    stats = marshal.loads(as_pstats(SAMPLED))
    assert {name: row[4] for name, row in stats.items()} == {
        MAIN: {},
        LEARN: {MAIN: (9, 9, 9.0, 27.0), LEARN: (6, 6, 0.0, 18.0)},
        BACKWARD: {LEARN: (6, 6, 18.0, 18.0)},
    }


def test_pythons_own_reader_prints_it(tmp_path, capsys):
    path = tmp_path / "train.pstats"
    path.write_bytes(as_pstats(SAMPLED))
    stats = pstats.Stats(str(path))
    stats.sort_stats("cumulative").print_stats()
    stats.print_callers()
    assert (stats.total_tt, stats.total_calls) == (30.0, 25)
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "(main)" in line]
    assert rows[0] == ["10", "3.000", "0.300", "30.000", "3.000", "/me/a.py:1(main)"]


def test_own_times_add_up_to_the_phases_that_were_seen():
    seconds = {phase["name"]: phase["seconds"] for phase in rich_record()["phases"]}
    own = sum(row[2] for row in marshal.loads(as_pstats(rich_record())).values())
    assert own == pytest.approx(4.0 + sum(seconds[phase] for phase in ("learn", "act", "step", "sample", "glue")))  # 4 s of start-up


# collapsed stacks ----------------------------------------------------------------------------------------------------


def test_collapsed_stacks_are_a_line_each():
    assert collapsed(SAMPLED).decode() == (
        "glue;main (a.py:1) 1\nlearn;main (a.py:1);learn (a.py:10) 3\nlearn;main (a.py:1);learn (a.py:10);learn (a.py:10);backward (b.py:5) 6\n"
    )


def test_stacks_that_differ_in_the_line_only_are_one():
    assert collapsed(with_stacks(("glue", [[0, 3]], 2), ("glue", [[0, 4]], 5))).decode() == "glue;main (a.py:1) 7\n"


def test_a_name_cannot_end_a_frame_or_a_line():
    record = plain_record() | {"samples": tiny_samples() | {"frames": [{"function": "a;b\nc 9", "file": "/x/y;z.py", "line": 1}]}}
    record["samples"]["stacks"] = [{"phase": "act", "stack": [[0, 1]], "ticks": 4}]
    assert collapsed(record).decode() == "act;a:b c 9 (y:z.py:1) 4\n"


# nothing to export ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize("record", [plain_record(), with_stacks(), plain_record() | {"timeline": {"windows": []}}], ids=["nothing", "no stacks", "no windows"])
def test_what_was_not_recorded_cannot_be_exported(name, record):
    with pytest.raises(RunError, match="expected (samples|a timeline) in the record, found none; try"):
        EXPORTS[name](record)
