"""Our games in Gymnasium's registry: `hotloop/Snake-v0` and the others. Called when both have been imported; imports neither games nor engine."""

from __future__ import annotations

from types import ModuleType

from hotloop.envs import ENVS

SPELT = {"cartpole": "CartPole"}  # where a capital at the front is not the whole name


def gymnasium_id(name: str) -> str:
    return f"hotloop/{SPELT.get(name, name.title().replace('_', ''))}-v0"


def register(registration: ModuleType) -> None:
    """Put every game into `gymnasium.envs.registration`. A game limits its episodes itself, so Gymnasium is told of no limit."""
    for name in ENVS:
        if gymnasium_id(name) not in registration.registry:
            registration.register(
                gymnasium_id(name),
                entry_point="hotloop.envs.as_gymnasium:GameEnv",
                vector_entry_point="hotloop.envs.as_gymnasium:GameVectorEnv",
                kwargs={"game": name},
            )
