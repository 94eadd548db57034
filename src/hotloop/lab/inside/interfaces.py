"""Interfaces: the functions of well-known libraries whose meaning needs no guessing, probed as soon as a script has imported them.

Adding a library is one function that takes its module, and its line in KNOWN.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from hotloop.lab.inside.events import ACT, EVALUATE, LEARN, LOG, RESET, SAMPLE, SAVE, STEP, STORE, SYNC
from hotloop.lab.inside.own_loop import OwnLoop, then
from hotloop.lab.inside.probes import Probes


def environments(probes: Probes, base: type) -> None:
    """`step` and `reset` of a base class and of every class made from it, now or later."""
    methods(probes, base, {"step": STEP, "reset": RESET})


def methods(probes: Probes, base: type, kinds: dict[str, int]) -> None:
    """Methods of a base class and of all its descendants."""

    def probe(cls: type) -> None:
        for name, kind in kinds.items():
            probes.add(inspect.getattr_static(cls, name, None), kind)

    for cls in (base, *descendants(base)):
        probe(cls)
    former = base.__dict__.get("__init_subclass__")

    def __init_subclass__(cls: type, **kwargs: Any) -> None:
        if former is None:
            super(base, cls).__init_subclass__(**kwargs)  # type: ignore[arg-type]
        else:
            former.__func__(cls, **kwargs)
        probe(cls)

    base.__init_subclass__ = classmethod(__init_subclass__)  # type: ignore[assignment, arg-type]


def descendants(base: type) -> Iterable[type]:
    cls: type
    for cls in type.__subclasses__(base):
        yield cls
        yield from descendants(cls)


def gym_core(probes: Probes, module: ModuleType) -> None:
    environments(probes, module.Env)


def gym_vector(probes: Probes, module: ModuleType) -> None:
    environments(probes, module.VectorEnv)


def our_sessions(probes: Probes, module: ModuleType) -> None:
    """Our own loops have a stopwatch: what it says is taken, and nothing is probed."""
    loop, session = OwnLoop(probes), module.Session
    for name, tell in {"__enter__": loop.begins, "close_block": loop.goes_on, "__exit__": loop.goes_on}.items():
        setattr(session, name, then(getattr(session, name), tell, probes.give_up))


def sb3_envs(probes: Probes, module: ModuleType) -> None:
    environments(probes, module.VecEnv)


def pettingzoo_envs(probes: Probes, module: ModuleType) -> None:
    """All at once; or in turn, where looking at one's own turn is part of the game and no step of it."""
    environments(probes, module.ParallelEnv)
    methods(probes, module.AECEnv, {"step": STEP, "last": STEP, "observe": STEP, "reset": RESET})


def dm_envs(probes: Probes, module: ModuleType) -> None:
    environments(probes, module.Environment)


def sb3_buffers(probes: Probes, module: ModuleType) -> None:
    methods(probes, module.BaseBuffer, {"add": STORE, "sample": SAMPLE, "_get_samples": SAMPLE})


def sb3_evaluation(probes: Probes, module: ModuleType) -> None:
    probes.add(module.evaluate_policy, EVALUATE)


def sb3_logger(probes: Probes, module: ModuleType) -> None:
    probes.add(module.Logger.dump, LOG)


def sb3_utils(probes: Probes, module: ModuleType) -> None:
    probes.add(module.polyak_update, SYNC)


def tianshou_envs(probes: Probes, module: ModuleType) -> None:
    environments(probes, module.BaseVectorEnv)


def tianshou_buffers(probes: Probes, module: ModuleType) -> None:
    methods(probes, module.ReplayBuffer, {"add": STORE, "sample": SAMPLE})


def tianshou_algorithms(probes: Probes, module: ModuleType) -> None:
    methods(probes, module.Algorithm, {"update": LEARN, "_update_lagged_network_weights": SYNC})


def tianshou_trainer(probes: Probes, module: ModuleType) -> None:
    methods(probes, module.Trainer, {"_collect_test_episodes": EVALUATE})


def torchrl_envs(probes: Probes, module: ModuleType) -> None:
    methods(probes, module.EnvBase, {"step_and_maybe_reset": STEP, "step": STEP, "reset": RESET, "maybe_reset": RESET, "rand_action": ACT})


def torchrl_buffers(probes: Probes, module: ModuleType) -> None:
    methods(probes, module.ReplayBuffer, {"add": STORE, "extend": STORE, "sample": SAMPLE})


def torchrl_targets(probes: Probes, module: ModuleType) -> None:
    methods(probes, module.TargetNetUpdater, {"step": SYNC})


def torch_tensor(probes: Probes, module: ModuleType) -> None:
    probes.add(module.Tensor.backward, LEARN)


def torch_module(probes: Probes, module: ModuleType) -> None:
    probes.add_forward(module.Module._wrapped_call_impl)
    probes.add(module.Module.load_state_dict, SYNC)


def torch_optimizer(probes: Probes, module: ModuleType) -> None:
    module.register_optimizer_step_pre_hook(probes.update_begins)
    module.register_optimizer_step_post_hook(probes.update_ends)


def torch_serialization(probes: Probes, module: ModuleType) -> None:
    probes.add(module.save, SAVE)


def tensorboard(probes: Probes, module: ModuleType) -> None:
    methods(probes, module.SummaryWriter, dict.fromkeys(("add_scalar", "add_scalars", "add_histogram", "add_image", "flush"), LOG))


def matplotlib_figure(probes: Probes, module: ModuleType) -> None:
    probes.add(module.Figure.savefig, LOG)


def standard_random(probes: Probes, module: ModuleType) -> None:
    probes.add(module.Random.sample, SAMPLE)  # a batch from a deque or a list


KNOWN: dict[str, Callable[[Probes, ModuleType], None]] = {
    "hotloop.algos.session": our_sessions,
    "gymnasium.core": gym_core,
    "gymnasium.vector.vector_env": gym_vector,
    "gym.core": gym_core,
    "gym.vector.vector_env": gym_vector,
    "pettingzoo.utils.env": pettingzoo_envs,
    "dm_env._environment": dm_envs,
    "stable_baselines3.common.vec_env.base_vec_env": sb3_envs,
    "stable_baselines3.common.buffers": sb3_buffers,
    "stable_baselines3.common.evaluation": sb3_evaluation,
    "stable_baselines3.common.logger": sb3_logger,
    "stable_baselines3.common.utils": sb3_utils,
    "tianshou.env.venvs": tianshou_envs,
    "tianshou.data.buffer.buffer_base": tianshou_buffers,
    "tianshou.algorithm.algorithm_base": tianshou_algorithms,
    "tianshou.trainer": tianshou_trainer,
    "torchrl.envs.common": torchrl_envs,
    "torchrl.data.replay_buffers.replay_buffers": torchrl_buffers,
    "torchrl.objectives.utils": torchrl_targets,
    "torch._tensor": torch_tensor,
    "torch.nn.modules.module": torch_module,
    "torch.optim.optimizer": torch_optimizer,
    "torch.serialization": torch_serialization,
    "torch.utils.tensorboard.writer": tensorboard,
    "matplotlib.figure": matplotlib_figure,
    "random": standard_random,
}
