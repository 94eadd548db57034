"""The loop: what one step of one game is, written once as text and used on every machine.

Games differ in what their functions take (world, scratch, several observations) and have (mask, score, pictures, named reward parts). The text names
just what is there. `docs/semantics.md` says what must happen in which order.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hotloop.engine.binding import bind, digest
from hotloop.engine.env import EXTRAS, Env, parameters

FUNCTIONS = ("reset", "step", "observe", "mask", "look", "pixel", "score")


def books_dtype(env: Env) -> np.dtype:
    """What the loop writes down about each game. Sums are never reset: the difference of two moments is what happened between them."""
    fields: list[tuple] = [
        ("age", "i4"),  # steps in this episode
        ("ending", "i4"),  # how the last episode ended: 0 cut off, k the k-th named ending
        ("running", "f8"),  # return so far in this episode
        ("steps", "i8"),  # what every step writes comes first: one line of cache
        ("length", "i8"),  # of the last episode, as are:
        ("total", "f8"),
        ("score", "f8"),
        ("episodes", "i8"),
        ("return_sum", "f8"),
        ("score_sum", "f8"),
        ("best_score", "f8"),
        ("length_sum", "i8"),
        ("endings", "i8", (len(env.endings) + 1,)),
    ]
    if env.reward_parts:
        fields.append(("reward_parts", "f8", (len(env.reward_parts),)))
    return np.dtype(fields, align=True)


def row_names(env: Env) -> list[str]:
    """The loop's names for the arrays of observations, in order."""
    return [f"now_{name}" for name in env.parts]


def last_names(env: Env) -> list[str]:
    return [f"last_{name}" for name in env.parts]


def arguments(env: Env) -> list[str]:
    """What both loops take, in order."""
    return ["games", "streams", "books", "world", "scratch", "actions", "rewards", "terminated", "truncated", *row_names(env), *last_names(env)]


def loop_source(env: Env, final_observations: bool) -> str:
    """The text of one game's step; `i` is the game, `k` the scratch it may use, `r` the row it is seen in.

    `begin_game` and `advance_game` are the whole; `play`, `restart` and `show` are its parts, for machines that draw pictures with many threads between them.
    """
    takes = ", ".join(["i", "k", *arguments(env)])
    prologue = ["    s, rng, book = games[i], streams[i], books[i]", *_rooms(env)]
    lines = [
        f"def restart({takes}):",
        *prologue,
        f"    reset({_given(env, 'reset', 's', 'rng')})",
        "    book.age = 0",
        "    book.running = 0.0",
        "",
        f"def show({takes.replace('i, k', 'i, k, r')}):",
        *prologue,
        *_written(env, "now", "r"),
        "    return",
        "",
        f"def play({takes}):",
        *prologue,
        "    age, steps, running = book.age + 1, book.steps + 1, book.running",  # read before the step: on a GPU their latency hides behind it
        *(f"    sum{p} = book.reward_parts[{p}]" for p in range(len(env.reward_parts))),
        f"    reward, ending = step({_given(env, 'step', 's', 'actions[i]', 'rng')})",
        *_summed(env),
        "    ending = int(ending)",
        "    ended = ending != 0",
        f"    cut_off = not ended and age >= {env.max_steps}",
        "    running += reward",
        "    book.age = age",
        "    book.steps = steps",
        "    book.running = running",
        "    rewards[i] = reward",
        "    terminated[i] = ended",
        "    truncated[i] = cut_off",
        "    if not ended and not cut_off:",
        "        return False",
        *([] if final_observations else ["    if cut_off:"]),
        *_written(env, "last", "i", "    " if final_observations else "        "),
        *([] if final_observations else ["        pass"]),
        f"    score = {_scored(env)}",
        "    if book.episodes == 0 or score > book.best_score:",
        "        book.best_score = score",
        "    book.episodes += 1",
        f"    ending = ending if 0 < ending <= {len(env.endings)} or cut_off else {len(env.endings)}",  # one that was never named is booked as the last
        "    book.ending = ending",
        "    book.endings[ending] += 1",
        "    book.length = age",
        "    book.length_sum += age",
        "    book.total = running",
        "    book.return_sum += running",
        "    book.score = score",
        "    book.score_sum += score",
        "    return True",
    ]
    return "\n".join(lines) + "\n"


def whole_source(env: Env, final_observations: bool) -> str:
    """The text of `begin_game` and `advance_game`: the parts of a step in their order, for machines that draw with one thread."""
    names = ", ".join(["i", "k", *arguments(env)])
    seen = names.replace("i, k", "i, k, i", 1)
    picture = [f"    paint(games[i], now_{env.painted}[i], {_shared(env)})"] if env.painted else []
    when = "" if final_observations else "if truncated[i]: "
    final_picture = [f"        {when}paint(games[i], last_{env.painted}[i], {_shared(env)})"] if env.painted else []
    lines = [
        f"def begin_game({names}):",
        f"    restart({names})",
        f"    show({seen})",
        *picture,
        "",
        f"def advance_game({names}):",
        f"    if play({names}):",
        *final_picture,
        f"        restart({names})",
        f"    show({seen})",
        *picture,
    ]
    return "\n".join(lines) + "\n"


