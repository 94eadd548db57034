"""Count process: what the operating system counts, cheap enough to be asked at the two ends of a window."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path


def process_counts() -> dict[str, int]:
    """Context switches and page faults of this thread, threads there are, blocks of memory Python holds."""
    counts = {"blocks": sys.getallocatedblocks(), "python_threads": threading.active_count()}
    with contextlib.suppress(ImportError, AttributeError):  # Windows has none, macOS not by thread
        import resource

        usage = resource.getrusage(resource.RUSAGE_THREAD)
        counts["switches_waiting"], counts["switches_forced"] = usage.ru_nvcsw, usage.ru_nivcsw
        counts["page_faults"], counts["page_faults_from_disk"] = usage.ru_minflt, usage.ru_majflt
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        counts["threads"] = next(int(line.split()[1]) for line in lines if line.startswith("Threads:"))
    if "torch" in sys.modules:
        with contextlib.suppress(AttributeError):  # not imported to its end
            counts["torch_threads"] = sys.modules["torch"].get_num_threads()
    return counts


def since(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """What was added in between; of threads, how many there are."""
    return {name: count if name.endswith("threads") else count - before.get(name, 0) for name, count in after.items()}


class Written:
    """Bytes this thread has handed to files, pipes and terminals; nothing where the system does not say."""

    def __init__(self) -> None:
        try:
            self._file = os.open("/proc/thread-self/io", os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        except OSError:
            self._file = -1
        self._last = 0
        self._last = self._total()

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)

    def since(self) -> int:
        """Bytes since the last time this was asked."""
        former, self._last = self._last, self._total()
        return self._last - former

    def _total(self) -> int:
        if self._file < 0:
            return 0
        try:
            return int(os.pread(self._file, 200, 0).split(b"wchar:", 1)[1].split(None, 1)[0])
        except (OSError, IndexError):  # closed by a script that closes all there is
            self._file = -1
            return self._last
