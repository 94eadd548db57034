"""Compiled loops on disk, keyed by what they are made of.

Numba's own cache keys a closure by a pickle of its cells, which differs from process to process, and does not see edits in other files. This one is
given a digest of everything in the loop. It is a cache of machine code in the user's own cache folder, like any compiler's; a file that cannot be
read is compiled again.
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from hotloop.engine.binding import digest
from hotloop.records.cache import cache_folder

KEPT_FILES = 400


class DiskCache(_Cache):
    """What a Numba dispatcher asks before compiling and tells afterwards."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._enabled = True

    @property
    def cache_path(self) -> str:
        return str(cache_folder())

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        for path in cache_folder().glob(f"{self._key}-*.machine"):
            path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        try:
            payload = pickle.loads(self._path(sig, target_context.codegen()).read_bytes())
            return CompileResult._rebuild(target_context, *payload)
        except Exception:  # absent, torn, or from another Numba: compile again
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            path = self._path(sig, data.codegen)
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as part:
                part.write(dumps(data._reduce()))
            os.replace(part.name, path)
            self._forget_oldest(path.parent)
        except OSError:  # a read-only home or a full disk costs speed, not correctness
            pass

    def _path(self, sig: Any, codegen: Any) -> Path:
        machine = digest(str(sig), codegen.magic_tuple(), numba.__version__, sys.version)
        return cache_folder() / f"{self._key}-{machine}.machine"

    @staticmethod
    def _forget_oldest(folder: Path) -> None:
        files = sorted(folder.glob("*.machine"), key=lambda p: p.stat().st_mtime)
        for path in files[:-KEPT_FILES]:
            path.unlink(missing_ok=True)


def keep_on_disk(dispatcher: Any, key: str) -> Any:
    """Let a Numba dispatcher find its compiled code again under `key`, which must name all that it is made of."""
    dispatcher._cache = DiskCache(key)
    return dispatcher
