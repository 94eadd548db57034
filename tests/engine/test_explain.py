"""Explain: a game that breaks a rule is answered with one sentence that names the rule and the line."""

import re
from dataclasses import replace
from inspect import getsourcelines

import broken_games
import numpy as np
import pytest
from broken_games import State
from sick_games import sick, well

from hotloop.engine.binding import compiled
from hotloop.engine.env import Box, Discrete, Env, GameError
from hotloop.engine.explain import explain, explained
from hotloop.engine.rules import RULES, broken_rules, uses_maths_library
from hotloop.engine.vecenv import make_envs
from hotloop.envs import ENVS, make_env


def reset(s, rng):
    s.x = 0


def observe(s, obs):
    obs[0] = s.x


def game(step, **changes) -> Env:
    if step is broken_games.writes_the_world:
        changes["world"] = {"table": np.zeros(2)}
    env = Env(name="broken", state=State, observation=Box(0, 1, (1,)), action=Discrete(2), reset=reset, step=sick().step, observe=observe)
    return replace(env, step=step, **changes)


def marked_line(function) -> int:
    lines, first = getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if "# here" in line)


# What is wrong → what the sentence says, and the function whose marked line it names, where that is not the step itself.
ZOO = {
    "list_literal": "makes a list",
    "list_comprehension": "makes a list",
    "dict_literal": "makes a dict",
    "set_literal": "makes a set",
    "string": "uses the string 'left'; compiled games know numbers only",
    "f_string": "makes an f-string",
    "trying": "uses try",
    "raising": "uses raise; nothing raises in a compiled game",
    "printing": "calls print",
    "class_instance": "makes objects of the class Position; keep their fields in the state",
    "generator": "uses a generator",
    "a_lambda": "uses a lambda",
    "inner_function": "defines the function plus; move it out of the function and mark it with @compiled",
    "import_inside": "imports inside the function",
    "global_name": "changes total, which is outside the game",
    "global_array": "changes COUNTS, which is outside the game",
    "array_allocation": "makes an array with np.zeros",
    "numpys_luck": "draws luck from np.random",
    "pythons_luck": "draws luck from pythons_random",
    "clock": "uses the module time",
    "unknown_field": "uses s.z, but the state has no field 'z'; its fields are x, y, cells",
    "unknown_field_in_a_helper": "uses game.cell, but the state has no field 'cell'",
    "unmarked_helper": "calls unmarked, which is not marked; put @compiled above it",
    "helper_through_its_module": "through its module; call it by its own name: from hotloop.engine.random import randint",
    "helper_that_allocates": "makes a list",
    "helper_that_returns_two_kinds": "returns nothing here and a value elsewhere",
    "one_thing_returned": "returns 0.0; it must return two things everywhere: reward, ended",
    "one_thing_sometimes": "returns 0.0; it must return two things everywhere: reward, ended",
    "three_things_returned": "it must return two things everywhere: reward, ended",
    "float_index": "uses a number with a fraction as an index; write int(…)",
    "unsigned": "uses np.uint8; unsigned numbers wrap below zero",
    "single_precision": "reads HALF, which is float32",
    "list_from_outside": "reads NAMES, a list, which may change; make it a tuple",
    "string_from_outside": "reads the string WORD",
    "misspelt": "uses acton, which is defined nowhere",
    "whole_array": "assigns a number to a whole array",
    "two_kinds_of_value": "gives where two kinds of value",
    "calls_a_method": "calls sorted",
    "writes_the_world": "writes to the world",
}
IN_HELPERS = {
    "unknown_field_in_a_helper": broken_games.with_a_typo,
    "helper_that_allocates": broken_games.allocating,
    "helper_that_returns_two_kinds": broken_games.sometimes_nothing,
}
ONLY_COMPILING_TELLS = {"float_index", "whole_array", "two_kinds_of_value"}
TRIED_ON_CPU = ONLY_COMPILING_TELLS | {
    "list_literal",
    "dict_literal",
    "unmarked_helper",
    "unknown_field",
    "unknown_field_in_a_helper",
    "one_thing_sometimes",
    "array_allocation",
    "one_thing_returned",
    "misspelt",
    "helper_through_its_module",
}


