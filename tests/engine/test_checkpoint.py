"""Checkpoints: what is saved is what is loaded; what is torn, foreign or hostile is one line that says so."""

import errno
import os
import pickle
import zipfile
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from hotloop.engine import checkpoint
from hotloop.engine.checkpoint import ABOUT, FORMAT, load_checkpoint, nested, part, save_checkpoint
from hotloop.engine.env import state
from hotloop.records.files import RunError, write_atomically

ABOUT_IT = {"steps": 12, "owed": 0.25, "config": {"hidden": [128, 64]}}
ARRAYS = {
    "network": np.arange(12, dtype=np.float32),
    "replay.obs_obs": np.arange(60, dtype=np.uint8).reshape(3, 4, 5),
    "luck": np.array([2**64 - 1], np.uint64),
}


@pytest.fixture
def path(tmp_path) -> Path:
    """A checkpoint with three arrays."""
    save_checkpoint(tmp_path / "some.npz", ABOUT_IT, ARRAYS)
    return tmp_path / "some.npz"


def same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def complaint(path: Path) -> str:
    """The one line that loading it gives."""
    with pytest.raises(RunError) as error:
        load_checkpoint(path)
    assert "\n" not in str(error.value) and str(path) in str(error.value) and "; try " in str(error.value)
    return str(error.value)


# ---------------------------------------------------------------- round trips


def test_what_is_saved_is_what_is_loaded(path):
    about, arrays = load_checkpoint(path)
    assert about == {"format": FORMAT, **ABOUT_IT}
    assert arrays.keys() == ARRAYS.keys() and all(same(arrays[name], ARRAYS[name]) for name in ARRAYS)


@pytest.mark.parametrize(
    "array",
    [
        np.float32(3.5),
        np.zeros((0, 3)),
        np.array([np.nan, -0.0, np.inf, 5e-324]),
        np.arange(24, dtype=np.int16).reshape(4, 6)[::2, 1::3],
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array([True, False]),
    ],
    ids=["one number", "nothing", "strange numbers", "a view with gaps", "columns first", "booleans"],
)
def test_arrays_of_every_form_keep_shape_type_and_bits(tmp_path, array):
    save_checkpoint(tmp_path / "some.npz", {}, {"array": array})
    loaded = load_checkpoint(tmp_path / "some.npz")[1]["array"]
    assert same(loaded, np.asarray(array)) and loaded.flags.c_contiguous


def test_the_state_of_games_keeps_its_layout(tmp_path):
    games = np.zeros(3, state(alive="bool", x="f8", cells=("i2", (3,))))
    games["x"], games["cells"][1] = [0.1, 0.2, 0.3], [1, 2, 3]
    save_checkpoint(tmp_path / "some.npz", {}, {"games": games})
    loaded = load_checkpoint(tmp_path / "some.npz")[1]["games"]
    assert loaded.dtype == games.dtype and (loaded == games).all()


def test_parts_are_named_below_a_prefix_and_found_there_again():
    inner = {"obs": np.zeros(1), "obs.far": np.ones(1)}
    assert nested("replay", inner).keys() == {"replay.obs", "replay.obs.far"}
    both = {**nested("replay", inner), **nested("replays", {"other": np.zeros(1)}), "replay": np.zeros(1)}
    assert part(both, "replay") == inner


def test_what_is_no_json_becomes_a_number_or_null(tmp_path):
    save_checkpoint(tmp_path / "some.npz", {"steps": np.int64(7), "score": float("nan")}, {})
    assert load_checkpoint(tmp_path / "some.npz")[0] == {"format": FORMAT, "steps": 7, "score": None}


# ---------------------------------------------------------------- torn


def test_a_file_torn_anywhere_is_one_line(path):
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert "torn or foreign" in complaint(path)


def test_a_changed_bit_never_gives_other_numbers(path):
    """Every bit of a small file: loading complains, or the bit meant nothing (a date, say)."""
    whole, complaints = path.read_bytes(), 0
    for place in range(len(whole)):
        for bit in range(8):
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            path.write_bytes(changed)
            try:
                about, arrays = load_checkpoint(path)
            except RunError:
                complaints += 1
                continue
            assert about == {"format": FORMAT, **ABOUT_IT}
            assert arrays.keys() == ARRAYS.keys(), f"bit {bit} of byte {place} loses an array"
            assert all(same(array, ARRAYS[name]) for name, array in arrays.items()), f"bit {bit} of byte {place}"
    assert complaints > 8 * sum(array.nbytes for array in ARRAYS.values())


def test_bytes_left_over_behind_an_array_are_noticed(path):
    """A header that promises less than the entry holds: reading no further, nobody would compare the checksum."""
    stream = BytesIO()
    np.save(stream, np.arange(4))
    rewrite(path, {"network.npy": stream.getvalue() + b"more"})
    assert "longer than it says" in complaint(path)


