"""Lock: one writer a run folder. The system lets go of it when a process ends, however it ends, so no lock is ever stale."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hotloop.records.files import RunError, cannot_write

HELD = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)  # other errors: a file system without locks, where there is nothing to ask
FAR = 1 << 30  # Windows locks bytes, and nobody can read those; the file has none there


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Nobody else trains in this folder meanwhile; readers are welcome."""
    path = folder / "lock"
    descriptor = _taken(path)
    try:
        yield
    finally:
        with suppress(OSError):  # gone already, or Windows, which keeps the names of open files
            path.unlink()
        os.close(descriptor)


def _taken(path: Path) -> int:
    """The open file, locked."""
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise cannot_write(path, error) from error
        try:
            _lock(descriptor)
        except OSError as error:
            if error.errno in HELD:
                who = os.read(descriptor, 20).decode(errors="replace") or "another"
                os.close(descriptor)
                raise RunError(f"expected a run nobody is training, found process {who} at work in {path.parent}; try again when it has ended") from None
        if _is_still_there(path, descriptor):
            os.truncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
            return descriptor
        os.close(descriptor)  # the one who held it took it away


def _is_still_there(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _lock(descriptor: int) -> None:
    """Take it or raise OSError, without waiting."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
