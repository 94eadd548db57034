"""The cache folder: what can be made again, but takes a while. Compiled games and this machine's roofs are kept there."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """`$HOTLOOP_CACHE`, or the place where this system keeps caches."""
    if chosen := os.environ.get("HOTLOOP_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "hotloop" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "hotloop"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hotloop"
