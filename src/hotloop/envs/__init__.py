"""The games by name, and games in files of the user's own.

    make_env("snake", size=8)           make_env("./my_game.py")           make_env("./my_game.py:other_game")

Nothing is imported before it is asked for.
"""

from __future__ import annotations

import difflib
import hashlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from hotloop.engine.env import Env

ENVS: dict[str, str] = {
    "snake": "hotloop.envs.snake:snake",
    "catch": "hotloop.envs.catch:catch",
    "cartpole": "hotloop.envs.cartpole:cartpole",
}


def make_env(name_or_path: str, **settings: Any) -> Env:
    """The game of that name, or in that file, with these settings."""
    factory = factory_of(name_or_path)
    check_settings(name_or_path, factory, settings)
    return factory(**settings)


def factory_of(name_or_path: str) -> Callable[..., Env]:
    """What makes the game; its parameters are the settings. A file that holds a ready-made Env has none."""
    if is_path(name_or_path):
        return factory_in_file(name_or_path)
    if name_or_path not in ENVS:
        raise ValueError(f"unknown env {name_or_path!r}; expected {alternatives(name_or_path, ENVS)}, or the path of a .py file")
    module, _, factory = ENVS[name_or_path].partition(":")
    return getattr(import_module(module), factory)


def check_settings(name: str, factory: Callable, settings: dict[str, Any]) -> None:
    parameters = inspect.signature(factory).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    try:
        hints = get_type_hints(factory)
    except NameError:  # names that only a type checker sees
        hints = {}
    for setting, value in settings.items():
        if setting not in parameters:
            expected = alternatives(setting, parameters) if parameters else "none: it is ready-made"
            raise ValueError(f"{name} has no setting {setting!r}; expected {expected}")
        hint = hints.get(setting)
        if get_origin(hint) is Literal and value not in get_args(hint):
            raise ValueError(f"unknown {setting} {value!r} for {name}; expected {alternatives(str(value), get_args(hint))}")


def alternatives(found: str, known: Iterable[str]) -> str:
    """`one of a, b, c; try b`: what there is, and the nearest to what was found."""
    known = list(known)
    nearest = difflib.get_close_matches(found, known, n=1, cutoff=0.0)
    return f"one of {', '.join(known)}; try {nearest[0]!r}"


# ---------------------------------------------------------------- files of the user's own


def is_path(name: str) -> bool:
    return name.endswith(".py") or ".py:" in name or "/" in name or "\\" in name


def factory_in_file(path_and_name: str) -> Callable[..., Env]:
    path, chosen = split_path(path_and_name)
    module = module_of(path)
    games = games_in(module)
    if chosen:
        if chosen not in games:
            there_is = f"there is {', '.join(games)}" if games else "there is none"
            raise wrong(path, f"no Env and no factory named {chosen!r}; {there_is}")
        return games[chosen]
    if not games:
        raise wrong(path, f"no game found: expected an Env, or a function marked `-> Env` that makes one; try `def {path.stem}() -> Env:`")
    if len(games) > 1:
        raise wrong(path, f"several games found: {', '.join(games)}; try {path_and_name}:{next(iter(games))}")
    return next(iter(games.values()))


def split_path(path_and_name: str) -> tuple[Path, str]:
    """A colon after `.py` comes before a name; others belong to the path."""
    stem, dot, chosen = path_and_name.rpartition(".py:")
    return (Path(stem + ".py"), chosen) if dot else (Path(path_and_name), "")


def games_in(module: ModuleType) -> dict[str, Callable[..., Env]]:
    """The factories a file defines, or, where it defines none, its Envs."""
    from hotloop.engine.env import Env

    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    own = {name: f for name, f in public.items() if inspect.isfunction(f) and f.__module__ == module.__name__}
    games: dict[str, Callable[..., Env]] = {name: f for name, f in own.items() if f.__annotations__.get("return") in (Env, "Env", "hotloop.Env")}
    return games or {name: ready_made(value) for name, value in public.items() if isinstance(value, Env)}


def ready_made(env: Env) -> Callable[[], Env]:
    return lambda: env


def module_of(path: Path) -> ModuleType:
    """The file, imported under a name of its own."""
    if not path.is_file():
        raise wrong(path, "there is no such file; expected the path of a .py file that defines a game")
    path = path.resolve()
    name = f"hotloop_game_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # a .py file has a loader
    module = sys.modules[name] = util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise wrong(f"{error.filename or path}:{error.lineno or 1}", f"this is not Python: {error.msg}") from None
    except Exception as error:
        del sys.modules[name]
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        raise wrong(f"{path}:{lines[-1] if lines else 1}", " ".join(f"{type(error).__name__}: {error}".split())) from error
    return module


def wrong(place: object, what: str) -> ValueError:
    from hotloop.engine.env import GameError

    return GameError(f"{place}: {what}")
