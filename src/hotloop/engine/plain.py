"""How Python reads a game: state, arrays and streams as plain ints, floats and bools.

NumPy's scalars overflow and round by their own width; compiled games compute in 64-bit integers and doubles. Reading everything as Python's own
numbers makes the `python` machine agree with the compiled ones, and keeps values readable in a debugger.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hotloop.engine.random import PlainStream


class Cells:
    """An array in a state, a world or an action, read as Python numbers."""

    __slots__ = ("_array",)

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> Any:
        value = self._array[index]
        return Cells(value) if isinstance(value, np.ndarray) else value.item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._array[index] = value._array if isinstance(value, Cells) else value

    def __len__(self) -> int:
        return len(self._array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._array, dtype, copy=copy)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def size(self) -> int:
        return self._array.size

    def __repr__(self) -> str:
        return repr(self._array)


class Game:
    """One record of a structured array, its fields as attributes: what a game calls `s`."""

    __slots__ = ("_record",)

    def __init__(self, record: np.void) -> None:
        object.__setattr__(self, "_record", record)

    def __getattr__(self, name: str) -> Any:
        try:
            value = self._record[name]
        except (ValueError, IndexError):
            raise AttributeError(f"this state has no field {name!r}; its fields are {', '.join(self._record.dtype.names)}") from None
        return Cells(value) if isinstance(value, np.ndarray) else value.item()

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in (self._record.dtype.names or ()):
            raise AttributeError(f"this state has no field {name!r}; its fields are {', '.join(self._record.dtype.names)}")
        self._record[name] = value

    def __repr__(self) -> str:
        return "\n".join(f"{name} = {self._record[name]}" for name in self._record.dtype.names)


class Games:
    """A structured array (states, books, world, scratch) whose records are read as `Game`s."""

    __slots__ = ("_records",)

    def __init__(self, records: np.ndarray) -> None:
        self._records = records

    def __getitem__(self, i: int) -> Game:
        return Game(self._records[i])


class Streams:
    """The streams of all games."""

    __slots__ = ("_words",)

    def __init__(self, words: np.ndarray) -> None:
        self._words = words

    def __getitem__(self, i: int) -> PlainStream:
        return PlainStream(self._words[i])


def as_python_reads(games: Any, streams: Any, books: Any, world: Any, scratch: Any, actions: Any, *rows: Any) -> tuple:
    """The arguments of a loop, read as Python reads them; rows are only written."""
    records = (Games(r) if r is not None else None for r in (games, books, world, scratch))
    games, books, world, scratch = records
    return games, Streams(streams), books, world, scratch, Cells(actions), *rows
