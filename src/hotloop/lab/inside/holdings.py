"""Holdings: what a replay memory holds, read from the object itself: how many transitions, how many bytes each, of which types, and what is kept twice.

A deque or a list of transitions, an object with such a deque, or one with arrays whose first axis is the transition (NumPy's or torch's). A few
transitions are looked at, none is changed, no method of the script's is called.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

FEW = 64  # transitions looked at
SMALLEST = 16  # fewer things than this are no memory
DEEPEST = 3
OBJECT_BYTES = 112  # an array's own header
POINTER_BYTES = 8


class Part(NamedTuple):
    """One piece of a transition."""

    name: str
    type: str  # float32, int, bool, …
    shape: tuple[int, ...]
    bytes: int
    fits: str | None  # a smaller type that would hold every value seen


def holdings(*candidates: Any) -> dict[str, Any] | None:
    """What the first of these that looks like a memory holds."""
    for candidate in candidates:
        found = _sequence_in(candidate)
        if found is not None:
            return _of_sequence(found)
        columns = _columns_of(candidate)
        if columns:
            return _of_columns(candidate, columns)
    return None


def attributes(thing: Any) -> Mapping[str, Any]:
    kept = getattr(thing, "__dict__", None)
    return kept if isinstance(kept, dict) else {}


# Transitions as objects ----------------------------------------------------------------------------------------------


def _sequence_in(thing: Any, depth: int = DEEPEST) -> Any:
    """The longest deque or list of tuples (or of objects of one kind) in an object, or the object itself."""
    if _is_sequence(thing):
        return thing
    if depth == 0 or isinstance(thing, type):
        return None
    inner = attributes(thing).values()
    found = [value for value in inner if _is_sequence(value)] or [_sequence_in(value, depth - 1) for value in inner if attributes(value)]
    return max((value for value in found if value is not None), key=len, default=None)


def _is_sequence(thing: Any) -> bool:
    return isinstance(thing, deque | list) and len(thing) >= SMALLEST and _pieces(thing[-1]) is not None


def _pieces(transition: Any) -> dict[str, Any] | None:
    """A transition's pieces by name; None for what is no transition."""
    names = getattr(transition, "_fields", None)
    if isinstance(transition, tuple | list) and len(transition) >= 3:
        return dict(zip(names or map(str, range(len(transition))), transition, strict=True))
    if isinstance(transition, dict) and len(transition) >= 3:
        return {str(name): piece for name, piece in transition.items()}
    kept = attributes(transition)
    return dict(kept) if len(kept) >= 3 else None


def _of_sequence(kept: Any) -> dict[str, Any]:
    at = range(max(0, len(kept) - FEW), len(kept))
    seen = [pieces for pieces in (_pieces(kept[i]) for i in at) if pieces is not None]
    names = [name for name in seen[-1] if all(name in pieces for pieces in seen)]
    parts = [part_of(name, [pieces[name] for pieces in seen]) for name in names]
    capacity = kept.maxlen if isinstance(kept, deque) else None
    own = sys.getsizeof(kept[-1]) + POINTER_BYTES
    different = {id(piece): size_of(piece) for pieces in seen for piece in pieces.values()}  # an object that two transitions share is one
    return {
        "kind": type(kept).__name__,
        "entries": len(kept),
        "capacity": capacity,
        "bytes_each": sum(different.values()) / len(seen) + own,
        "parts": [part._asdict() for part in parts],
        "kept_twice": kept_twice(seen, names),
    }


def is_readable(value: Any) -> bool:
    """Whether values can be looked at without waiting for a device."""
    return not getattr(value, "is_cuda", False) and not getattr(value, "requires_grad", False)


def part_of(name: str, values: list[Any]) -> Part:
    """One piece, from some of its values."""
    value = values[-1]
    shape = tuple(int(n) for n in getattr(value, "shape", ()))
    kind = str(getattr(value, "dtype", type(value).__name__)).removeprefix("torch.")
    return Part(name, kind, shape, size_of(value), smaller_type(kind, values) if shape and is_readable(value) else None)