def _rooms(env: Env) -> list[str]:
    return (["    room = scratch[k]"] if env.scratch is not None else []) + (["    shared = world[0]"] if env.world else [])


def _shared(env: Env) -> str:
    return "world[0]" if env.world else "None"


def _given(env: Env, name: str, *positional: str) -> str:
    """The arguments of one of the game's functions: the fixed ones in order, then world and scratch where it names them."""
    fixed = iter(positional)
    return ", ".join({"world": "shared", "scratch": "room"}[p] if p in EXTRAS else next(fixed) for p in parameters(getattr(env, name)))


def _scored(env: Env) -> str:
    return f"score_of({_given(env, 'score', 's')})" if env.score else "running"


def _written(env: Env, which: str, row: str, indent: str = "    ") -> list[str]:
    """Lines that write what is seen of the state into a row: observations and mask. Pictures are painted apart."""
    lines = []
    if env.observe is not None:
        lines.append(f"{indent}observe({_given(env, 'observe', 's', *(f'{which}_{name}[{row}]' for name in env.observed))})")
    if env.mask is not None:
        lines.append(f"{indent}mask({_given(env, 'mask', 's', f'{which}_allowed[{row}]')})")
    return lines


def _summed(env: Env) -> list[str]:
    """Where rewards are named, `step` returned one a part: add them up in order and book each."""
    if not env.reward_parts:
        return []
    parts = range(len(env.reward_parts))
    return [
        "    named = reward",
        *(f"    book.reward_parts[{p}] = sum{p} + named[{p}]" for p in parts),
        f"    reward = {' + '.join(f'named[{p}]' for p in parts)}",
    ]


def paint_source(env: Env) -> str:
    """The text of `paint`: a frame, pixel by pixel, by one thread; and of `paint_shared`: thread `lane` of `lanes` draws its share of it."""
    *_, rows, columns = env.parts[env.painted].shape  # type: ignore[index]
    view = f"    view = look({_given(env, 'look', 's')})\n"
    pixel = f"pixel({_given(env, 'pixel', 's', 'view', 'row', 'column')})"
    channel = "0, " if len(env.parts[env.painted].shape) == 3 else ""  # type: ignore[index]
    return (
        f"def paint(s, picture, shared):\n{view}"
        f"    for row in range({rows}):\n"
        f"        for column in range({columns}):\n"
        f"            picture[{channel}row, column] = {pixel}\n\n"
        f"def paint_shared(s, picture, shared, lane, lanes):\n{view}"
        f"    for p in range(lane, {rows * columns}, lanes):\n"
        f"        row = p // {columns}\n"
        f"        column = p - row * {columns}\n"
        f"        picture[{channel}row, column] = {pixel}\n"
    )


def functions_of(env: Env) -> dict[str, Callable]:
    """The game's own functions under the names the text uses."""
    found = {name: getattr(env, name) for name in FUNCTIONS if getattr(env, name) is not None}
    if "score" in found:
        found["score_of"] = found.pop("score")
    return found


def range_source(env: Env) -> str:
    """The text of a processor's loops: games `lo … hi-1`, one after another."""
    names = ", ".join(arguments(env))
    return "\n".join(
        f"def {loop}(lo, hi, k, {names}):\n    for i in range(lo, hi):\n        {loop}_game(i, k, {names})\n" for loop in ("begin", "advance")
    )


def build(env: Env, jit: Callable[[Callable], Callable] | None, *texts: str) -> dict[str, Callable]:
    """The game's functions, then the texts around them, each layer handed to `jit` (None: left as Python)."""
    bound: dict[Any, Callable] = {}
    scope: dict[str, Any] = dict(functions_of(env))
    if jit is None:
        jit = _as_it_is
    else:
        scope = {name: bind(function, jit, bound) for name, function in scope.items()}
    for source in (*([paint_source(env)] if env.painted else []), *texts):
        scope |= {name: jit(function) for name, function in write(env.name, source, scope).items()}
    return scope


def _as_it_is(function: Callable) -> Callable:
    return function


def fingerprint(env: Env, *texts: str) -> str:
    """A name for everything that compiled loops of this game are made of."""
    return digest(paint_source(env) if env.painted else "", texts, list(functions_of(env).values()))


def write(name: str, source: str, scope: Mapping[str, Any]) -> dict[str, Callable]:
    """The functions of a text, and the text left where debuggers and tracebacks look for source."""
    filename = f"<hotloop {name} {digest(source)[:8]}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    module = {**scope, "__name__": __name__}  # Numba finds cached code by an importable module
    exec(compile(source, filename, "exec"), module)  # our own text; a game's functions are values in its scope
    return {key: value for key, value in module.items() if key not in scope and not key.startswith("__")}
