"""Events: every nanosecond goes to what was inside or to what lay between. The clock is moved by hand."""

import pickle
import types

import pytest

from hotloop.lab.inside.events import ACT, EVALUATE, LEARN, SAMPLE, STEP, STORE, Recorder
from hotloop.lab.inside.trampoline import ALWAYS, Detour, Hook


class Loop:
    """A loop of functions that take as long as they are told. Probes with their shortcuts, or only the long way."""

    def __init__(self, shortcuts):
        self.now, self.shortcuts = 0, shortcuts
        self.recorder = Recorder(clock=lambda: self.now)
        self.detours = []

    def passes(self, nanoseconds):
        self.now += nanoseconds

    def function(self, probe, body=None, shortcut=ALWAYS):
        def function(nanoseconds):
            self.passes(nanoseconds)
            return body() if body else None

        self.detours.append(Detour(function, probe, shortcut if self.shortcuts else ALWAYS))
        return function

    def of(self, kind, body=None):
        return self.function(self.recorder.probe(kind), body, self.recorder.shortcut(kind))

    def env_step(self, body=None):
        return self.function(self.recorder.probe_step(), body, self.recorder.shortcut(STEP, step=True))

    @property
    def sums(self):
        return self.recorder.sums()


@pytest.fixture(params=[True, False], ids=["shortcuts", "the long way"])
def loop(request):
    return Loop(request.param)


def test_time_goes_to_what_is_inside_and_to_the_pair_it_lies_between(loop):
    step, store = loop.of(STEP), loop.of(STORE)
    for _ in range(2):
        loop.passes(1)
        step(10)
        loop.passes(2)
        store(100)
    assert loop.sums == {
        "inside": {"step": 20, "store": 200},
        "calls": {"step": 2, "store": 2},
        "gaps": {"start>step": 1, "step>store": 4, "store>step": 1},
    }
    assert sum(loop.sums["inside"].values()) + sum(loop.sums["gaps"].values()) == loop.now


def test_what_happens_within_an_event_is_taken_out_of_it(loop):
    sample = loop.of(SAMPLE)
    learn = loop.of(LEARN, body=lambda: (sample(5), loop.passes(7)))
    learn(20)
    assert loop.sums["inside"] == {"learn": 27, "sample": 5}
    assert loop.sums["gaps"] == {}


def test_wrappers_are_part_of_the_outermost(loop):
    inner = loop.of(STEP)
    outer = loop.of(STEP, body=lambda: inner(3))
    outer(10)
    assert loop.sums["inside"] == {"step": 13} and loop.sums["calls"] == {"step": 1}


@pytest.mark.parametrize(("decisive", "kind"), [(STEP, "act"), (LEARN, "learn"), (SAMPLE, "learn"), (STORE, "act")])
def test_a_forward_pass_is_what_comes_of_it(loop, decisive, kind):
    forward, then = loop.function(loop.recorder.forward), loop.of(decisive)
    loop.passes(1)
    forward(10)
    loop.passes(2)
    forward(20)
    loop.passes(4)
    then(100)
    named = {STEP: "step", LEARN: "learn", SAMPLE: "sample", STORE: "store"}[decisive]
    assert loop.sums["inside"].get(kind) == 32 + (100 if kind == named else 0)  # both passes and what lay between them
    assert loop.sums["gaps"] == {f"start>{kind}": 1, f"{kind}>{named}": 4}


def test_within_another_event_a_forward_pass_is_that_events_business(loop):
    forward = loop.function(loop.recorder.forward)
    learn = loop.of(LEARN, body=lambda: forward(5))
    learn(1)
    assert loop.sums["inside"] == {"learn": 6}


def test_evaluating_is_one_thing_whatever_happens_in_it(loop):
    counted = []
    step = loop.env_step()
    loop.recorder.on_step = lambda result, env: counted.append(result)
    evaluate = loop.of(EVALUATE, body=lambda: step(5))
    evaluate(1)
    step(2)
    assert loop.sums["inside"] == {"evaluate": 6, "step": 2} and len(counted) == 1