def size_of(value: Any) -> int:
    """Bytes a value holds; what several share is counted for each."""
    nbytes = getattr(value, "nbytes", None)
    return sys.getsizeof(value) if nbytes is None or not hasattr(value, "shape") else int(nbytes) + OBJECT_BYTES


def smaller_type(kind: str, values: Iterable[Any]) -> str | None:
    """uint8, where wide numbers are whole ones from 0 to 255 throughout; also where they are such bytes divided by 255."""
    import numpy as np

    if not kind.startswith(("float", "int")) or kind == "int8":
        return None
    several = np.concatenate([np.asarray(value, dtype=np.float64).ravel()[:4096] for value in values])
    if not several.size or not np.isfinite(several).all() or several.min() < 0:
        return None
    for scale, word in ((1.0, "uint8"), (255.0, "uint8 / 255")):
        scaled = several * scale
        if scaled.max() <= 255 and np.allclose(scaled, np.rint(scaled), atol=1e-3) and len(np.unique(scaled)) > 2:
            return word
    return None


def kept_twice(seen: list[dict[str, Any]], names: list[str]) -> dict[str, Any] | None:
    """Whether what came after one transition is kept a second time as what came before the next: the same values in other memory."""
    import numpy as np

    arrays = [name for name in names if getattr(seen[-1][name], "shape", ()) not in ((), None) and is_readable(seen[-1][name])]
    best: dict[str, Any] | None = None
    for after in arrays:
        for before in arrays:
            pairs = [(a[after], b[before]) for a, b in zip(seen, seen[1:], strict=False)]
            equal = [(a, b) for a, b in pairs if a.shape == b.shape and np.array_equal(np.asarray(a), np.asarray(b))]
            if after == before or len(equal) < len(pairs) / 2:
                continue
            copies = sum(a is not b and not np.shares_memory(np.asarray(a), np.asarray(b)) for a, b in equal)
            if best is None or copies / len(pairs) > best["share"]:
                best = {"after": after, "before": before, "share": copies / len(pairs)}
    return best if best and best["share"] > 0 else None


# Transitions as rows of arrays ---------------------------------------------------------------------------------------


def _columns_of(thing: Any) -> dict[str, Any]:
    """Arrays of an object that have the same, long first axis."""
    arrays = {name: value for name, value in attributes(thing).items() if len(getattr(value, "shape", ())) >= 1 and hasattr(value, "dtype")}
    lengths = [int(value.shape[0]) for value in arrays.values() if int(value.shape[0]) >= SMALLEST]
    most = max(set(lengths), key=lengths.count, default=0)
    chosen = {name: value for name, value in arrays.items() if int(value.shape[0]) == most}
    return chosen if len(chosen) >= 3 else {}


def _of_columns(thing: Any, columns: Mapping[str, Any]) -> dict[str, Any]:
    capacity = int(next(iter(columns.values())).shape[0])
    entries = filled(thing, capacity)
    rows = range(max(0, entries - FEW), entries)
    parts = []
    for name, column in columns.items():
        values = [column[i] for i in rows] or [column[0]]
        one = int(column.nbytes) // capacity
        parts.append(part_of(name, values)._replace(bytes=one))
    seen = [{name: column[i] for name, column in columns.items()} for i in rows]
    return {
        "kind": "arrays",
        "entries": entries,
        "capacity": capacity,
        "bytes_each": sum(part.bytes for part in parts),
        "parts": [part._asdict() for part in parts],
        "kept_twice": kept_twice(seen, list(columns)) if len(seen) > 1 else None,
    }


def filled(thing: Any, capacity: int) -> int:
    """How many rows are in use, by the names that people give: a position that counts up, and whether it has come round."""
    kept = attributes(thing)
    if any(kept.get(name) is True for name in ("full", "is_full", "filled")):
        return capacity
    for name in ("pos", "ptr", "position", "idx", "index", "size", "count", "_size", "_pos", "_index", "_next_idx"):
        value = kept.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= capacity:
            return value
    return capacity
