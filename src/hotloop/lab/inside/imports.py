"""Imports unseen: loading modules is tens of thousands of calls that say nothing of a loop, so whoever looks at every call looks away meanwhile.

Every way to load a module, `import` and `importlib.import_module` alike, comes through one function of Python's own; modules that are there already do not.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

_bootstrap: Any = import_module("importlib._bootstrap")


class ImportsUnseen:
    """From `begin` to `end`, `pause` is called before an import and `go_on` after it, with what `pause` gave; imports within imports are part of the first."""

    def __init__(self, pause: Callable[[], Any], go_on: Callable[[Any], None]) -> None:
        self._pause, self._go_on = pause, go_on
        self._load, self._loading = _bootstrap._find_and_load, False

    def begin(self) -> None:
        self._load = _bootstrap._find_and_load
        _bootstrap._find_and_load = self._unseen

    def end(self) -> None:
        if _bootstrap._find_and_load == self._unseen:
            _bootstrap._find_and_load = self._load

    def _unseen(self, *args: Any, **kwargs: Any) -> Any:
        if self._loading:
            return self._load(*args, **kwargs)
        self._loading = True
        paused = self._pause()
        try:
            return self._load(*args, **kwargs)
        finally:
            self._loading = False
            self._go_on(paused)


# Python leaves the frames of its own import machinery out of a traceback, and this one is among them now
ImportsUnseen._unseen.__code__ = ImportsUnseen._unseen.__code__.replace(co_filename="<frozen importlib._bootstrap>")
