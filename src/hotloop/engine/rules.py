"""Rules: what can be seen to be wrong with a game by reading its source.

A rule is a function that takes a piece of syntax and the function it stands in, and says what is wrong with it, or None. Adding one is that function and
its line in RULES. They follow the engine's contract: numbers, loops, `math`, marked helpers; no allocation, text, exceptions, foreign luck.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import os
import textwrap
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hotloop.engine.binding import is_compiled
from hotloop.engine.env import Env
from hotloop.engine.loop import FUNCTIONS

ENGINE = os.path.dirname(os.path.abspath(__file__))
NOT_FOUND, LOCAL = object(), object()
LUCK = "luck comes from rng alone, so that equal seeds play equal games: use randint(rng, n) or random(rng) of hotloop"


class Broken(NamedTuple):
    """A rule a game's source breaks."""

    file: str
    line: int
    function: str
    fault: str

    def __str__(self) -> str:
        return f"{short(self.file)}:{self.line}: {self.function} {self.fault}"


@dataclass(frozen=True)
class Part:
    """One function of a game as its author wrote it: what it is called, its syntax, and what its names mean."""

    env: Env
    name: str
    function: Any
    tree: ast.FunctionDef
    records: dict[str, np.dtype] = field(default_factory=dict)  # arguments that are a state, a scratch or a world

    @property
    def file(self) -> str:
        return os.path.abspath(self.function.__code__.co_filename)

    @cached_property
    def lines(self) -> range:
        return range(self.tree.lineno, (self.tree.end_lineno or self.tree.lineno) + 1)

    def meaning(self, name: str) -> Any:
        """What a name stands for: a value, LOCAL, or NOT_FOUND."""
        code = self.function.__code__
        if name in code.co_varnames or name in code.co_cellvars:
            return LOCAL
        if name in code.co_freevars:
            cell = self.function.__closure__[code.co_freevars.index(name)]
            return next((c.cell_contents for c in [cell] if _is_filled(c)), LOCAL)
        return self.function.__globals__.get(name, getattr(builtins, name, NOT_FOUND))

    def value(self, node: ast.AST) -> Any:
        """What `name` or `module.name` stands for; LOCAL where only running would tell."""
        if isinstance(node, ast.Name):
            return self.meaning(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value)
            return getattr(owner, node.attr, NOT_FOUND) if isinstance(owner, types.ModuleType | type) else LOCAL
        return LOCAL


# ---------------------------------------------------------------- reading


def broken_rules(env: Env) -> list[Broken]:
    """Every rule that can be seen to be broken by reading a game's functions and helpers, in the order of reading."""
    found = []
    for part in parts(env):
        for node in inside(part.tree):
            faults = (rule(node, part) for rule in RULES)
            found += [Broken(part.file, node.lineno, part.name, fault) for fault in faults if fault is not None]  # type: ignore[attr-defined]
    return found


def uses_maths_library(env: Env) -> bool:
    """Whether a game asks a maths library for anything machines may round differently."""
    exact = {math.sqrt, math.floor, math.ceil, math.fabs, math.trunc, math.isnan, math.isinf, math.isfinite, math.copysign}
    for part in parts(env):
        for node in inside(part.tree):
            called = part.value(node.func) if isinstance(node, ast.Call) else None
            if isinstance(getattr(node, "op", None), ast.Pow) or called is pow:
                return True
            if isinstance(called, np.ufunc) or (isinstance(called, types.BuiltinFunctionType) and called.__module__ == "math" and called not in exact):
                return True
    return False


def parts(env: Env) -> list[Part]:
    """The game's functions and the marked helpers they reach, the engine's own left out."""
    found: dict[Any, Part] = {}
    known = {"scratch": env.scratch, "world": np.dtype([(n, a.dtype, a.shape) for n, a in env.world.items()]) if env.world else None}

    def read(name: str, function: Any, records: dict[str, np.dtype]) -> None:
        tree = _syntax(function)
        if function in found or tree is None:
            return
        part = found[function] = Part(env, name, function, tree, records)
        for node in inside(tree):
            if isinstance(node, ast.Call) and is_compiled(helper := part.value(node.func)) and helper.__compiled__ is helper:
                takes = helper.__code__.co_varnames
                given = {takes[i]: records[a.id] for i, a in enumerate(node.args) if isinstance(a, ast.Name) and a.id in records and i < len(takes)}
                read(helper.__name__, helper, given)

    for name in FUNCTIONS:
        function = getattr(env, name)
        if function is not None:
            arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
            read(name, function, {arguments[0]: env.state} | {n: d for n, d in known.items() if n in arguments and d is not None})
    return list(found.values())


# ---------------------------------------------------------------- the rules


