"""Marks: a script says itself what a part of its loop is, where it wants to. Outside the lab a mark does nothing, and a marked function stays what it was.

    with hotloop.phase("step"):
        reward, over = game.play(action)

    @hotloop.phase("act")
    def choose(state): ...

Under the lab a mark wins: whatever would have been inferred inside it is a part of it, unless there is another mark.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from hotloop.records.phases import PHASES

Function = TypeVar("Function", bound=Callable[..., Any])

recorder: Any = None  # set in the process of a script that is measured, before the script begins


def phase(name: str) -> Mark | Nothing:
    """Stands around a block (`with`) or a function (`@`) that is one of the ten phases."""
    if name not in PHASES:
        raise ValueError(f"expected one of {', '.join(PHASES)}, found {name!r}; try hotloop.phase('step') around what plays the game")
    return NOTHING if recorder is None else Mark(name, recorder)


class Nothing:
    """A mark where nobody looks."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        pass

    def __call__(self, function: Function) -> Function:
        return function


NOTHING = Nothing()


class Mark:
    """A mark that is heard. `recorder` has `mark(kind)`, which gives what to tell `unmark`."""

    def __init__(self, name: str, recorder: Any) -> None:
        from hotloop.lab.inside.events import KINDS

        self._kind, self._recorder, self._begun = KINDS.index(name), recorder, list[Any]()

    def __enter__(self) -> None:
        self._begun.append(self._recorder.mark(self._kind))

    def __exit__(self, *_: Any) -> None:
        self._recorder.unmark(self._kind, self._begun.pop())

    def __call__(self, function: Function) -> Function:
        """A generator or a coroutine runs after its call: mark what is in it instead."""
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            return function
        kind, recorder = self._kind, self._recorder

        @functools.wraps(function)
        def marked(*args: Any, **kwargs: Any) -> Any:
            begun = recorder.mark(kind)
            try:
                return function(*args, **kwargs)
            finally:
                recorder.unmark(kind, begun)

        return marked  # type: ignore[return-value]