# ---------------------------------------------------------------- foreign


def rewrite(path: Path, entries: dict[str, bytes], about: str | None = f'{{"format": "{FORMAT}"}}') -> None:
    with zipfile.ZipFile(path, "w") as archive:
        if about is not None:
            archive.writestr(ABOUT, about)
        for name, content in entries.items():
            archive.writestr(name, content)


def test_a_missing_file_says_where_to_look(tmp_path):
    assert complaint(tmp_path / "none.npz").endswith(f"found nothing there; try another in {tmp_path}")


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04", bytes(500)])
def test_a_file_that_is_no_zip_is_one_line(path, content):
    path.write_bytes(content)
    assert "torn or foreign" in complaint(path)


@pytest.mark.parametrize("about", [None, "", "[1]", "null", '"text"', "{"])
def test_a_zip_without_our_text_is_one_line(path, about):
    rewrite(path, {}, about)
    assert "torn or foreign" in complaint(path)


def test_somebody_elses_arrays_are_one_line(tmp_path):
    np.savez(tmp_path / "theirs.npz", weights=np.zeros(3))
    assert "torn or foreign" in complaint(tmp_path / "theirs.npz")


def test_a_later_format_is_named(path):
    rewrite(path, {}, '{"format": "hotloop checkpoint 2"}')
    assert "found 'hotloop checkpoint 2'; try a newer hotloop" in complaint(path)


@pytest.mark.parametrize("name", ["network.npy", "network.txt"])
@pytest.mark.parametrize("content", [b"", b"text", b"\x93NUMPY\x01\x00"])
def test_an_entry_that_is_no_array_is_one_line(path, name, content):
    rewrite(path, {name: content})
    assert "torn or foreign" in complaint(path)


def test_a_folder_in_its_place_is_one_line(tmp_path):
    assert "torn or foreign" in complaint(tmp_path)


# ---------------------------------------------------------------- hostile


class Hostile:
    """Unpickling it leaves a file behind."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


def with_a_pickle(path: Path, trace: Path) -> bytes:
    """Make a checkpoint whose network is a pickled object array; the bytes of that array."""
    stream, objects = BytesIO(), np.empty(1, object)
    objects[0] = Hostile(trace)
    np.lib.format.write_array(stream, objects, allow_pickle=True)
    rewrite(path, {"network.npy": stream.getvalue()})
    return stream.getvalue()


def test_a_pickle_is_refused_and_not_run(path, tmp_path):
    with_a_pickle(path, tmp_path / "trace")
    assert "allow_pickle" in complaint(path)
    assert not (tmp_path / "trace").exists()


def test_a_bare_pickle_in_place_of_an_array_is_refused_and_not_run(path, tmp_path):
    rewrite(path, {"network.npy": pickle.dumps(Hostile(tmp_path / "trace"))})
    assert "torn or foreign" in complaint(path)
    assert not (tmp_path / "trace").exists()


def test_the_same_pickle_read_carelessly_would_run(path, tmp_path):
    np.load(BytesIO(with_a_pickle(path, tmp_path / "trace")), allow_pickle=True)
    assert (tmp_path / "trace").exists()


def test_objects_are_not_saved_either(tmp_path):
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        save_checkpoint(tmp_path / "some.npz", {}, {"objects": np.array([{}])})
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- interrupted


class Disk:
    """Opens files that take `room` bytes and then fail as they are told to."""

    def __init__(self, room: int, failure: BaseException) -> None:
        self.room, self.failure = room, failure

    def __call__(self, path, mode):
        self.file = path.open(mode)
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def write(self, data):
        self.file.write(data[: self.room])
        self.file.flush()
        raise self.failure


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("room", [0, 300])
@pytest.mark.parametrize(("failure", "becomes"), [(FULL, RunError), (KeyboardInterrupt(), KeyboardInterrupt)], ids=["full", "interrupted"])
def test_a_save_that_does_not_finish_keeps_the_old_one_and_leaves_nothing_beside_it(path, monkeypatch, room, failure, becomes):
    monkeypatch.setattr(checkpoint, "write_atomically", partial(write_atomically, opener=Disk(room, failure)))
    with pytest.raises(becomes) as error:
        save_checkpoint(path, {"steps": 13}, ARRAYS)
    if becomes is RunError:
        assert "found: No space left on device; try freeing space" in str(error.value) and "\n" not in str(error.value)
    assert load_checkpoint(path)[0]["steps"] == 12
    assert [file.name for file in path.parent.iterdir()] == ["some.npz"]


def test_a_save_into_a_folder_that_is_not_there_makes_it(tmp_path):
    save_checkpoint(tmp_path / "run" / "checkpoints" / "some.npz", {}, ARRAYS)
    assert load_checkpoint(tmp_path / "run" / "checkpoints" / "some.npz")[1].keys() == ARRAYS.keys()