def no_allocation(node: ast.AST, part: Part) -> str | None:
    room = 'a game allocates nothing, so keep a field in the state or in scratch: state(numbers=("i4", (8,)))'
    called = part.value(node.func) if isinstance(node, ast.Call) else None
    if isinstance(node, ast.List | ast.ListComp) and not isinstance(getattr(node, "ctx", None), ast.Store) or called is list:
        return f"makes a list; {room}"
    if isinstance(node, ast.Dict | ast.DictComp) or called is dict:
        return f"makes a dict; {room}, or choose with if"
    if isinstance(node, ast.Set | ast.SetComp) or called in (set, frozenset):
        return f"makes a set; {room}, or compare with ==, or"
    name = getattr(called, "__name__", "")
    is_numpys = (getattr(called, "__module__", None) or "").split(".")[0] == "numpy"
    if is_numpys and (isinstance(called, types.FunctionType) or name in ARRAY_MAKERS):
        return f"makes an array with np.{name}; {room}"
    return None


ARRAY_MAKERS = {"zeros", "ones", "empty", "full", "array", "asarray", "arange", "linspace", "zeros_like", "ones_like", "empty_like", "copy"}


def no_text(node: ast.AST, part: Part) -> str | None:
    if isinstance(node, ast.JoinedStr):
        return "makes an f-string; compiled games know numbers only, so say what happened in a named ending or a reward part"
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        return f"uses the string {node.value!r}; compiled games know numbers only, so give it a number, or decide in the factory"
    return None


def no_printing(node: ast.AST, part: Part) -> str | None:
    called = part.value(node.func) if isinstance(node, ast.Call) else None
    if called in (print, input, open, breakpoint, exec, eval):
        return f"calls {called.__name__}; a compiled game speaks to nobody, so look at envs.game(i) between steps, or debug on the python target"
    return None


def no_exceptions(node: ast.AST, part: Part) -> str | None:
    if isinstance(node, ast.Try):
        return "uses try; nothing raises in a compiled game, so test with if before"
    if isinstance(node, ast.Raise | ast.Assert):
        return f"uses {'raise' if isinstance(node, ast.Raise) else 'assert'}; nothing raises in a compiled game, so end the episode with a named ending"
    if isinstance(node, ast.With):
        return "uses with; a compiled game has nothing to open or close"
    return None


def no_definitions(node: ast.AST, part: Part) -> str | None:
    outside = "move it out of the function and mark it with @compiled"
    if isinstance(node, ast.ClassDef):
        return f"defines the class {node.name}; keep its fields in the state"
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return f"defines the function {node.name}; {outside}"
    if isinstance(node, ast.Lambda):
        return f"uses a lambda; {outside}, with a name"
    if isinstance(node, ast.GeneratorExp | ast.Yield | ast.YieldFrom | ast.Await):
        return "uses a generator; write the loop out with for"
    if isinstance(node, ast.Import | ast.ImportFrom):
        return "imports inside the function; import at the top of the file"
    return None


def no_changing_globals(node: ast.AST, part: Part) -> str | None:
    keep = "what is outside a game is frozen when it is compiled, so keep it in the state"
    if isinstance(node, ast.Global | ast.Nonlocal):
        return f"changes {', '.join(node.names)}, which is outside the game; {keep}"
    if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
        base: ast.AST = node
        while isinstance(base, ast.Subscript | ast.Attribute):
            base = base.value
        if isinstance(base, ast.Name) and part.meaning(base.id) is not LOCAL:
            return f"changes {base.id}, which is outside the game; {keep}"
        if isinstance(base, ast.Name) and base.id == "world":
            return "writes to the world, which all games share and none may change; keep what changes in the state"
    return None


def only_known_fields(node: ast.AST, part: Part) -> str | None:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in part.records:
        names = part.records[node.value.id].names or ()
        if node.attr not in names:
            kind = {"scratch": "scratch", "world": "world"}.get(node.value.id, "state")
            return f"uses {node.value.id}.{node.attr}, but the {kind} has no field {node.attr!r}; its fields are {', '.join(names)}"
    return None


def only_marked_helpers(node: ast.AST, part: Part) -> str | None:
    called = part.value(node.func) if isinstance(node, ast.Call) else None
    if not isinstance(called, types.FunctionType) or (called.__module__ or "").split(".")[0] in ("numpy", "random"):
        return None
    if not is_compiled(called):
        line = f"{short(called.__code__.co_filename)}:{called.__code__.co_firstlineno}"
        return f"calls {called.__name__}, which is not marked; put @compiled above it ({line})"
    if isinstance(node.func, ast.Attribute):  # type: ignore[attr-defined]
        return f"calls {ast.unparse(node.func)} through its module; call it by its own name: from {called.__module__} import {called.__name__}"  # type: ignore[attr-defined]
    return None


def only_own_luck(node: ast.AST, part: Part) -> str | None:
    if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
        return None
    value = part.value(node)
    module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None) or ""
    owner = getattr(value, "__self__", None)
    if module in ("random", "numpy.random", "secrets") or type(value).__module__.startswith("numpy.random") or type(owner).__module__ in RANDOM_OWNERS:
        return f"draws luck from {ast.unparse(node)}; {LUCK}"
    if isinstance(value, types.ModuleType) and module not in ("math", "numpy", "cmath") and not module.startswith("hotloop."):
        return None if any(is_compiled(v) for v in vars(value).values()) else f"uses the module {module}; a game may use math and @compiled helpers"
    return None


