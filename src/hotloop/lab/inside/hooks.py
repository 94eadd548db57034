"""Hooks: be told when a script has imported a module, without importing it ourselves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import util
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Told = Callable[[ModuleType], None]


class WhenImported:
    """Stands first in `sys.meta_path`. `told` is called once for each module, right after its code has run; its mistakes never reach the script."""

    def __init__(self, told: dict[str, Told], mistaken: Callable[[str, Exception], None]) -> None:
        self._told, self._mistaken = dict(told), mistaken
        for name in [name for name in told if name in sys.modules]:
            self._tell(name, sys.modules[name])
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in self._told:
            return None
        before = self._told.pop(name)  # so that the search below does not come here again
        try:
            spec = util.find_spec(name)
        finally:
            self._told[name] = before
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        execute = spec.loader.exec_module

        def execute_and_tell(module: ModuleType) -> None:
            execute(module)
            self._tell(name, module)

        spec.loader.exec_module = execute_and_tell  # type: ignore[method-assign]
        return spec

    def _tell(self, name: str, module: ModuleType) -> None:
        told = self._told.pop(name, None)
        if told is None:
            return
        try:
            told(module)
        except Exception as error:  # the lab fails open
            self._mistaken(name, error)
