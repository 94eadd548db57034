"""The sampler keeps numbers and tells names; moments.py says which phase a stack was seen in."""

import sys

from hotloop.lab.inside.events import ACT, KINDS, LEARN, STEP, K
from hotloop.lab.inside.sampler import START_UP, Sampler, line_of, state_name
from hotloop.lab.moments import moments, owners_after, timeline


def outer(sampler, state, times):
    for _ in range(times):
        inner(sampler, state)


def inner(sampler, state):
    sampler.see(sys._getframe(), state)


def test_a_stack_is_kept_from_the_script_down_with_the_line_each_frame_stood_on():
    def script():
        outer(sampler, LEARN, 2)
        outer(sampler, STEP, 1)

    sampler = Sampler(outermost=test_a_stack_is_kept_from_the_script_down_with_the_line_each_frame_stood_on.__code__)
    script()
    seen = sampler.seen()
    first = script.__code__.co_firstlineno
    names = [frame["function"].split(".")[-1] for frame in seen["frames"]]
    told = [(s["state"], [(names[frame], line) for frame, line in s["stack"]], s["ticks"]) for s in seen["stacks"]]
    in_outer, in_inner = outer.__code__.co_firstlineno + 2, inner.__code__.co_firstlineno + 1
    assert told == [
        ("learn", [("script", first + 1), ("outer", in_outer), ("inner", in_inner)], 2),
        ("step", [("script", first + 2), ("outer", in_outer), ("inner", in_inner)], 1),
    ]
    assert seen["ticks"] == 3 and seen["dropped"] == 0


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr("hotloop.lab.inside.sampler.MOST_STACKS", 1)
    sampler = Sampler()
    inner(sampler, LEARN)
    inner(sampler, STEP)
    assert sampler.seen()["ticks"] == 2 and sampler.seen()["dropped"] == 1 and len(sampler.seen()["stacks"]) == 1


def test_every_state_has_a_name():
    assert [state_name(state) for state in (STEP, K + ACT, START_UP)] == ["step", "after act", "start-up"]
    assert len({state_name(state) for state in range(2 * len(KINDS) + 1)}) == 2 * len(KINDS) + 1


def test_an_instruction_stands_on_a_line():
    code = inner.__code__
    assert {line_of(code, at) for at in range(0, len(code.co_code), 2)} <= {code.co_firstlineno, code.co_firstlineno + 1}


def test_time_between_two_events_is_seen_as_whose_it_mostly_was():
    gaps = {"sample>learn": 900, "sample>step": 100, "step>store": 10, "act>step": 5}
    assert owners_after(gaps) == {"sample": "learn", "step": "glue", "act": "act"}


def stack(state, *places, ticks=1):
    return {"state": state, "stack": [list(place) for place in places], "ticks": ticks}


def test_samples_of_one_phase_and_stack_are_one_row():
    frames = [{"function": "train", "file": "t.py", "line": 1}, {"function": "choose", "file": "t.py", "line": 20}]
    stacks = [
        stack("learn", (0, 5), ticks=3),
        stack("after sample", (0, 5), ticks=4),  # on its way from the batch to learning
        stack("after step", (0, 7)),
        stack("forward", (0, 6), (1, 22)),  # nothing had come of it yet, but the function is known
        stack("forward", (0, 6)),
        stack("start-up", (0, 2)),
    ]
    samples = {"ticks": 11, "dropped": 0, "seconds_each": 0.002, "frames": frames, "stacks": stacks}
    measured = {"gaps": {"sample>learn": 9, "step>store": 1}, "where": [["act", "t.py", 20, "choose"]], "samples": samples}
    assert moments(measured)["samples"]["stacks"] == [
        {"phase": "learn", "stack": [[0, 5]], "ticks": 7},
        {"phase": "glue", "stack": [[0, 7]], "ticks": 1},
        {"phase": "act", "stack": [[0, 6], [1, 22]], "ticks": 1},
        {"phase": "glue", "stack": [[0, 6]], "ticks": 1},
        {"phase": "start-up", "stack": [[0, 2]], "ticks": 1},
    ]


def test_where_nothing_was_seen_nothing_is_told():
    assert moments({"gaps": {}, "samples": None, "events": []}) == {"samples": None, "timeline": None}
    assert moments({"gaps": {}, "samples": {"ticks": 0}}) == {"samples": None, "timeline": None}


def test_a_window_of_events_begins_with_its_first():
    events = [["learn", 1.5, 0.25, 0], ["sample", 1.6, 0.1, 1], ["forward", 2.0, 0.1, 0]]
    assert timeline({"events": [events, []]}) == {
        "windows": [{"start_seconds": 1.5, "events": [["learn", 1.5, 0.25, 0], ["sample", 1.6, 0.1, 1], ["glue", 2.0, 0.1, 0]]}]
    }
