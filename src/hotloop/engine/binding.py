"""Binding: a game's plain functions, rebuilt for one machine.

An author writes undecorated functions and marks helpers with `@compiled`. On `python` nothing happens: they are Python. For a compiled machine `bind`
makes a copy of the function in which every marked helper it reaches, through globals and closures, is replaced by that machine's version.
`digest` names what a function is made of, so that compiled code can be kept on disk and an edit anywhere in it is noticed.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np

Jit = Callable[[Callable], Callable]


def compiled(function: Callable | None = None, *, machine: Callable | None = None) -> Any:
    """Mark a helper that games may call. `machine` is what compiled targets run instead, where the two must be written differently."""
    if function is None:
        return lambda f: compiled(f, machine=machine)
    function.__compiled__ = machine or function  # type: ignore[attr-defined]
    return function


def is_compiled(value: Any) -> bool:
    return isinstance(value, types.FunctionType) and hasattr(value, "__compiled__")


def bind(function: Callable, jit: Jit, bound: dict[Any, Callable] | None = None) -> Callable:
    """`function` for one machine: the helpers it reaches bound first, then itself handed to `jit`."""
    bound = {} if bound is None else bound
    if function not in bound:
        bound[function] = jit(_with_helpers(function, lambda helper: bind(helper.__compiled__, jit, bound)))
    return bound[function]


def _with_helpers(function: Any, replace: Callable[[Any], Any]) -> Callable:
    code = function.__code__
    helpers = {n: replace(function.__globals__[n]) for n in _global_names(code) if is_compiled(function.__globals__.get(n))}
    cells = function.__closure__
    if cells is not None:
        cells = tuple(types.CellType(replace(c.cell_contents)) if is_compiled(c.cell_contents) else c for c in cells)
    scope = {**function.__globals__, **helpers} if helpers else function.__globals__
    copy = types.FunctionType(code, scope, function.__name__, function.__defaults__, cells)
    copy.__qualname__, copy.__kwdefaults__ = function.__qualname__, function.__kwdefaults__
    return copy


def _global_names(code: types.CodeType) -> list[str]:
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += _global_names(constant)
    return names


def digest(*values: Any) -> str:
    """A name for what these values are made of: code, constants and the values they close over, not addresses or line numbers."""
    seen: set[int] = set()
    hasher = hashlib.sha256()
    for value in values:
        _feed(value, hasher.update, seen)
    return hasher.hexdigest()[:32]


def _feed(value: Any, update: Callable[[bytes], Any], seen: set[int]) -> None:
    update(type(value).__name__.encode())
    if isinstance(value, types.FunctionType):
        _feed_function(value, update, seen)
    elif hasattr(value, "py_func"):  # a Numba dispatcher is what it was made from
        _feed(value.py_func, update, seen)
    elif isinstance(value, types.CodeType):
        update(value.co_code)
        for part in (value.co_consts, value.co_names, value.co_varnames, value.co_freevars):
            _feed(part, update, seen)
    elif isinstance(value, types.ModuleType):
        update(value.__name__.encode())
    elif isinstance(value, np.ndarray):
        update(str(value.dtype).encode() + str(value.shape).encode() + value.tobytes())
    elif isinstance(value, tuple | list):
        update(str(len(value)).encode())
        for item in value:
            _feed(item, update, seen)
    else:
        update(repr(value).encode())


def _feed_attributes(owner: Any, names: list[str], update: Callable[[bytes], Any], seen: set[int]) -> None:
    """What `module.SIZE` and `Way.UP` stand for: compiled code has their values in it."""
    if isinstance(owner, types.ModuleType | type):
        for name in names:
            value = getattr(owner, name, None)
            if isinstance(value, int | float | tuple | str):
                _feed(value, update, seen)


def _feed_function(function: Any, update: Callable[[bytes], Any], seen: set[int]) -> None:
    if id(function) in seen:
        return
    seen.add(id(function))
    _feed(function.__code__, update, seen)
    _feed(function.__defaults__, update, seen)
    _feed(tuple((function.__kwdefaults__ or {}).items()), update, seen)
    for cell in function.__closure__ or ():
        _feed(cell.cell_contents, update, seen)
    names = _global_names(function.__code__)
    for name in names:
        if name in function.__globals__:
            _feed(function.__globals__[name], update, seen)
            _feed_attributes(function.__globals__[name], names, update, seen)
    machine = getattr(function, "__compiled__", function)
    if machine is not function:
        _feed(machine, update, seen)
