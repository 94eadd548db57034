"""Presets: settings that belong together, by name. Everything in one can be changed by a flag or a config file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Preset:
    about: str
    algo: str
    env: str
    env_settings: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)  # fields of the algorithm's Config that differ from its defaults

    def as_layer(self) -> dict[str, Any]:
        return {"algo": self.algo, "env": self.env, "env_settings": dict(self.env_settings), **self.config}


PRESETS = {
    "snake-dqn": Preset(
        "256 games of Snake on 10x10 at once, a small network on 11 features",
        algo="dqn",
        env="snake",
        env_settings={"size": 10, "features": "basic"},
        config={"num_envs": 256, "hidden": (128, 128), "learning_rate": 1e-3, "batch_size": 64, "replay_capacity": 100_000, "target_interval": 1000},
    ),
    "snake-laptop": Preset(
        "one game of Snake on 20x20 with 4 absolute actions, trained every 4th step",
        algo="dqn",
        env="snake",
        env_settings={"size": 20, "actions": "absolute", "features": "laptop", "rewards": "laptop"},
        config={
            "num_envs": 1,
            "hidden": (256, 256, 128),
            "batch_size": 64,
            "replay_capacity": 10_000,
            "learning_starts": 1_000,
            "train_every": 4,
            "replay_ratio": 1 / 4,
        },
    ),
    "snake-demo": Preset(
        "what `hotloop demo` trains: Snake on 10x10 that sees how much room each turn leaves, for about 45 seconds",
        algo="dqn",
        env="snake",
        env_settings={"size": 10, "features": "flood"},
        config={"num_envs": 256, "max_steps": None, "max_time": 45.0, "epsilon_steps": 1_000_000},
    ),
    "cartpole-dqn": Preset(
        "the pole on a cart, until it stays up",
        algo="dqn",
        env="cartpole",
        config={"num_envs": 64, "max_steps": 500_000, "epsilon_steps": 100_000, "replay_ratio": 1 / 16},
    ),
    "catch-dqn": Preset(
        "the smallest game there is: learned within seconds",
        algo="dqn",
        env="catch",
        config={"num_envs": 64, "max_steps": 200_000, "epsilon_steps": 50_000, "learning_starts": 1_000, "replay_ratio": 1 / 16},
    ),
}


def listed() -> str:
    """The presets as lines of help."""
    return "\n".join(f"  {name:<14} {preset.about}" for name, preset in PRESETS.items())


def presets(arguments: list[str]) -> int:
    """hotloop presets: what there is. The words behind a name are what it changes."""
    from hotloop.cli.flags import parse, words_for

    parse("presets", "Ready-made combinations of algorithm, game and settings.\n\n  hotloop train --preset snake-dqn --env-size 12", {}, arguments)
    for name, preset in PRESETS.items():
        print(f"{name:<14} {preset.about}")
        settings = {f"env_{setting}": value for setting, value in preset.env_settings.items()} | dict(preset.config)
        print(f"{'':<14} hotloop train {preset.algo} {preset.env} {' '.join(words_for(settings))}\n")
    return 0