def test_a_step_that_fails_is_over_all_the_same(loop):
    def fall():
        raise RuntimeError

    step, act = loop.of(STEP, body=fall), loop.of(ACT)
    with pytest.raises(RuntimeError):
        step(3)
    loop.passes(1)
    act(10)
    assert loop.sums["inside"] == {"step": 3, "act": 10} and loop.sums["gaps"] == {"step>act": 1}


def test_a_recorder_that_is_stopped_lets_everything_through(loop):
    step = loop.of(STEP)
    loop.recorder.stop()
    step(3)
    assert loop.sums == {"inside": {}, "calls": {}, "gaps": {}}


def test_what_was_held_back_is_forgotten_and_its_time_is_the_looks(loop):
    step = loop.env_step()
    loop.recorder.on_step = lambda result, env: loop.passes(1)  # counting takes time too, but is not added twice
    step(10)
    loop.recorder.hold()
    for _ in range(3):
        loop.passes(100)
        step(1000)
    loop.recorder.release()
    loop.passes(5)
    step(10)
    assert loop.sums == {"inside": {"step": 20}, "calls": {"step": 2}, "gaps": {"step>step": 5}}
    assert loop.recorder.looked == 3 * 1101 + 2
    assert sum(loop.sums["inside"].values()) + sum(loop.sums["gaps"].values()) + loop.recorder.looked == loop.now


def test_events_of_a_moment_are_kept_one_by_one_and_nested(loop, monkeypatch):
    monkeypatch.setattr("hotloop.lab.inside.events.MOST_LOGGED", 6)
    sample, act = loop.of(SAMPLE), loop.of(ACT)
    learn = loop.of(LEARN, body=lambda: (sample(5), loop.passes(7)))
    act(1)
    loop.recorder.begin_log()
    for _ in range(4):
        learn(20)
        act(1)
    log = loop.recorder.logs
    learn_, sample_, act_ = LEARN, SAMPLE, ACT
    assert log == [[[learn_, 1, 33, 0], [sample_, 21, 26, 1], [act_, 33, 34, 0], [learn_, 34, 66, 0], [sample_, 54, 59, 1]]]
    assert sum(loop.sums["inside"].values()) + sum(loop.sums["gaps"].values()) == loop.now


def test_a_forward_pass_in_the_log_is_what_came_of_it(loop):
    forward, step = loop.function(loop.recorder.forward), loop.of(STEP)
    loop.recorder.begin_log()
    forward(10)
    step(5)
    assert loop.recorder.logs == [[[ACT, 0, 10, 0], [STEP, 10, 15, 0]]]


def test_an_event_that_had_begun_before_the_log_is_left_out(loop):
    sample = loop.of(SAMPLE)
    learn = loop.of(LEARN, body=lambda: (loop.recorder.begin_log(), sample(5)))
    learn(20)
    assert loop.recorder.logs == [[[SAMPLE, 20, 25, 0]]]


def test_a_probed_function_that_goes_to_another_process_measures_nothing_there(loop):
    step, act = loop.env_step(body=lambda: 7), loop.of(ACT, body=lambda: 8)
    there = pickle.loads(pickle.dumps(loop.recorder))
    assert not isinstance(there, Recorder)
    for function, result in ((step, 7), (act, 8)):
        hook = next(constant for constant in function.__code__.co_consts if isinstance(constant, Hook))
        make, given = hook.__reduce__()
        instead = {id(loop.recorder): there, id(hook): make(*given)}
        constants = tuple(instead.get(id(constant), constant) for constant in function.__code__.co_consts)
        sent = types.FunctionType(function.__code__.replace(co_consts=constants), {}, closure=function.__closure__)
        assert sent(0) == result
    assert loop.sums["calls"] == {}
