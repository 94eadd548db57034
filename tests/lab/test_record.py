"""The record: parts that stand on their own, moments of counting put together, and each phase held against its roofs."""

import json

import pytest

from hotloop.lab.record import added, record_of, roof_of_phase, together

SECOND = 10**9
MEASURED = {
    "seconds": 10.0,
    "ended_by": "end",
    "inside": {"step": 2 * SECOND, "learn": 6 * SECOND},
    "calls": {"step": 1000, "learn": 500},
    "gaps": {"start>step": SECOND},
    "startup": {"gaps": {"start>step": SECOND}},
    "looked": SECOND,
    "env_steps": 160_000,
    "vector_steps": 1000,
    "episodes": 3,
    "updates": {"Adam 1": 500},
    "first_update_at": 100,
}
ROOFS = {"python_call_seconds": 1e-7}


def counted(rows, work, updates=0, steps=0, **others):
    clocks = {"env_steps": steps, "vector_steps": steps, "updates": updates, "episodes": 0}
    what = {"seconds": 1.0, "rows": rows, "functions": [["f", "t.py", 1, "learn", 2]], "work": work, "networks": [], "process": {"threads": 1}}
    return {"clocks": clocks, "calls": {"learn": updates, "step": steps}, "counted": what | {"blind": [], "dropped": 0} | others}


ITEM = ["sync", "item", "t.py", 9, "learn", "", "learn"]
MADE = ["array", "array", "t.py", 3, "play", "", "step"]


def test_two_moments_are_one():
    first = counted([[*MADE, 64]], {"step": {"python_calls": 128, "flops": {"float32": 4}}}, steps=64)
    second = counted([[*ITEM, 16], [*MADE, 1]], {"learn": {"python_calls": 8}, "step": {"python_calls": 2, "flops": {"float32": 1}}}, updates=8)
    both = together([first, second])
    assert both["clocks"] == {"env_steps": 64, "vector_steps": 64, "updates": 8, "episodes": 0} and both["calls"] == {"learn": 8, "step": 64}
    assert both["counted"]["rows"] == [[*MADE, 65], [*ITEM, 16]]
    assert both["counted"]["work"] == {"step": {"python_calls": 130, "flops": {"float32": 5}}, "learn": {"python_calls": 8}}
    assert both["counted"]["functions"] == [["f", "t.py", 1, "learn", 4]]


def test_no_moment_is_no_count():
    assert together([]) is None and added([]) == {}


def record(**measured):
    return record_of(MEASURED | measured, command=["t.py"], machine={}, exit_status=0)


def test_a_record_without_anything_new_is_still_one():
    assert record()["counts"] is None and record()["mistakes"] == [] and record()["phases"][0]["roof"] is None


def test_counts_are_told_per_update_and_per_step():
    told = record(moments=[counted([[*MADE, 128], [*ITEM, 768]], {}, updates=8, steps=64)])
    assert [(row["what"], row["times"], row["per"]) for row in told["counts"]] == [("item", 96.0, "update"), ("array", 2.0, "env step")]
    json.dumps(told, allow_nan=False)


def test_a_part_that_fails_is_told_and_the_others_stand():
    told = record(moments=[{"clocks": {}, "calls": {}, "counted": {"rows": [], "functions": [], "work": {}, "networks": [], "process": {}, "blind": [],
                                                                  "dropped": 0, "seconds": 1.0}}], holds={"kind": "what"})  # fmt: skip
    assert told["phases"] and told["clocks"]["env_steps"] == 160_000
    broken = record(moments=[counted([["too short", 3]], {}, steps=1)])
    assert broken["counts"] is None and [mistake.split(":")[0] for mistake in broken["mistakes"]] == ["counts", "count_summary"]
    assert broken["phases"] == record()["phases"]


def test_a_phase_is_held_against_what_its_calls_would_need(monkeypatch):
    each = {"binds": "interpreter", "attainable_seconds": 2e-6, "roofs": {"interpreter": 2e-6, "dispatch": 1e-6, "copy": None}}
    monkeypatch.setattr("hotloop.lab.record.roof_of", lambda work, roofs: each)
    phase, work = {"name": "learn", "seconds": 1.0, "calls": 1000}, {"learn": {"per_call": {"python_calls": 20}}}
    told = roof_of_phase(phase, work, ROOFS)
    assert told["binds"] == "interpreter" and told["attainable_seconds"] == pytest.approx(2e-3) and not told["beyond"]
    assert told["roofs"] == {"interpreter": pytest.approx(2e-3), "dispatch": pytest.approx(1e-3), "copy": None}
    assert roof_of_phase(phase | {"seconds": 1e-3}, work, ROOFS)["beyond"]
    assert roof_of_phase(phase, work, None) is None and roof_of_phase(phase, {}, ROOFS) is None and roof_of_phase(phase | {"name": "act"}, work, ROOFS) is None
