"""Comments as help texts: what is written behind a field or a parameter is all the documentation it needs."""

from __future__ import annotations

import inspect
import io
import textwrap
import tokenize
from collections.abc import Callable, Collection
from typing import Any


def comments_of(thing: Callable[..., Any] | type, names: Collection[str]) -> dict[str, str]:
    """name → the comment on its line, for the parameters of a function or the fields of a dataclass and those it inherits from."""
    found: dict[str, str] = {}
    for source in [thing] if not isinstance(thing, type) else [base for base in thing.__mro__ if base is not object]:
        for name, comment in _comments_in(source).items():
            if name in names:
                found.setdefault(name, comment)
    return found


def _comments_in(thing: Any) -> dict[str, str]:
    """The first name of each line and the comment at its end."""
    try:
        text = textwrap.dedent(inspect.getsource(thing))
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (OSError, TypeError, tokenize.TokenError, SyntaxError):  # made at run time: there is no source
        return {}
    first: dict[int, str] = {}
    comments: dict[str, str] = {}
    for token in tokens:
        line = token.start[0]
        if token.type == tokenize.NAME:
            first.setdefault(line, token.string)
        if token.type == tokenize.COMMENT and line in first:
            comments.setdefault(first[line], token.string.lstrip("# "))
    return comments


def first_line_about(thing: Any) -> str:
    """What the docstring of a factory, or of the file it is in, says first."""
    text = inspect.getdoc(thing) if inspect.isroutine(thing) else None
    text = text or inspect.getdoc(inspect.getmodule(thing)) or ""
    return text.strip().partition("\n")[0]
