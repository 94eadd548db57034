"""Account: from sums to phases and clocks that add up."""

import pytest

from hotloop.lab.account import account, owner

SECOND = 10**9
MEASURED = {
    "seconds": 20.0,
    "ended_by": "end",
    "inside": {"step": 2 * SECOND, "act": 3 * SECOND, "learn": 4 * SECOND, "sample": SECOND},
    "calls": {"step": 1000, "act": 1000, "learn": 250, "sample": 250},
    "gaps": {"start>step": 4 * SECOND, "act>step": SECOND, "sample>learn": SECOND, "step>act": 2 * SECOND},
    "startup": {"inside": {"step": SECOND}, "calls": {}, "gaps": {"start>step": 4 * SECOND}},
    "looked": SECOND,
    "probe_ns": 2e5,  # in a loop of its own: a millisecond where it is cold
    "env_steps": 2000,
    "vector_steps": 1000,
    "episodes": 7,
    "updates": {"Adam 1": 250, "Adam 2": 125},
    "first_update_at": 1000,
    "batches": {"64": 200, "1": 3},
}


@pytest.fixture
def record():
    return account(MEASURED, command=["train.py"], machine={}, exit_status=0)


def test_time_between_events_belongs_to_a_phase_where_both_sides_say_so():
    pairs = {"act>step": "act", "sample>learn": "learn", "learn>sample": "learn", "learn>learn": "learn", "step>act": "glue", "learn>act": "glue"}
    assert {pair: owner(pair) for pair in pairs} == pairs


def test_phases_start_up_and_the_rest_are_the_wall_time(record):
    seconds = {phase["name"]: phase["seconds"] for phase in record["phases"]}
    assert seconds == {"act": 4.0, "step": 1.0, "sample": 1.0, "learn": 5.0, "glue": 2.0}
    assert record["startup_seconds"] == 5.0
    assert sum(seconds.values()) + record["startup_seconds"] + record["looking_seconds"] + record["unattributed_share"] * 20 == pytest.approx(20)


def test_clocks_are_told_from_what_was_counted(record):
    assert record["clocks"] == {
        "env_steps": 2000,
        "vector_steps": 1000,
        "transitions": 2000,
        "updates": 250,
        "updates_by_optimiser": {"Adam 1": 250, "Adam 2": 125},
        "episodes": 7,
        "batch_size": 64,
        "replay_ratio": 0.25,
        "learning_starts": 1000,
    }


def test_a_phase_that_its_probes_distort_is_marked(record):
    assert {phase["name"]: phase["reliable"] for phase in record["phases"]} == {"act": False, "step": False, "sample": False, "learn": True, "glue": True}


def test_probes_and_beats_are_counted_at_what_they_cost_in_a_loop():
    beats = MEASURED | {"samples": {"ticks": 1000}}
    record = account(beats, command=[], machine={}, exit_status=0)
    assert record["overhead_share"] == pytest.approx((2500 * 1e-3 + 1000 * 60e-6 + 1.0) / 20)  # events, beats, and the second that was looked


def test_a_script_that_steps_nothing_is_all_start_up():
    nothing = MEASURED | {"vector_steps": 0, "env_steps": 0, "startup": None, "updates": {}, "first_update_at": None, "batches": {}}
    record = account(nothing, command=["x.py"], machine={}, exit_status=0)
    assert record["startup_seconds"] == 19.0 and all(phase["seconds"] == 0 for phase in record["phases"])
    assert record["clocks"]["replay_ratio"] is None
