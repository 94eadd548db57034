"""Trampoline: a function's code exchanged for one that calls us instead, wherever the function is held, and put back.

    detour = Detour(function, lambda original: timed(original))
    …
    detour.remove()

A function may be known by a hundred names, bound methods and tables; its code is one place. `original` is a copy that runs what the function ran.

The code put in its place is written for the function's own parameters, so that Python enters the original as it would have: packing arguments up and
unpacking them again costs several times what a look at the clock does. A *shortcut* is text that stands in that code before the original is called.
"""

from __future__ import annotations

import functools
import inspect
import keyword
import types
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Call = Callable[..., Any]

FILE = "<hotloop>"
SUSPENDING = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR  # their calls return before they run


class Shortcut(NamedTuple):
    """Lines of Python for what happens mostly. In them '@call' and '@first' stand for calling the original and for its first argument, '@otherwise' for
    calling what `make` gave, and any other '@name' for one of the things."""

    lines: str
    things: Mapping[str, Any]


ALWAYS = Shortcut("return '@otherwise'\n", {})  # what `make` gave, every time


def can_be_detoured(function: Any) -> bool:
    """Plain Python functions; generators and coroutines return before they have run."""
    return isinstance(function, types.FunctionType) and not function.__code__.co_flags & SUSPENDING


class Hook(functools.partial):
    """What a detoured function calls. Where a script sends such a function to another process, what it was goes there."""

    original: Call

    def __reduce__(self) -> Any:
        return functools.partial, (self.original,)


class Detour:
    """`function` runs what `make(original)` gives, or the shortcut to it, until it is removed."""

    def __init__(self, function: types.FunctionType, make: Callable[[Call], Call], shortcut: Shortcut = ALWAYS) -> None:
        self.function, self.code = function, function.__code__
        original = types.FunctionType(self.code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
        original.__kwdefaults__ = function.__kwdefaults__
        original.__qualname__ = function.__qualname__
        self.original = original
        hook = Hook(make(original))
        hook.original = original
        function.__code__ = detour_code(self.code, shortcut, {"original": original, "hook": hook, **shortcut.things})
        self._wraps = "__wrapped__" not in function.__dict__
        if self._wraps:  # whoever asks for the arguments or the source still gets them
            function.__wrapped__ = original  # type: ignore[attr-defined]

    def remove(self) -> None:
        self.function.__code__ = self.code
        if self._wraps:
            self.function.__dict__.pop("__wrapped__", None)


# The code ------------------------------------------------------------------------------------------------------------


def detour_code(code: types.CodeType, shortcut: Shortcut, things: Mapping[str, Any]) -> types.CodeType:
    """Code that takes what this code takes."""
    parameters, arguments, first = parameters_of(code)
    text = shortcut.lines.replace("'@call'", f"'@original'({arguments})").replace("'@otherwise'", f"'@hook'({arguments})").replace("'@first'", first)
    template = _compiled(f"def detour({parameters}):\n" + "".join(f"    {line}\n" for line in text.splitlines()))
    constants = tuple(things[value[1:]] if isinstance(value, str) and value[:1] == "@" else value for value in template.co_consts)
    return template.replace(co_consts=constants, co_freevars=code.co_freevars, co_name=code.co_name, co_qualname=code.co_qualname)


@functools.cache
def _compiled(text: str) -> types.CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "str object is not callable": it will not be a string
        module = compile(text, FILE, "exec", dont_inherit=True)
    return next(constant for constant in module.co_consts if isinstance(constant, types.CodeType))


def parameters_of(code: types.CodeType) -> tuple[str, str, str]:
    """As they stand in a definition, as they are handed on in a call, and the first of them."""
    names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    plain, by_name = names[: code.co_argcount], names[code.co_argcount :]
    others = list(code.co_varnames[len(names) :])
    rest = others.pop(0) if code.co_flags & inspect.CO_VARARGS else None
    more = others.pop(0) if code.co_flags & inspect.CO_VARKEYWORDS else None
    if not all(name.isidentifier() and not keyword.iskeyword(name) for name in (*names, rest or "a", more or "a")):
        return "*args, **kwargs", "*args, **kwargs", "(args[0] if args else None)"
    defined = [*plain[: code.co_posonlyargcount], *(["/"] if code.co_posonlyargcount else []), *plain[code.co_posonlyargcount :]]
    defined += [f"*{rest}"] if rest else ["*"] if by_name else []
    given = [*plain, *([f"*{rest}"] if rest else []), *(f"{name}={name}" for name in by_name), *([f"**{more}"] if more else [])]
    first = plain[0] if plain else f"({rest}[0] if {rest} else None)" if rest else "None"
    return ", ".join([*defined, *by_name, *([f"**{more}"] if more else [])]), ", ".join(given), first
