"""Functions that do not compile, or should not: each breaks one rule, on the line that ends in `# here`."""

from __future__ import annotations

import random as pythons_random
import time

import numpy as np

from hotloop.engine import random as hotloop_random
from hotloop.engine.binding import compiled
from hotloop.engine.env import state

State = state(x="i4", y="f8", cells=("i4", (4,)))
COUNTS = np.zeros(3, np.int64)
NAMES = ["left", "right"]
WORD = "left"
HALF = np.float32(0.5)


def unmarked(x):
    return x + 1


@compiled
def sometimes_nothing(x):
    if x > 1:
        return  # here
    return x


@compiled
def with_a_typo(game):
    return game.cell[0]  # here


@compiled
def allocating(x):
    return [x][0]  # here


class Position:
    def __init__(self, x):
        self.x = x


def list_literal(s, action, rng):
    moves = [1, -1]  # here
    s.x += moves[action]
    return 0.0, False


def list_comprehension(s, action, rng):
    s.x = sum([i * i for i in range(3)])  # here
    return 0.0, False


def dict_literal(s, action, rng):
    s.x += {0: 1, 1: -1}[action]  # here
    return 0.0, False


def set_literal(s, action, rng):
    return 0.0, s.x in {4, 5}  # here


def string(s, action, rng):
    way = "left" if action else "right"  # here
    return 0.0, way == "left"


def f_string(s, action, rng):
    message = f"{action}"  # here
    return 0.0, len(message) > 3


def trying(s, action, rng):
    try:  # here
        s.x = 1 // action
    except ZeroDivisionError:
        s.x = 0
    return 0.0, False


def raising(s, action, rng):
    if action > 1:
        raise ValueError(action)  # here
    return 0.0, False


def printing(s, action, rng):
    print(s.x)  # here
    return 0.0, False


def class_instance(s, action, rng):
    s.x = Position(action).x  # here
    return 0.0, False


def generator(s, action, rng):
    s.x = sum(i for i in range(3))  # here
    return 0.0, False


def a_lambda(s, action, rng):
    s.x = (lambda x: x + 1)(action)  # here
    return 0.0, False


def inner_function(s, action, rng):
    def plus(x):  # here
        return x + 1

    s.x = plus(action)
    return 0.0, False


def import_inside(s, action, rng):
    import math  # here

    return math.sqrt(2.0), False


def global_name(s, action, rng):
    global total  # here
    total = action
    return 0.0, False


def global_array(s, action, rng):
    COUNTS[action] += 1  # here
    return 0.0, False


def array_allocation(s, action, rng):
    board = np.zeros(4)  # here
    return board[action], False


def numpys_luck(s, action, rng):
    s.x = np.random.randint(4)  # here  # noqa: NPY002
    return 0.0, False


def pythons_luck(s, action, rng):
    s.x = pythons_random.randint(0, 4)  # here
    return 0.0, False


def clock(s, action, rng):
    s.y = time.time()  # here
    return 0.0, False


def unknown_field(s, action, rng):
    s.z = action  # here
    return 0.0, False


def unknown_field_in_a_helper(s, action, rng):
    return with_a_typo(s), False


def unmarked_helper(s, action, rng):
    s.x = unmarked(action)  # here
    return 0.0, False


def helper_through_its_module(s, action, rng):
    s.x = hotloop_random.randint(rng, 4)  # here
    return 0.0, False


def helper_that_allocates(s, action, rng):
    s.x = allocating(action)
    return 0.0, False


def helper_that_returns_two_kinds(s, action, rng):
    s.x = sometimes_nothing(action)
    return 0.0, False


def one_thing_returned(s, action, rng):
    return 0.0  # here


def one_thing_sometimes(s, action, rng):
    if action == 0:
        return 0.0  # here
    return 0.0, False


def three_things_returned(s, action, rng):
    return 0.0, False, {}  # here


def float_index(s, action, rng):
    s.x = s.cells[action / 2]  # here
    return 0.0, False


def unsigned(s, action, rng):
    s.x = np.uint8(action) - np.uint8(2)  # here
    return 0.0, False


def single_precision(s, action, rng):
    s.y = HALF * action  # here
    return 0.0, False


def list_from_outside(s, action, rng):
    return 0.0, len(NAMES) > action  # here


def string_from_outside(s, action, rng):
    return 0.0, WORD == action  # here


def misspelt(s, action, rng):
    s.x = acton + 1  # here  # noqa: F821
    return 0.0, False


def whole_array(s, action, rng):
    s.cells = action  # here
    return 0.0, False


def two_kinds_of_value(s, action, rng):
    where = s.cells
    if action:
        where = 1
    s.x = where  # here
    return 0.0, False


def calls_a_method(s, action, rng):
    s.x = sorted((action, 2))[0]  # here
    return 0.0, False


def writes_the_world(s, action, rng, world):
    world.table[0] = action  # here
    return 0.0, False
