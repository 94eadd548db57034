"""Files that survive a crash and a full disk."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from hotloop.records.files import JsonLines, RunError, plain, read_json, write_json


class FullDisk:
    """A file that takes a few bytes more and then has no room, as a disk does."""

    def __init__(self, file, room):
        self.file, self.room = file, room

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def write(self, data):
        if self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = self.file.write(data[: self.room])
        self.room -= taken
        return taken


def disk_with_room_for(size):
    return lambda path, mode, **how: FullDisk(path.open(mode, **how), size)


def test_on_a_full_disk_the_old_file_stays_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "value.json"
    write_json(path, {"old": 1})
    with pytest.raises(RunError, match=r"expected to write .*value\.json, found: No space left on device; try freeing space"):
        write_json(path, {"new": 2}, disk_with_room_for(0))
    assert read_json(path) == {"old": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["value.json"]


def test_a_line_that_did_not_fit_leaves_the_lines_before_it_whole(tmp_path):
    path = tmp_path / "lines.jsonl"
    JsonLines(path).append({"block": 1})
    before = path.read_bytes()
    with pytest.raises(RunError, match="No space left"):
        JsonLines(path, disk_with_room_for(5)).append({"block": 2})
    assert path.read_bytes() == before
    JsonLines(path).append({"block": 3})
    assert JsonLines(path).read() == [{"block": 1}, {"block": 3}]


@pytest.mark.parametrize("torn", ['{"block": 2', "{", '{"block": 2, "text": "' + "x" * 10_000])
def test_a_torn_last_line_is_not_read_and_does_not_spoil_the_next(tmp_path, torn):
    path = tmp_path / "lines.jsonl"
    path.write_text('{"block": 1}\n' + torn)
    assert JsonLines(path).read() == [{"block": 1}]
    JsonLines(path).append({"block": 3})
    assert path.read_text() == '{"block": 1}\n{"block": 3}\n'


def test_a_file_that_is_all_torn_starts_again(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text('{"blo')
    assert JsonLines(path).read() == []
    JsonLines(path).append({"block": 1})
    assert path.read_text() == '{"block": 1}\n'


def test_a_spoilt_line_in_the_middle_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text('{"block": 1}\nspoilt\n{"block": 3}\n')
    with pytest.raises(RunError, match=r"line 2 of .*lines\.jsonl, found b'spoilt'"):
        JsonLines(path).read()


def test_plain_values_are_strict_json():
    value = {"a": np.float32(0.5), "b": np.arange(2), "c": float("nan"), "d": (np.int64(3), None, True), "e": np.float64("inf")}
    assert plain(value) == {"a": 0.5, "b": [0, 1], "c": None, "d": [3, None, True], "e": None}


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff\xfe", b""])
def test_a_file_that_is_not_a_json_object_is_a_one_line_error(tmp_path, content):
    (tmp_path / "value.json").write_bytes(content)
    with pytest.raises(RunError, match=r"expected (a )?JSON.*found.*try") as error:
        read_json(tmp_path / "value.json")
    assert "\n" not in str(error.value)


def test_a_disk_that_can_only_be_read_is_told_by_the_name_of_the_file_itself(tmp_path, monkeypatch):
    def refuses(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system", "another name")

    monkeypatch.setattr(Path, "unlink", refuses)
    with pytest.raises(RunError) as error:
        write_json(tmp_path / "config.json", {}, opener=refuses)
    assert str(error.value).startswith(f"expected to write {tmp_path / 'config.json'}, found: Read-only file system; try")
