"""Tables: records with parts inside, laid out flat as columns: `{"phases": {"act": 1}}` is the column `phases.act`."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any


def flatten(record: Mapping[str, Any], separator: str = ".", prefix: str = "") -> dict[str, Any]:
    """One level of names, parts joined by the separator, in the order of the record."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, separator, f"{prefix}{name}{separator}"))
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def to_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """The records as CSV. A column exists if any record has it; where one has not, its cell is empty."""
    rows = [flatten(record) for record in records]
    # An ending seen late still stands beside the other endings: columns go by where their group was first seen.
    first_seen = {group: place for place, group in reversed(list(enumerate(_group(name) for row in rows for name in row)))}
    columns = sorted(dict.fromkeys(name for row in rows for name in row), key=lambda name: first_seen[_group(name)])
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _group(name: str) -> str:
    return name.partition(".")[0]
