"""Binding: helpers are rebuilt for a machine wherever they hide, and a digest notices every edit."""

import math
import types
from enum import IntEnum

import numba
import numpy as np
import pytest

from hotloop.engine.binding import bind, compiled, digest, is_compiled


@compiled
def twice(x):
    return x * 2


@compiled
def four_times(x):
    return twice(twice(x))


def quadruple(x):
    return four_times(x) + 1


def factory(n):
    @compiled
    def plus(x):
        return x + n

    def both(x):
        return twice(plus(x))

    return both


def test_on_python_a_marked_helper_is_the_function_it_was():
    assert isinstance(twice, types.FunctionType) and is_compiled(twice) and twice(3) == 6
    assert not is_compiled(quadruple) and not is_compiled(3)


def test_helpers_of_helpers_are_bound_and_each_once():
    made = []

    def jit(function):
        made.append(function.__name__)
        return numba.njit(function)

    bound = bind(quadruple, jit)
    assert bound(5) == quadruple(5) == 21
    assert made == ["twice", "four_times", "quadruple"]


def test_helpers_in_closures_are_bound():
    assert bind(factory(10), numba.njit)(1) == factory(10)(1) == 22
    assert bind(factory(20), numba.njit)(1) == 42


def test_binding_leaves_the_authors_functions_alone():
    bind(quadruple, numba.njit)
    assert quadruple.__globals__["four_times"] is four_times and isinstance(twice, types.FunctionType)


def test_a_helper_may_be_written_differently_for_machines():
    def native(x):
        return x + 100

    @compiled(machine=native)
    def either(x):
        return x

    def uses(x):
        return either(x)

    assert uses(1) == 1 and bind(uses, numba.njit)(1) == 101


# Digests -------------------------------------------------------------------------------------------------------------


def made_from(source: str, **scope):
    """The function `f` of a text, as an edit would leave it."""
    scope["compiled"] = compiled
    exec(source, scope)
    return scope["f"]


WELL = "@compiled\ndef helper(x):\n    return x + 1\n\ndef f(x):\n    return helper(x)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (WELL, WELL.replace("x + 1", "x + 2")),
        (WELL, WELL.replace("x + 1", "x - 1")),
        ("SIZE = 3\ndef f(x):\n    return x + SIZE", "SIZE = 4\ndef f(x):\n    return x + SIZE"),
        ("def f(x, n=1):\n    return x + n", "def f(x, n=2):\n    return x + n"),
        ("def f(x, *, n=1):\n    return x + n", "def f(x, *, n=2):\n    return x + n"),
        ("T = (1, 2)\ndef f(x):\n    return T[x]", "T = (1, 3)\ndef f(x):\n    return T[x]"),
        ("def f(x):\n    return x + 0.0", "def f(x):\n    return x - 0.0"),
    ],
    ids=["constant in a helper", "operation in a helper", "global", "default", "keyword default", "tuple", "operator"],
)
def test_an_edit_anywhere_changes_the_digest(before, after):
    assert digest(made_from(before)) != digest(made_from(after))


def test_the_same_source_has_the_same_digest_wherever_it_stands():
    assert digest(made_from(WELL)) == digest(made_from("\n\n" + WELL))


def test_what_a_factory_closes_over_is_part_of_the_digest():
    assert digest(factory(1)) != digest(factory(2)) and digest(factory(1)) == digest(factory(1))


def test_an_array_from_outside_is_part_of_the_digest():
    source = "def f(x):\n    return T[x]"
    assert digest(made_from(source, T=np.arange(3))) != digest(made_from(source, T=np.arange(3) * 2))
    assert digest(made_from(source, T=np.arange(3))) != digest(made_from(source, T=np.arange(3.0)))


def test_a_constant_of_another_module_is_part_of_the_digest():
    first, second = types.ModuleType("constants"), types.ModuleType("constants")
    first.SIZE, second.SIZE = 3, 4
    source = "def f(x):\n    return x + constants.SIZE"
    assert digest(made_from(source, constants=first)) != digest(made_from(source, constants=second))


def test_the_values_of_an_enum_are_part_of_the_digest():
    source = "def f(x):\n    return x + Way.UP"
    ups = [IntEnum("Way", {"UP": value}) for value in (1, 2)]
    assert digest(made_from(source, Way=ups[0])) != digest(made_from(source, Way=ups[1]))


def test_a_library_module_does_not_make_the_digest_a_matter_of_addresses():
    source = "def f(x):\n    return math.sin(x) + np.int64(x)"
    assert digest(made_from(source, math=math, np=np)) == digest(made_from(source, math=math, np=np))


def test_helpers_that_call_each_other_have_a_digest():
    source = "@compiled\ndef g(x):\n    return f(x - 1)\n\n@compiled\ndef f(x):\n    return g(x) if x > 0 else 0\n"
    assert digest(made_from(source)) == digest(made_from(source))
