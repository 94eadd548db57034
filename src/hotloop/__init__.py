"""hotloop makes reinforcement-learning training loops fast, and proves it.

The names a game is written with are here; each is imported when it is first asked for, so `import hotloop` itself is instant.
Gymnasium knows our games as soon as both have been imported, in either order: `gymnasium.make("hotloop/Snake-v0")`.
"""

import sys
from importlib import import_module, util
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hotloop.engine.env import Box, Discrete, Env, MultiDiscrete, compiled, state
    from hotloop.engine.random import randint, random
    from hotloop.engine.vecenv import VecEnv
    from hotloop.lab.inside.marks import phase

__version__ = "0.1.0"
__all__ = ["Box", "Discrete", "Env", "MultiDiscrete", "VecEnv", "__version__", "compiled", "phase", "randint", "random", "state"]

_home = {"phase": "hotloop.lab.inside.marks", "randint": "hotloop.engine.random", "random": "hotloop.engine.random", "VecEnv": "hotloop.engine.vecenv"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'hotloop' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(_home.get(name, "hotloop.engine.env")), name)
    globals()[name] = value  # so that the next look finds it without coming here
    return value


def __dir__() -> list[str]:
    return sorted(globals() | dict.fromkeys(__all__))


# Gymnasium reads no entry points, and importing it here would make `import hotloop` many times slower. So our games are put into its registry now
# where it is loaded already, and otherwise when somebody loads it.

_REGISTRY = "gymnasium.envs.registration"


def _register(registration: ModuleType) -> None:
    import_module("hotloop.envs.registration").register(registration)


class _WhenLoaded:
    """Stands in `sys.meta_path` until Gymnasium's registry is loaded for the first time."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != _REGISTRY:
            return None
        sys.meta_path.remove(self)
        spec = util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            execute(module)
            _register(module)

        spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


if _REGISTRY in sys.modules:
    _register(sys.modules[_REGISTRY])
else:
    sys.meta_path.insert(0, _WhenLoaded())
