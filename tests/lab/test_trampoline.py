"""Trampoline: a function's code is exchanged wherever the function is held, and put back."""

import inspect

import pytest

from hotloop.lab.inside.trampoline import Detour, Shortcut, can_be_detoured


class Base:
    def method(self, x, y=3, *, k=4):
        return x, y, k, __class__


class Child(Base):
    def method(self, x, y=3, *, k=5):
        return super().method(x, y, k=k)


def closure(offset):
    def add(x, /, *rest, by=1, **more):
        return x + offset + by + sum(rest) + len(more)

    return add


def counted(calls):
    def make(original):
        def hook(*args, **kwargs):
            calls.append(args)
            return original(*args, **kwargs)

        return hook

    return make


def test_every_name_of_a_function_takes_the_detour_and_none_after_it_is_removed():
    child, calls = Child(), []
    bound, table = child.method, {"held": Child.method}
    detour = Detour(Child.method, counted(calls))
    assert [bound(1), child.method(1, 2, k=9), table["held"](child, 0)] == [(1, 3, 5, Base), (1, 2, 9, Base), (0, 3, 5, Base)]
    assert len(calls) == 3
    detour.remove()
    assert bound(1) == (1, 3, 5, Base) and len(calls) == 3


def test_closures_defaults_and_arguments_of_every_kind_survive():
    one, other, calls = closure(10), closure(100), []
    detour = Detour(one, counted(calls))
    assert one(1, 2, 3, by=4, z=0) == 21 and one(1) == 12
    assert other(1) == 102 and len(calls) == 2  # a function of the same code is another function
    detour.remove()
    assert one(1) == 12 and len(calls) == 2


def test_who_asks_for_the_arguments_gets_them():
    before = inspect.signature(Child.method)
    detour = Detour(Child.method, counted([]))
    assert inspect.signature(Child.method) == before
    detour.remove()
    assert inspect.signature(Child.method) == before and "__wrapped__" not in vars(Child.method)


def test_who_asks_for_the_source_gets_it():
    source = inspect.getsource(Child.method)
    detour = Detour(Child.method, counted([]))
    assert inspect.getsource(Child.method) == source and "super().method" in source
    detour.remove()


KINDS_OF_PARAMETERS = [
    lambda: 0,
    lambda a, b=2: (a, b),
    lambda a, /, b, *, c=3: (a, b, c),
    lambda *rest: rest,
    lambda a, *rest, by=1, **more: (a, rest, by, more),
    lambda **more: more,
]
CALLS = [((), {}), ((1,), {}), ((1, 5), {}), ((1,), {"b": 7}), ((1, 2, 3), {"by": 4, "z": 5}), ((), {"a": 9}), ((1, 2), {"c": 0})]


def outcome(function, args, kwargs):
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize("function", KINDS_OF_PARAMETERS, ids=lambda function: str(inspect.signature(function)))
def test_parameters_of_every_kind_are_taken_and_handed_on_and_refused_in_the_same_words(function):
    before, firsts = [outcome(function, *call) for call in CALLS], []
    lines = "'@firsts'.append('@first')\nif '@asked'():\n    return '@otherwise'\nreturn '@call'\n"
    shortcut = Shortcut(lines, {"firsts": Kept(firsts), "asked": lambda: len(firsts) % 2})
    detour = Detour(function, counted([]), shortcut)
    assert [outcome(function, *call) for call in CALLS] == before
    assert len(firsts) == sum(not isinstance(result, str) for result in before)
    detour.remove()
    assert [outcome(function, *call) for call in CALLS] == before


class Kept:
    """A list that can stand in code: lists cannot be hashed."""

    def __init__(self, kept):
        self.append = kept.append


def test_an_exception_passes_through():
    def breaks():
        raise KeyError("mine")

    detour = Detour(breaks, counted([]))
    with pytest.raises(KeyError, match="mine"):
        breaks()
    detour.remove()


def test_generators_coroutines_and_built_ins_are_left_alone():
    async def waits(): ...
    def gives():
        yield

    assert [can_be_detoured(f) for f in (waits, gives, len, Child, Child.method)] == [False, False, False, False, True]
