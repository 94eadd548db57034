"""Trampoline: a function's code exchanged for one that calls us instead, wherever the function is held, and put back.

    detour = Detour(function, lambda original: timed(original))
    …
    detour.remove()

A function may be known by a hundred names, bound methods and tables; its code is one place. `original` is a copy that runs what the function ran.
"""

from __future__ import annotations

import functools
import inspect
import types
import warnings
from collections.abc import Callable
from typing import Any

Call = Callable[..., Any]

MARK = "hotloop: called here"
SUSPENDING = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR  # their calls return before they run


def _template() -> types.CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "str object is not callable": it will not be a string
        module = compile(f"def detour(*args, **kwargs):\n    return {MARK!r}(*args, **kwargs)\n", "<hotloop>", "exec")
    return next(constant for constant in module.co_consts if isinstance(constant, types.CodeType))


TEMPLATE = _template()


def can_be_detoured(function: Any) -> bool:
    """Plain Python functions; generators and coroutines return before they have run."""
    return isinstance(function, types.FunctionType) and not function.__code__.co_flags & SUSPENDING


class Hook(functools.partial):
    """What a detoured function calls. Where a script sends such a function to another process, what it was goes there."""

    original: Call

    def __reduce__(self) -> Any:
        return functools.partial, (self.original,)


class Detour:
    """`function` runs what `make(original)` gives, until it is removed."""

    def __init__(self, function: types.FunctionType, make: Callable[[Call], Call]) -> None:
        self.function, self.code = function, function.__code__
        self._had_signature = "__signature__" in function.__dict__
        self._signature = inspect.signature(function)
        original = types.FunctionType(self.code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
        original.__kwdefaults__ = function.__kwdefaults__
        original.__qualname__ = function.__qualname__
        self.original = original
        hook = Hook(make(original))
        hook.original = original
        constants = tuple(hook if constant == MARK else constant for constant in TEMPLATE.co_consts)
        function.__code__ = TEMPLATE.replace(
            co_consts=constants, co_freevars=self.code.co_freevars, co_name=self.code.co_name, co_qualname=self.code.co_qualname
        )
        if not self._had_signature:  # whoever asks for the arguments still gets them
            function.__signature__ = self._signature  # type: ignore[attr-defined]

    def remove(self) -> None:
        self.function.__code__ = self.code
        if not self._had_signature:
            self.function.__dict__.pop("__signature__", None)
