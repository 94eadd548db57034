"""Anatomy: from stacks to the functions that are phases."""

import sys
import types

from hotloop.lab.inside.anatomy import Place, in_a_loop, regions, stack_of
from hotloop.lab.inside.events import ACT, LEARN, RESET, SAMPLE, STEP, STORE


def code(name: str) -> types.CodeType:
    return compile("", f"{name}.py", "exec").replace(co_name=name)


MODULE, MAIN, COLLECT, TRAIN, CHOOSE, NET, ADD, BATCH = map(code, ("<module>", "main", "collect", "train", "choose", "net", "add", "batch"))


def stack(*codes, loop=None):
    return tuple(Place(c, c is loop) for c in codes)


def events(*some):
    return [(kind, stack(MODULE, MAIN, *codes, loop=MAIN)) for kind, *codes in some for _ in range(3)]


def test_the_outermost_function_with_one_thing_under_it_is_the_phase():
    found = regions(events((ACT, COLLECT, CHOOSE, NET), (STEP, COLLECT), (STORE, COLLECT, ADD), (LEARN, TRAIN, NET), (SAMPLE, TRAIN, BATCH)))
    assert found == {CHOOSE: ACT, ADD: STORE, TRAIN: LEARN, BATCH: SAMPLE}


def test_a_loop_over_steps_is_no_phase_though_nothing_else_happens_in_it():
    assert regions(events((STEP,), (RESET,))) == {}


def test_a_helper_that_steps_and_resets_is_one():
    helper = code("step_and_reset")
    assert regions(events((STEP, helper), (RESET, helper), (ACT,))) == {helper: STEP}


def test_a_network_that_acts_and_learns_is_neither():
    assert regions(events((ACT, NET), (LEARN, NET), (STEP,))) == {}


def test_what_happened_once_belongs_to_setting_up():
    once = code("build")
    assert regions([*events((STEP,), (ACT, CHOOSE)), (RESET, stack(MODULE, once))]) == {CHOOSE: ACT}


def test_a_top_level_is_never_a_phase():
    assert regions([(ACT, stack(MODULE))] * 5) == {}


def test_calls_in_loops_are_told_from_others():
    places = {}

    def look(name):
        frame = sys._getframe(1)
        places[name] = in_a_loop(frame.f_code, frame.f_lasti)

    look("before")
    for _ in range(1):
        look("for")
    if places:
        look("if")
    n = 1
    while n:
        n -= 1
        look("while")
    [look("after") for _ in ()] or look("after")
    assert places == {"before": False, "for": True, "if": False, "while": True, "after": False}


def test_a_stack_is_outermost_first():
    def inner():
        return stack_of(sys._getframe())

    assert [place.code.co_name for place in inner()][-2:] == ["test_a_stack_is_outermost_first", "inner"]


def wrapped(function):
    def wrapper():
        return function()

    return wrapper


def test_a_wrapper_that_serves_several_functions_is_no_phase_though_only_acting_was_seen_in_it():
    first, second = wrapped(lambda: 1), wrapped(lambda: 2)
    assert first() + second() == 3
    seen = events((ACT, first.__code__, CHOOSE), (STEP,))
    assert regions(seen) == {CHOOSE: ACT}


def test_a_closure_of_which_there_is_one_is_a_phase_like_any_function():
    """The saboteur of the test above."""

    def made(function):
        def choose():
            return function()

        return choose

    only = made(lambda: 1)
    assert regions(events((ACT, only.__code__, CHOOSE), (STEP,))) == {only.__code__: ACT} and only() == 1


def test_a_helper_through_which_everything_goes_is_no_phase():
    timed = code("timed")
    assert regions(events((STORE, timed, ADD), (SAMPLE, timed, BATCH), (LEARN, timed, TRAIN), (STEP,))) == {ADD: STORE, BATCH: SAMPLE, TRAIN: LEARN}
