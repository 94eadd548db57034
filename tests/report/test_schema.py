"""The record's schema: every record we write fits, and one that is broken does not."""

import copy
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from profile_records import MEASURED, plain_record, rich_record, tiny_samples

from hotloop.lab.account import VERSION, account
from hotloop.records.phases import ALL_PHASES

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "profile-record.schema.json").read_text(encoding="utf-8"))
REMOVED = object()


def complaints(record):
    """Where a record does not fit, as paths."""
    as_read = json.loads(json.dumps(record))
    return sorted("/".join(map(str, error.absolute_path)) for error in Draft202012Validator(SCHEMA).iter_errors(as_read))


def broken(record, path, value):
    """The record with one thing changed, or removed."""
    *way, last = path
    whole = copy.deepcopy(record)
    place = whole
    for key in way:
        place = place[key]
    if value is REMOVED:
        del place[last]
    else:
        place[last] = value
    return whole


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_is_of_the_version_we_write_and_names_our_phases():
    assert SCHEMA["properties"]["version"]["const"] == VERSION and f"version {VERSION}" in SCHEMA["title"]
    assert SCHEMA["$defs"]["phase_name"]["enum"] == list(ALL_PHASES)


NOTHING_STEPPED = MEASURED | {"vector_steps": 0, "env_steps": 0, "startup": None, "updates": {}, "first_update_at": None, "batches": {}}


RECORDS = {
    "plain": plain_record(),
    "rich": rich_record(),
    "with samples": plain_record() | {"samples": tiny_samples()},
    "nothing stepped": account(NOTHING_STEPPED, command=["x.py"], machine={}, exit_status=1) | {"blocks": None},
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_of_ours_fits(name):
    assert complaints(RECORDS[name]) == []


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (["version"], 2, "version"),
        (["clocks"], REMOVED, ""),
        (["command"], [], "command"),
        (["wall_seconds"], 0, "wall_seconds"),
        (["overhead_share"], "2 %", "overhead_share"),
        (["tier"], 4, "tier"),
        (["clocks", "env_steps"], 1.5, "clocks/env_steps"),
        (["clocks", "updates_by_optimiser"], {"Adam 1": None}, "clocks/updates_by_optimiser/Adam 1"),
        (["phases", 0, "name"], "training", "phases/0/name"),
        (["phases", 0, "reliable"], REMOVED, "phases/0"),
        (["phases", 0, "seconds"], None, "phases/0/seconds"),
        (["phases", 1, "roof"], {"binds": "copy"}, "phases/1/roof"),
        (["blocks", "columns"], ["env_steps"], "blocks/columns"),
        (["blocks", "rows", 3, 0], "4.0", "blocks/rows/3/0"),
        (["samples", "stacks", 0, "phase"], "after step", "samples/stacks/0/phase"),
        (["samples", "stacks", 0, "stack"], [[0, 1, 2]], "samples/stacks/0/stack/0"),
        (["timeline", "windows", 0, "events", 0], ["act", 5.0, 0.1], "timeline/windows/0/events/0"),
        (["counts", 0, "per"], "hour", "counts/0/per"),
        (["drift", "verdict"], REMOVED, "drift"),
    ],
    ids=lambda value: "/".join(map(str, value)) if isinstance(value, list) else "",
)
def test_a_broken_record_does_not(path, value, where):
    assert complaints(broken(rich_record(), path, value)) == [where]
