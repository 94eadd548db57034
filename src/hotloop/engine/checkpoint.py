"""Checkpoints: arrays and one JSON text in a zip of .npy files. Nothing in one is ever executed or unpickled.

Written beside and then moved into place, so an interrupted save leaves the previous checkpoint whole; read with every entry's checksum verified.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hotloop.records.files import RunError, cannot_write, plain, write_atomically

if TYPE_CHECKING:
    from hotloop.engine.env import Env

FORMAT = "hotloop checkpoint 1"
ABOUT = "about.json"
MEANING = ("features", "actions")  # settings by these names say what a game's numbers mean; others (its size, what it pays) may be new to a trained agent

Arrays = dict[str, np.ndarray]


def save_checkpoint(path: Path, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """`about` is JSON: clocks, the kind of game, the settings. `arrays` may be nested with dots in their names."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(ABOUT, json.dumps(plain({**about, "format": FORMAT, "arrays": sorted(arrays)})))
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asarray(array, order="C"), allow_pickle=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path.parent, error) from error
    write_atomically(path, stream.getbuffer())  # type: ignore[arg-type]


def load_checkpoint(path: Path) -> tuple[dict[str, Any], Arrays]:
    """What was saved. A file that is torn, foreign or missing is a RunError that says so."""
    try:
        with zipfile.ZipFile(path) as archive:
            about = json.loads(archive.read(ABOUT))
            if not isinstance(about, dict):
                raise ValueError(f"{ABOUT} is a {type(about).__name__}")
            if about.get("format") != FORMAT:
                raise RunError(f"expected a {FORMAT} in {path}, found {about.get('format')!r}; try a newer hotloop")
            arrays = {name.removesuffix(".npy"): _read(archive, name) for name in archive.namelist() if name != ABOUT}
            if sorted(arrays) != about.pop("arrays"):
                raise ValueError("not every array that was saved is there")
    except RunError:
        raise
    except FileNotFoundError:
        raise RunError(f"expected a checkpoint at {path}, found nothing there; try another in {path.parent}") from None
    except (OSError, KeyError, ValueError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        raise RunError(f"expected a whole checkpoint in {path}, found a torn or foreign file ({error}); try an earlier one in {path.parent}") from None
    return about, arrays


def nested(prefix: str, arrays: Mapping[str, np.ndarray]) -> Arrays:
    """The arrays of one part, named below a prefix."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def part(arrays: Mapping[str, np.ndarray], prefix: str) -> Arrays:
    """The arrays below a prefix, under their own names."""
    return {name.removeprefix(f"{prefix}."): array for name, array in arrays.items() if name.startswith(f"{prefix}.")}


# ---------------------------------------------------------------- whether one fits


def hold_to(found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray], within: str = "") -> None:
    """Every array expected is there, in its shape and type: what is copied from a file is looked at before anything is changed."""
    for name, array in expected.items():
        if name not in found:
            raise misfit(f"{within}{name}", _form(array), "none")
        if found[name].shape != array.shape or found[name].dtype != array.dtype:
            raise misfit(f"{within}{name}", _form(array), _form(found[name]))


def hold_within(values: np.ndarray, low: int, high: Any, name: str) -> None:
    """Whole numbers that compiled code will use as places in memory."""
    outside = (values < low) | (values > high)
    if outside.any():
        raise misfit(name, f"numbers from {low} to {high}", f"a {values[outside][0]}")


def hold_finite(arrays: Mapping[str, np.ndarray], what: str) -> None:
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise RunError(f"expected finite {what} in the checkpoint, found {name} with values that are not; try an earlier one")


def misfit(name: str, expected: str, found: str) -> RunError:
    return RunError(f"expected {name} of the checkpoint to be {expected}, found {found}; try another checkpoint of this very run")


def counted(about: Mapping[str, Any], name: str) -> int:
    """A whole number that `about` must have."""
    value = about.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise misfit(repr(name), "a whole number", repr(value))
    return value


def measured(about: Mapping[str, Any], name: str) -> float:
    """A number that `about` must have."""
    value = about.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise misfit(repr(name), "a number", repr(value))
    return value


def kind_of(env: Env) -> dict[str, Any]:
    """What game a checkpoint is of, as JSON."""
    settings = {name: value for name, value in env.settings.items() if value is None or isinstance(value, str | int | float | bool)}
    parts = {name: [list(box.shape), box.dtype.name] for name, box in env.parts.items()}
    return plain({"name": env.name, "settings": settings, "parts": parts, "actions": str(env.action)})


def must_be_of(about: Mapping[str, Any], env: Env) -> None:
    """To go on with: the same game in all its settings. Checkpoints from before games were named in them pass."""
    found, expected = _game(about), kind_of(env)
    if found is None:
        return
    if found.get("name") != expected["name"]:
        raise RunError(f"expected a checkpoint of {expected['name']}, found one of {found.get('name')}; try another checkpoint of this very run")
    must_mean_the_same(about, env)
    _hold_settings(found["settings"], expected["settings"])


def must_mean_the_same(about: Mapping[str, Any], env: Env) -> None:
    """To play with: a game that shows the same and takes the same actions; its size and what it pays may be others."""
    found, expected = _game(about), kind_of(env)
    if found is None:
        return
    _hold_settings({name: found["settings"][name] for name in MEANING if name in found["settings"]}, expected["settings"])
    for name in ("parts", "actions"):
        if found.get(name) != expected[name]:
            raise RunError(
                f"expected a checkpoint of a game with the {name} {expected[name]}, found one with {found.get(name)}; "
                "play the game it was trained on, or one that observes the same"
            )


def _game(about: Mapping[str, Any]) -> dict[str, Any] | None:
    game = about.get("game")
    if game is not None and not (isinstance(game, dict) and isinstance(game.get("settings"), dict)):
        raise misfit("'game'", "a table with settings", repr(game))
    return game


def _hold_settings(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """A setting that only one of the two knows has come or gone with a version of the game."""
    for name, value in found.items():
        if name in expected and value != expected[name]:
            raise RunError(f"expected a checkpoint of a game with {name} {expected[name]}, found one with {name} {value}; try the {name} it was trained with")


def _form(array: np.ndarray) -> str:
    fields = f" of {', '.join(array.dtype.names)}" if array.dtype.names else ""
    return f"{array.dtype.name}{list(array.shape)}{fields}"


def _read(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(name) as entry:
        array = np.lib.format.read_array(entry, allow_pickle=False)
        if entry.read(1):  # the checksum is compared where an entry ends
            raise ValueError(f"{name} is longer than it says")
        return array
