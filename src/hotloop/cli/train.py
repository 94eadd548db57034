"""hotloop train ALGO ENV [--flags], or hotloop train --preset NAME [--flags]: put the settings together, then train."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hotloop.cli.errors import UsageError, nearest
from hotloop.cli.flags import Flag, flags_of_config, parse, split_words
from hotloop.cli.presets import PRESETS, listed
from hotloop.cli.settings import Layer, lay_over, named_settings, read_config, setup_from, typed
from hotloop.cli.training import DISPLAY_FLAGS, Manner, begin
from hotloop.envs import ENVS

SOURCES = [
    Flag("preset", str, "", "start from these settings: see `hotloop presets`"),
    Flag("config", Path | None, None, "start from a .json or .toml file; a run's config.json is one. May hold algo, env, env_settings and settings by name"),
    Flag("output", Path | None, None, "a new or empty folder for the run; unset: runs/NAME-DATE-TIME"),
]

EXAMPLES = {"--preset": "--preset snake-dqn", "--config": "--config runs/…/config.json"}

ABOUT = """Train an agent. Ctrl-C once finishes cleanly with a checkpoint, twice stops at once.

  hotloop train dqn snake --max-time 60
  hotloop train dqn snake --env-size 12 --env-features flood --num-envs 512
  hotloop train --preset snake-dqn --seed 7
  hotloop train --config runs/…/config.json --max-steps 5000000
  hotloop train dqn ./my_game.py

Flags go over the config file, that over the preset, that over the defaults. Naming a budget (--max-steps, --max-episodes, --max-updates, --max-time)
replaces the budgets of the layers below; --max-steps None means no limit."""


def train(arguments: list[str]) -> int:
    words, rest = split_words(arguments, 2)
    base = base_layer(words, rest)
    if base is None:
        return general_help()
    layer, options = named_settings(f"train {base['algo']} {base['env']}", ABOUT, base, {"run": SOURCES, "display": DISPLAY_FLAGS}, rest)
    setup = setup_from(lay_over(base, layer))
    return begin(setup, options.get("output"), Manner.of(options), command=["hotloop", "train", *arguments])


def base_layer(words: Sequence[str], rest: Sequence[str]) -> Layer | None:
    """What lies below the flags: file over preset, and the algorithm and game that were named. None: only help was asked for."""
    base: Layer = {}
    if (preset := value_of("--preset", rest)) is not None:
        if preset not in PRESETS:
            raise UsageError(f"expected a preset ({', '.join(PRESETS)}), found {preset!r}; try --preset {nearest(preset, PRESETS)}")
        base = PRESETS[preset].as_layer()
    if (path := value_of("--config", rest)) is not None:
        base = lay_over(base, read_config(Path(path)))
    base = lay_over(base, dict(zip(("algo", "env"), words)))
    if "algo" in base and "env" in base:
        return typed(base, path or "the settings")
    if {"-h", "--help"} & set(rest):
        return None
    raise UsageError(f"expected an algorithm and a game, found {of_both(base, rest)}; try `hotloop train dqn snake`, or `hotloop train --preset snake-dqn`")


def of_both(base: Layer, rest: Sequence[str]) -> str:
    """What there is of algorithm and game."""
    from hotloop.algos import ALGOS

    if "algo" in base:
        return f"{base['algo']} without a game"
    if "env" in base:
        return f"{base['env']} without an algorithm"
    if set(ALGOS) & set(rest):
        return f"{rest[0]} before them"
    return "only flags" if rest else "neither"


def value_of(flag: str, arguments: Sequence[str]) -> str | None:
    """The value of a flag that decides which other flags there are, and so is read before them."""
    for place, word in enumerate(arguments):
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
        if word == flag:
            if place + 1 == len(arguments) or arguments[place + 1].startswith("--"):
                raise UsageError(f"expected a value for {flag}, found nothing; try {EXAMPLES[flag]}")
            return arguments[place + 1]
    return None


def general_help() -> int:
    """What can be said before it is known which algorithm and game: the settings all of them share."""
    from hotloop.algos import ALGOS
    from hotloop.algos.config import TrainConfig

    there_is = f"algorithms: {', '.join(ALGOS)}\n\ngames: {', '.join(ENVS)}, or the path of a .py file\n\npresets:\n{listed()}"
    more = "`hotloop train dqn snake --help` also shows the settings of dqn and of snake."
    parse("train ALGO ENV", f"{ABOUT}\n\n{there_is}\n\n{more}", {"run": SOURCES, "display": DISPLAY_FLAGS, "common": flags_of_config(TrainConfig)}, ["--help"])
    return 0
