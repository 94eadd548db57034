"""hotloop envs [GAME]: the games there are, and what can be set in each."""

from __future__ import annotations

import inspect

from hotloop.cli.comments import first_line_about
from hotloop.cli.errors import FINE, UsageError
from hotloop.cli.flags import REQUIRED, Flag, parse, split_words
from hotloop.cli.games import env_flags, factory_of, is_foreign
from hotloop.envs import ENVS

ABOUT = """The games there are, and their settings.

  hotloop envs
  hotloop envs snake
  hotloop envs ./my_game.py

A setting called size is the flag --env-size of the other verbs."""


def envs(arguments: list[str]) -> int:
    words, rest = split_words(arguments, 1)
    parse("envs [GAME]", ABOUT, {}, rest)
    if words:
        describe(words[0])
        return FINE
    for name in ENVS:
        factory = factory_of(name)
        print(f"{name:<10} {first_line_about(factory).partition(': ')[2] or first_line_about(factory)}")
        print(f"{'':<10} {' '.join(flag.word for flag in env_flags(name)) or 'no settings'}\n")
    print("hotloop envs GAME says what the settings do; a game of your own is the path of its file.")
    return FINE


def describe(name: str) -> None:
    """What the file says of the game, and every setting with its default."""
    if is_foreign(name):
        raise UsageError(f"expected one of our games, found {name}, whose settings only Gymnasium knows; try `hotloop envs` for ours")
    factory = factory_of(name)
    print(inspect.getdoc(inspect.getmodule(factory)) or name)
    flags = env_flags(name)
    print("\nsettings" if flags else "\nno settings")
    width = max((len(shown(flag)) for flag in flags), default=0)
    for flag in flags:
        print(f"  {shown(flag):<{width}}  {flag.help}".rstrip())


def shown(flag: Flag) -> str:
    return f"{flag.word} {'required' if flag.default is REQUIRED else flag.default}"