@pytest.mark.parametrize("name", [n for n in ZOO if n not in ONLY_COMPILING_TELLS])
def test_reading_the_source_names_the_rule_and_the_line(name):
    step = getattr(broken_games, name)
    blamed = IN_HELPERS.get(name, step)
    first = broken_rules(game(step))[0]
    assert (first.function, first.line) == (blamed.__name__ if name in IN_HELPERS else "step", marked_line(blamed))
    assert ZOO[name] in first.fault


@pytest.mark.parametrize("name", sorted(TRIED_ON_CPU))
def test_a_game_that_does_not_compile_is_answered_with_one_sentence(name):
    step = getattr(broken_games, name)
    blamed = IN_HELPERS.get(name, step)
    with pytest.raises(GameError) as raised:
        make_envs(game(step), 1, threads=1)
    said = str(raised.value)
    assert ZOO[name] in said and "\n" not in said
    assert re.match(rf".*broken_games\.py:{marked_line(blamed)}: {blamed.__name__ if name in IN_HELPERS else 'step'} ", said), said


@pytest.mark.parametrize("name", ENVS)
def test_our_own_games_break_no_rule(name):
    assert broken_rules(make_env(name)) == []


@pytest.mark.parametrize("features", ["basic", "flood", "selective", "enhanced", "laptop", "compact", "planes", "board", "window"])
def test_no_feature_set_of_snake_breaks_a_rule(features):
    assert broken_rules(make_env("snake", features=features)) == []


def test_every_rule_speaks_of_some_game_in_the_zoo():
    speaking = set()
    for name in ZOO:
        env = game(getattr(broken_games, name))
        for rule in RULES:
            alone = [rule]
            if _broken_by(env, alone):
                speaking.add(rule)
    assert [rule.__name__ for rule in RULES if rule not in speaking] == []


def _broken_by(env, rules) -> bool:
    from hotloop.engine import rules as house

    before = house.RULES
    house.RULES = tuple(rules)
    try:
        return bool(broken_rules(env))
    finally:
        house.RULES = before


# Python's own errors -------------------------------------------------------------------------------------------------


def by_zero(s, action, rng):
    return 1.0 / s.x, False


def beyond(s, action, rng):
    return 0.0, s.cells[7] > 0


def method(s, action, rng):
    return s.cells.sum(), False


def unset(s, action, rng):
    if s.x > 99:
        never = 1
    return never, False


@pytest.mark.parametrize(
    ("step", "line", "sentence"),
    [
        (by_zero, 1, "step divides by zero"),
        (beyond, 1, "step reaches outside an array: index 7 is out of bounds for axis 0 with size 4"),
        (method, 1, "step calls .sum of an array"),
        (unset, 3, "step reads never before it has a value"),
    ],
)
def test_what_python_raises_while_playing_becomes_a_sentence_too(step, line, sentence):
    env = game(step)
    envs = make_envs(env, 1, target="python")
    envs.reset()
    with pytest.raises(Exception) as raised:
        envs.step(np.zeros(1, np.int32))
    assert f"test_explain.py:{step.__code__.co_firstlineno + line}: {sentence}" in explain(raised.value, env)


# What is not the game's fault ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [OSError(28, "no space left"), MemoryError(), RuntimeError("CUDA out of memory")])
def test_faults_of_the_machine_pass_through_as_they_are(error):
    with pytest.raises(type(error)), explained(well):
        raise error


def test_an_error_nobody_foresaw_still_gets_a_line():
    with pytest.raises(GameError, match=r"sick_games.py:\d+: step cannot be used: 'something new"), explained(well):
        raise KeyError("something new!?")


def test_a_game_without_source_is_explained_by_what_numba_says():
    scope: dict = {}
    exec("def step(s, action, rng):\n    return [s.x][0], False", scope)
    with pytest.raises(GameError, match="allocates memory"):
        make_envs(game(scope["step"]), 1, threads=1)


# Maths libraries -----------------------------------------------------------------------------------------------------


def test_games_that_ask_a_maths_library_are_known():
    import math

    @compiled
    def helper(x):
        return math.exp(x)

    def by_helper(s, action, rng):
        return helper(s.y), False

    def by_power(s, action, rng):
        return s.y**0.5, False

    def exactly(s, action, rng):
        return math.sqrt(s.y) + math.floor(s.y), False

    assert [uses_maths_library(game(step)) for step in (by_helper, by_power, exactly)] == [True, True, False]
