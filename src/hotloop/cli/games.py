"""Games by name: ours, in files of the user's own, and Gymnasium's (`gym:CartPole-v1`, `envpool:CartPole-v1`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hotloop.cli.errors import UsageError
from hotloop.cli.flags import ANYTHING, REQUIRED, Flag, example, flags_of_factory
from hotloop.envs import check_settings, is_path
from hotloop.envs import factory_of as factory_named

if TYPE_CHECKING:
    from hotloop.engine.env import Env
    from hotloop.engine.vecenv import VecEnv

FOREIGN = ("gym:", "envpool:")


def is_foreign(name: str) -> bool:
    return name.startswith(FOREIGN)


def make_games(name: str, settings: Mapping[str, Any], num_envs: int, *, seed: int, target: str = "cpu", threads: int | None = None) -> VecEnv:
    """So many games side by side. Every verb asks for the same loop, so that what training compiled is there for evaluation and watching."""
    if is_foreign(name):
        from hotloop.envs.gymnasium import make_gym_envs

        return make_gym_envs(name, num_envs, seed, settings)
    from hotloop.engine.vecenv import make_envs

    return make_envs(made(name, settings), num_envs, seed=seed, target=target, threads=threads, final_observations=False)


def definition(name: str, settings: Mapping[str, Any]) -> Env:
    """What a game shows and takes. Gymnasium says so only of games in progress."""
    if not is_foreign(name):
        return made(name, settings)
    games = make_games(name, settings, 1, seed=0)
    games.close()
    return games.env


def factory_of(name: str) -> Callable[..., Env]:
    """What makes the game. A file of the user's own may do anything when it is read."""
    with exits_told(name):
        return factory_named(name)


def made(name: str, settings: Mapping[str, Any]) -> Env:
    """A game of ours or in a file, with what its author may have forgotten told."""
    from hotloop.engine.env import Env

    factory = factory_of(name)
    check_settings(name, factory, dict(settings))
    for flag in flags_of_factory(factory):
        if flag.default is REQUIRED and flag.name.removeprefix("env_") not in settings:
            raise UsageError(f"expected a value for {flag.word}, which {name} requires, found none; try {example(flag)}")
    with exits_told(name):
        env = factory(**settings)
    if not isinstance(env, Env):
        raise UsageError(f"expected {name} to return an Env, found {type(env).__name__}; try `return Env(…)` at its end")
    if not isinstance(env.max_steps, int):
        raise UsageError(f"expected max_steps of {name} to be a whole number, found {env.max_steps!r}; try int(…)")
    return env


@contextmanager
def exits_told(name: str) -> Iterator[None]:
    try:
        yield
    except SystemExit as ended:
        raise UsageError(f"expected a game in {name}, found a file that exits ({ended.code}); try that below `if __name__ == '__main__':`") from ended


def env_flags(name: str, named: Iterable[str] = ()) -> list[Flag]:
    """A flag for each setting: `size` is `--env-size`. What a foreign game takes only it knows, so it has those that are named."""
    if is_foreign(name):
        return [Flag(f"env_{setting}", ANYTHING, None, "") for setting in dict.fromkeys(named)]
    return flags_of_factory(factory_of(name))


def settings_named(arguments: Iterable[str]) -> list[str]:
    """The settings that flags name."""
    words = (word[len("--env-") :].partition("=")[0] for word in arguments if word.startswith("--env-"))
    return list(dict.fromkeys(word.replace("-", "_") for word in words))


def settings_in_use(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a game, defaults included."""
    if is_foreign(name):
        return dict(given)
    defaults = {setting: p.default for setting, p in signature(factory_of(name)).parameters.items() if p.default is not p.empty}
    return defaults | dict(given)


def from_anywhere(name: str) -> str:
    """A file's path so that it is found again wherever `resume` is called."""
    return name if is_foreign(name) or not is_path(name) else str(Path(name).resolve())


def short_name(name: str) -> str:
    """`snake`, what a file is called, or `CartPole-v1`."""
    if is_foreign(name):
        return name.partition(":")[2]
    return Path(name.partition(".py")[0]).stem if is_path(name) else name
