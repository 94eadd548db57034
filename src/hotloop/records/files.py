"""Files that survive: a crash or a full disk leaves the old file or the new one, never half of either."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any


class RunError(ValueError):
    """Something about a run folder that its owner can put right: what was expected, what was found, what to try."""


Opener = Callable[..., IO[bytes]]
SYSTEM: Opener = open  # another one can be a full disk, in tests


def write_json(path: Path, value: Any, opener: Opener = SYSTEM) -> None:
    """Replace a JSON file in one move."""
    text = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(path, (text + "\n").encode(), opener)


def write_atomically(path: Path, data: bytes, opener: Opener = SYSTEM) -> None:
    """Write beside the file, reach the disk, then take its name: readers see all of the old or all of the new."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with opener(beside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with suppress(OSError):  # gone, unless something went wrong; what that was has been said
            beside.unlink()


def read_json(path: Path) -> dict[str, Any]:
    """One JSON object from a file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"expected to read {path}, found: {reason(error)}; try another run, or check that the file is there and is yours") from error
    except ValueError as error:  # not UTF-8, not JSON
        raise RunError(f"expected JSON in {path}, found something else ({error}); try another run, or a copy of this one") from error
    if not isinstance(value, dict):
        raise RunError(f"expected a JSON object in {path}, found a {type(value).__name__}; try another run")
    return value


class JsonLines:
    """A file that grows by one JSON object a line. A line torn by a crash is left out when reading and cut off before appending."""

    def __init__(self, path: Path, opener: Opener = SYSTEM) -> None:
        self.path = path
        self._opener = opener

    def append(self, record: Mapping[str, Any]) -> None:
        """Add one record and hand it to the system at once; if that fails the file is as it was."""
        line = json.dumps(plain(record), ensure_ascii=False, allow_nan=False) + "\n"
        try:
            with self._opener(self.path, "ab", buffering=0) as file:
                end = _end_of_last_whole_line(self.path)
                if end != file.seek(0, os.SEEK_END):
                    file.truncate(end)
                try:
                    _write_all(file, line.encode())
                except OSError:
                    file.truncate(end)
                    raise
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def read(self) -> list[dict[str, Any]]:
        """Every whole record, oldest first."""
        if not self.path.exists():
            return []
        try:
            *lines, _torn = self.path.read_bytes().split(b"\n")  # after the last newline: nothing, or what a crash tore
        except OSError as error:
            raise RunError(f"expected to read {self.path}, found: {reason(error)}; try another run") from error
        return [self._record(number, line) for number, line in enumerate(lines, start=1)]

    def rewrite(self, records: list[dict[str, Any]]) -> None:
        """Replace the whole file in one move."""
        lines = [json.dumps(plain(record), ensure_ascii=False, allow_nan=False) + "\n" for record in records]
        write_atomically(self.path, "".join(lines).encode(), self._opener)

    def _record(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except ValueError as error:
            raise RunError(f"expected a JSON object in line {number} of {self.path}, found {line[:40]!r}; try removing that line") from error
        if not isinstance(record, dict):
            raise RunError(f"expected a JSON object in line {number} of {self.path}, found {line[:40]!r}; try removing that line")
        return record


def plain(value: Any) -> Any:
    """The value as strict JSON can hold it: NumPy and torch scalars become numbers, and NaN and infinity, which JSON lacks, null."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy and torch, without importing either
        return plain(value.tolist())
    return str(value)


def cannot_write(path: Path, error: OSError) -> RunError:
    """The one-line form of a failed write."""
    return RunError(f"expected to write {path}, found: {reason(error)}; try freeing space, or another folder. What was written before is intact")


def reason(error: OSError) -> str:
    """'No space left on device' rather than '[Errno 28] …'."""
    return error.strerror or str(error)


def _write_all(file: IO[bytes], data: bytes) -> None:
    """An unbuffered write may take only part; the next try then says why."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _end_of_last_whole_line(path: Path) -> int:
    """Where the last newline ends; the whole length in a file no crash has torn."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - 4096)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            end = start
    return 0