RANDOM_OWNERS = ("random", "numpy.random", "numpy.random.mtrand", "numpy.random._generator")


def only_numbers_from_outside(node: ast.AST, part: Part) -> str | None:
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
        return None
    value = part.meaning(node.id)
    if value is NOT_FOUND:
        return f"uses {node.id}, which is defined nowhere; is it misspelt, or a field s.{node.id}?"
    if isinstance(value, list | dict | set):
        return f"reads {node.id}, a {type(value).__name__}, which may change; make it a tuple, or an array in world={{…}}"
    if isinstance(value, str | bytes):
        return f"reads the string {node.id}; compiled games know numbers only, so decide in the factory which function to use"
    if isinstance(value, np.ndarray | np.generic) and value.dtype not in (np.int64, np.float64, np.bool_):
        return f"reads {node.id}, which is {value.dtype}: Python and compiled code compute differently with it; put it in world={{…}}, or make it int64"
    if isinstance(value, type) and not issubclass(value, tuple | Enum | np.generic | int | float) and value.__module__ != "builtins":
        return f"makes objects of the class {node.id}; keep their fields in the state"
    return None


def only_wide_numbers(node: ast.AST, part: Part) -> str | None:
    called = part.value(node.func) if isinstance(node, ast.Call) else None
    if isinstance(called, type) and issubclass(called, np.generic) and called not in (np.int64, np.float64, np.bool_):
        name = called.__name__
        kind = "unsigned numbers wrap below zero" if name.startswith("u") else "narrow numbers round and overflow"
        return f"uses np.{name}; {kind}, differently in Python and compiled code, so write int(…) or float(…)"
    return None


def no_unsuited_builtins(node: ast.AST, part: Part) -> str | None:
    called = part.value(node.func) if isinstance(node, ast.Call) else None
    unsuited = (sorted, map, filter, iter, next, isinstance, getattr, setattr, hasattr, str, repr, vars)
    if called in unsuited:
        return f"calls {called.__name__}, which compiled games cannot on every machine; write the loop or the test out"
    return None


def step_returns_two_things(node: ast.AST, part: Part) -> str | None:
    if part.name != "step" or not isinstance(node, ast.Return):
        return None
    if node.value is None or isinstance(node.value, ast.Constant) or (isinstance(node.value, ast.Tuple) and len(node.value.elts) != 2):
        return f"returns {ast.unparse(node.value) if node.value else 'nothing'}; it must return two things everywhere: reward, ended"
    names = part.env.reward_parts
    reward = node.value.elts[0] if isinstance(node.value, ast.Tuple) else None
    if names and (isinstance(reward, ast.Constant) or (isinstance(reward, ast.Tuple) and len(reward.elts) != len(names))):
        return f"returns {ast.unparse(reward)} as reward; the Env names {len(names)} reward parts, so return a tuple: ({', '.join(names)})"
    return None


def a_function_returns_one_kind(node: ast.AST, part: Part) -> str | None:
    if part.name in FUNCTIONS or not isinstance(node, ast.Return) or node.value is not None and not _is_none(node.value):
        return None
    returns = [n for n in inside(part.tree) if isinstance(n, ast.Return)]
    if any(n.value is not None and not _is_none(n.value) for n in returns):
        return "returns nothing here and a value elsewhere; a compiled function returns one kind of thing, so return a number that means 'none'"
    return None


RULES: tuple[Callable[[ast.AST, Part], str | None], ...] = (
    no_allocation,
    no_text,
    no_printing,
    no_exceptions,
    no_definitions,
    no_changing_globals,
    only_known_fields,
    only_marked_helpers,
    only_own_luck,
    only_numbers_from_outside,
    only_wide_numbers,
    no_unsuited_builtins,
    step_returns_two_things,
    a_function_returns_one_kind,
)


# ---------------------------------------------------------------- source


def _syntax(function: Any) -> ast.FunctionDef | None:
    """A function's syntax with the file's own line numbers, or None where there is no source (or it is the engine's)."""
    if os.path.dirname(os.path.abspath(function.__code__.co_filename)) == ENGINE:
        return None
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    ast.increment_lineno(tree, first - 1)
    return tree.body[0] if isinstance(tree.body[0], ast.FunctionDef) else None


def inside(tree: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function's body in reading order; docstrings and annotations are for people, inner functions are named only."""
    waiting: list[ast.AST] = list(reversed(tree.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if hasattr(node, "lineno"):
            yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda | ast.JoinedStr):
            continue
        children = [c for name, c in ast.iter_fields(node) if name != "annotation"]
        flat = [n for c in children for n in (c if isinstance(c, list) else [c]) if isinstance(n, ast.AST)]
        waiting += reversed(flat)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not NOT_FOUND
    except ValueError:
        return False


def short(file: str) -> str:
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file
