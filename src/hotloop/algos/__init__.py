"""One algorithm per file: Config → network → train → collect → learn. Each is its name here and a module with Config, train and policy."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from importlib import import_module
from typing import Any

ALGOS = {"dqn": "DQNConfig"}  # module → its Config


@dataclass(frozen=True)
class Algo:
    name: str
    config: Any  # the Config class
    train: Any  # (envs, config, run, display, checkpoint) -> Session
    policy: Any  # (env, config, arrays, device) -> Policy


def find_algo(name: str) -> Algo:
    if name not in ALGOS:
        near = difflib.get_close_matches(name, ALGOS, 1)
        raise ValueError(f"unknown algorithm {name!r}; expected one of {', '.join(ALGOS)}" + (f"; did you mean {near[0]}?" if near else ""))
    module = import_module(f"hotloop.algos.{name}")
    return Algo(name, getattr(module, ALGOS[name]), module.train, module.policy)
