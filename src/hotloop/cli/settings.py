"""Setup: what a run is made of — algorithm, game, settings — put together from layers: flags over file over preset over defaults.

A layer is a dict as a config file holds it: `algo`, `env`, `env_settings`, and fields of the algorithm's Config.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hotloop.cli.errors import UsageError, nearest
from hotloop.cli.flags import Flag, Groups, check_kind, flags_of_config, parse, words_for
from hotloop.cli.games import definition, env_flags, from_anywhere, is_foreign, settings_in_use, settings_named, short_name

if TYPE_CHECKING:
    from hotloop.algos.config import TrainConfig
    from hotloop.engine.env import Env

Layer = dict[str, Any]

BUDGETS = ("max_steps", "max_episodes", "max_updates", "max_time")
NOT_SETTINGS = ("algo", "env", "env_settings")


@dataclass(frozen=True)
class Setup:
    algo: str
    env: str  # a name, or the path of a file
    env_settings: dict[str, Any]
    config: TrainConfig

    def as_layer(self) -> Layer:
        """The settings as used: what the run folder keeps, `--config` accepts and `resume` goes on with."""
        return {"algo": self.algo, "env": self.env, "env_settings": self.env_settings, **asdict(self.config)}

    def make_env(self) -> Env:
        return definition(self.env, self.env_settings)

    @property
    def env_name(self) -> str:
        return short_name(self.env)

    @property
    def name(self) -> str:
        return f"{self.env_name}-{self.algo}"


def lay_over(lower: Layer, upper: Layer) -> Layer:
    """The upper layer's settings where it has some. Another game or algorithm takes none of the lower one's settings; a budget replaces all of its."""
    kept = dict(lower)
    if names_another("algo", lower, upper):
        kept = {name: value for name, value in kept.items() if name in NOT_SETTINGS}
    if names_another("env", lower, upper):
        kept.pop("env_settings", None)
    if any(upper.get(budget) is not None for budget in BUDGETS):
        kept |= dict.fromkeys(BUDGETS)
    env_settings = kept.get("env_settings", {}) | upper.get("env_settings", {})
    return kept | upper | {"env_settings": env_settings}


def names_another(what: str, lower: Layer, upper: Layer) -> bool:
    return what in lower and what in upper and lower[what] != upper[what]


def setup_from(layer: Layer, *, source: str = "the settings") -> Setup:
    """A layer with everything in it, as what it means."""
    from hotloop.algos import find_algo

    layer = typed(layer, source)
    config = find_algo(layer["algo"]).config(**{name: value for name, value in layer.items() if name not in NOT_SETTINGS})
    env = layer["env"]
    return Setup(layer["algo"], from_anywhere(env), settings_in_use(env, layer["env_settings"]), on_device(config))


def typed(layer: Layer, source: str) -> Layer:
    """The layer with its names and values checked. They are read as flags are, so that a wrong one is answered in the same way."""
    from hotloop.algos import find_algo

    check_shape(layer, source)
    if "algo" not in layer or "env" not in layer:
        raise UsageError(f"expected {source} to name an algorithm and a game, found {layer.get('algo', layer.get('env', 'neither'))}; try another run")
    flags = {"settings": flags_of_config(find_algo(layer["algo"]).config), "env": env_flags(layer["env"], layer.get("env_settings", {}))}
    check_names(layer, flags, source)
    values = {name: value for name, value in layer.items() if name not in NOT_SETTINGS}
    given = layer.get("env_settings", {})
    values |= {} if is_foreign(layer["env"]) else {f"env_{name}": value for name, value in given.items()}  # a foreign game's have the types they have
    known = {flag.name: flag for group in flags.values() for flag in group}
    try:
        for name, value in values.items():
            check_kind(known[name], value)
        read = parse("train", "", flags, words_for(values))
    except UsageError as error:
        raise UsageError(f"in {source}: {error}") from None
    settings = {name: value for name, value in read.items() if not name.startswith("env_")}
    env_settings = {name.removeprefix("env_"): value for name, value in read.items() if name.startswith("env_")}
    env_settings = dict(given) if is_foreign(layer["env"]) else env_settings
    return {"algo": layer["algo"], "env": layer["env"], "env_settings": env_settings, **settings}


def check_shape(layer: Any, source: object) -> None:
    """Whether it is a layer at all; the names and values in it are looked at when it is known which game they are for."""
    if not isinstance(layer, dict):
        raise UsageError(f"expected a table of settings in {source}, found a {type(layer).__name__}; try a run's config.json")
    if not isinstance(layer.get("env_settings", {}), Mapping):
        raise UsageError(f"expected env_settings in {source} to be a table of settings, found {layer['env_settings']!r}; try leaving it out")
    for name, example in (("algo", "dqn"), ("env", "snake")):
        if not isinstance(layer.get(name, ""), str):
            raise UsageError(f"expected {name} in {source} to be a name, found {layer[name]!r}; try {example!r}")


def check_names(layer: Layer, flags: Groups, source: str) -> None:
    """A typo in a file is an error that names the nearest field."""
    fields_known = [flag.name for flag in flags["settings"]]
    for name in layer:
        if name not in fields_known and name not in NOT_SETTINGS:
            raise UsageError(f"expected fields of {layer['algo']} in {source}, found {name!r}; try {nearest(name, [*fields_known, *NOT_SETTINGS])!r}")
    settings_known = [flag.name.removeprefix("env_") for flag in flags["env"]]
    for name in layer.get("env_settings", {}):
        if name not in settings_known:
            hint = f"try {nearest(name, settings_known)!r}" if settings_known else "try leaving it out"
            raise UsageError(f"expected settings of {layer['env']} in env_settings of {source}, found {name!r}; {hint}")


def named_settings(command: str, about: str, base: Layer, others: Groups, arguments: Sequence[str]) -> tuple[Layer, dict[str, Any]]:
    """What flags say on top of a base layer that names algorithm and game: settings as a layer, and everything else."""
    from hotloop.algos import find_algo

    config = flags_of_config(find_algo(base["algo"]).config)
    env_settings = base.get("env_settings", {})
    env = env_flags(base["env"], [*env_settings, *settings_named(arguments)])
    groups = {
        **others,
        base["algo"]: [with_default(flag, base) for flag in config],
        "game": [with_default(flag, {f"env_{name}": value for name, value in env_settings.items()}) for flag in env],
    }
    read = parse(command, about, groups, arguments)
    layer: Layer = {name: read[name] for name in (flag.name for flag in config) if name in read}
    layer["env_settings"] = {flag.name.removeprefix("env_"): read[flag.name] for flag in env if flag.name in read}
    known = {flag.name for flags in others.values() for flag in flags}
    return layer, {name: value for name, value in read.items() if name in known}


def with_default(flag: Flag, values: Mapping[str, Any]) -> Flag:
    """The flag with the default that the help page should show: the preset's or the file's, where it has one."""
    return replace(flag, default=values[flag.name]) if flag.name in values else flag


def read_config(path: Path) -> Layer:
    """A layer from a JSON or TOML file."""
    readers: dict[str, Callable[[str], Any]] = {".json": json.loads, ".toml": tomllib.loads}
    if path.suffix not in readers:
        raise UsageError(f"expected a config file that ends in .json or .toml, found {path.name!r}; try a run's config.json")
    try:
        layer = readers[path.suffix](path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"expected a config file at {path}, found nothing there; try a run's config.json") from None
    except ValueError as error:
        raise UsageError(f"expected {path.suffix[1:].upper()} in {path}, found something else ({error}); try a run's config.json") from None
    check_shape(layer, path)
    return layer


def on_device(config: TrainConfig) -> TrainConfig:
    """The config with the device that is really used."""
    if config.device == "cpu":
        return config
    import torch

    there = torch.cuda.is_available()
    if config.device == "cuda" and not there:
        raise UsageError("expected an NVIDIA GPU for --device cuda, found none that torch can use; try --device cpu")
    return replace(config, device="cuda" if there else "cpu")
