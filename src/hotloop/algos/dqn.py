"""DQN: learn the value of every action from remembered transitions, and act on the highest.

Mnih et al. 2015, "Human-level control through deep reinforcement learning"; `double` is van Hasselt et al. 2016.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from hotloop.algos.config import ConfigError, TrainConfig
from hotloop.algos.session import Display, Session, check_about
from hotloop.engine.checkpoint import Arrays, counted, hold_finite, hold_to, kind_of, measured, misfit, must_be_of, must_mean_the_same, nested, part
from hotloop.engine.env import Discrete, Env
from hotloop.engine.evaluate import Policy
from hotloop.engine.native import NativeQ
from hotloop.engine.networks import Network, to_device
from hotloop.engine.optimiser import Adam
from hotloop.engine.random import streams
from hotloop.engine.replay import Minibatch, Replay
from hotloop.engine.threads import maths_threads, torch_threads
from hotloop.engine.vecenv import Obs, VecEnv
from hotloop.records.phases import ACT, LEARN, SAMPLE, STEP, STORE
from hotloop.records.run import Run

EXPLORATION = 2 << 40  # the first stream of luck that is not a game's or the replay's


@dataclass(frozen=True, kw_only=True)
class DQNConfig(TrainConfig):
    hidden: tuple[int, ...] = (128, 128)  # widths of the network's layers
    learning_rate: float = 1e-3  # Adam's step
    batch_size: int = 64  # transitions an update learns from
    replay_capacity: int = 100_000  # transitions remembered
    replay_ratio: float = 1 / 64  # updates per transition: how much is learned from each
    train_every: int = 1  # vector steps between rounds of updates
    learning_starts: int = 5_000  # env steps before the first update
    discount: float = 0.99  # what a reward is worth one step later
    double: bool = True  # the online network chooses, the target network values
    target_interval: int = 500  # updates between copies to the target network
    epsilon_start: float = 1.0  # share of random actions at first
    epsilon_end: float = 0.01  # share of random actions in the end
    epsilon_steps: int = 200_000  # env steps from the one to the other
    max_grad_norm: float = 10.0  # gradients are scaled down to this length; 0: never
    native: bool = True  # plain MLPs on the CPU act and learn in one native call: the same numbers within rounding

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("batch_size", "train_every", "target_interval"):
            self.check(name, getattr(self, name), at_least=1)
        self.check("learning_rate", self.learning_rate, above=0)
        for name in ("replay_ratio", "learning_starts", "epsilon_steps", "max_grad_norm"):
            self.check(name, getattr(self, name), at_least=0)
        for name in ("discount", "epsilon_start", "epsilon_end"):
            self.check(name, getattr(self, name), at_least=0, at_most=1)
        if self.batch_size > self.replay_capacity:
            raise ConfigError(
                f"expected a batch_size that the replay holds, found {self.batch_size}, which is larger than the replay ({self.replay_capacity}); "
                f"try --batch-size {max(1, self.replay_capacity)}"
            )
        if self.num_envs > self.replay_capacity:
            raise ConfigError(
                f"expected a replay_capacity that holds a row of {self.num_envs} games, found {self.replay_capacity}; "
                f"try --replay-capacity {100 * self.num_envs}"
            )
        if not self.hidden or min(self.hidden) < 1:
            raise ConfigError(f"expected hidden to be at least one width, each above 0, found {self.hidden}; try --hidden 128 128")

    def epsilon(self, steps: int) -> float:
        share = min(1.0, steps / self.epsilon_steps) if self.epsilon_steps else 1.0
        return self.epsilon_start + share * (self.epsilon_end - self.epsilon_start)


def make_network(env: Env, config: DQNConfig) -> Network:
    if not isinstance(env.action, Discrete):
        raise ConfigError(f"dqn needs one choice among discrete actions, found {env.action}; try an env with Discrete actions")
    return Network(env.parts, env.num_choices, config.hidden)


def train(envs: VecEnv, config: DQNConfig, run: Run | None = None, display: Display | None = None, checkpoint: tuple[dict, Arrays] | None = None) -> Session:
    """Train until the budget is spent; from a `checkpoint` (about, arrays), go on as if nothing had happened."""
    q = QFunction(envs, config)
    memory = Replay(config.replay_capacity, envs, seed=config.seed)
    owed = 0.0  # updates that transitions have earned and that were not made yet
    learning_starts = config.learning_starts
    if checkpoint is not None:
        check_checkpoint(checkpoint, envs, q, memory)  # before anything is changed

    def snapshot(whole: bool, replay: bool) -> tuple[dict, Arrays]:
        arrays = q.save()
        if whole:
            arrays |= nested("envs", envs.save()) | (nested("replay", memory.save()) if replay else {})
        return {"algo": "dqn", "game": kind_of(envs.env), "hidden": config.hidden, "owed": owed, "learning_starts": learning_starts}, arrays

    session = Session(envs, config, run, display, snapshot)
    with maths_threads(config.maths_threads), session.preparing("warming up the network"):
        q.warm_up(memory)
    envs.reset(obs=memory.row().obs)
    if checkpoint is not None:
        about, arrays = checkpoint
        session.resume(about)
        owed = about["owed"]
        learning_starts = about.get("learning_starts", config.learning_starts) if part(arrays, "replay") else session.steps + config.learning_starts
        q.restore(arrays)
        _restore_games(envs, memory, arrays)
    with maths_threads(config.maths_threads), session:
        owed -= learn(q, memory, session, owed)  # what --max-updates left of a round that resuming goes on with
        while session.goes_on():
            collect(envs, memory, q, config.epsilon(session.steps), session.watch.lap)
            session.advance(envs.num_played, 0)
            if session.steps > learning_starts:
                owed += config.replay_ratio * envs.num_played
            owed -= learn(q, memory, session, owed)
            if session.block_is_due():
                session.close_block({"epsilon": config.epsilon(session.steps), **q.results()})
        session.close_block({"epsilon": config.epsilon(session.steps), **q.results()})
        session.save()
    return session


def collect(envs: VecEnv, memory: Replay, q: QFunction, epsilon: float, lap: Any) -> None:
    """One step of every game, from the row where it is seen to the row where it is remembered."""
    row = memory.row()
    q.act(row.obs, epsilon, row.actions)
    lap(ACT)
    envs.step(row.actions, into=row.outcome, obs=row.next_obs)
    lap(STEP)
    memory.advance(envs.last, envs.played)
    lap(STORE)


def learn(q: QFunction, memory: Replay, session: Session, owed: float) -> int:
    """A round of the updates that are owed, where one is due; how many were made."""
    if session.steps // memory.num_envs % q.config.train_every:
        return 0
    count = session.within_budget(int(owed))
    if count:
        batches = memory.sample(q.config.batch_size, count)
        session.watch.lap(SAMPLE)
        q.learn(batches, session.updates)
        session.watch.lap(LEARN)
        session.advance(0, count)
    return count


class QFunction:
    """What is learned: the online network, the target network it is measured against, and Adam's moments."""

    def __init__(self, envs: VecEnv, config: DQNConfig) -> None:
        self.config, self.device = config, torch.device(envs.device)
        torch.manual_seed(config.seed)
        self.network = to_device(make_network(envs.env, config), self.device)
        self.target = to_device(make_network(envs.env, config), self.device)
        self.target.arena.data.copy_(self.network.arena.data)
        self.adam = Adam(self.network.arena)
        self.luck = streams(config.seed, envs.num_envs, first=EXPLORATION)
        self.generator = torch.Generator(self.device).manual_seed(config.seed)
        self.sums = torch.zeros(3, device=self.device)  # loss, mean value, updates since they were last taken
        usable = config.native and self.device.type == "cpu" and self.network.is_plain_mlp
        self.native = NativeQ(self.network, self.target, self.adam.tensors(), envs.num_envs, self.luck) if usable else None

    def act(self, obs: Obs, epsilon: float, actions: Any) -> None:
        """Write epsilon-greedy actions, among those allowed where the game has a mask."""
        if self.native is not None:
            self.native.act(obs, epsilon, actions)
            return
        seen = {name: torch.as_tensor(array) for name, array in obs.items()}
        with torch.inference_mode():
            values = self.network(seen)
            allowed = seen.get("allowed", torch.ones_like(values, dtype=torch.bool))
            greedy = values.masked_fill(~allowed, -torch.inf).argmax(1)
            by_chance = torch.multinomial(allowed.float(), 1, generator=self.generator)[:, 0]
            explore = torch.rand(len(greedy), device=self.device, generator=self.generator) < epsilon
            torch.as_tensor(actions).copy_(torch.where(explore, by_chance, greedy))

    def learn(self, batches: Minibatch, updates: int) -> None:
        """One update for each batch; `updates` were made before."""
        config = self.config
        if self.native is not None:
            settings = (config.discount, config.double, config.learning_rate, config.max_grad_norm, config.target_interval, updates)
            self.native.learn(batches, settings, self.sums.numpy())
            return
        torch.set_flush_denormal(True)  # the moments of dead units decay into denormals, which are many times slower
        for k in range(len(batches.rewards)):
            loss, values = self.loss(batches.at(k))
            self.network.arena.grad.zero_()  # type: ignore[union-attr]
            loss.backward()
            self.adam.step(config.learning_rate, config.max_grad_norm)
            self.sums += torch.stack([loss.detach(), values.detach().mean(), torch.ones_like(loss)])
            if (updates + k + 1) % config.target_interval == 0:
                self.target.arena.data.copy_(self.network.arena.data)
        torch.set_flush_denormal(False)

    def loss(self, batch: Minibatch) -> tuple[torch.Tensor, torch.Tensor]:
        """Huber's loss between values and reward + discount · value of what follows; nothing follows a death."""
        with torch.no_grad():
            following = self.target(batch.next_obs)
            chooser = self.network(batch.next_obs) if self.config.double else following
            if "allowed" in batch.next_obs:
                chooser = chooser.masked_fill(~batch.next_obs["allowed"], -torch.inf)
            follows = following.gather(1, chooser.argmax(1, keepdim=True))[:, 0]
            targets = batch.rewards + self.config.discount * torch.where(batch.terminated, 0.0, follows)
        values = self.network(batch.obs)
        chosen = values.gather(1, batch.actions.long()[:, None])[:, 0]
        return F.smooth_l1_loss(chosen, targets), values

    def results(self) -> dict[str, float | None]:
        """Mean loss and value since the last call: the one moment the host waits for the device."""
        loss, value, count = self.sums.tolist()
        self.sums.zero_()
        return {"loss": loss / count if count else None, "q_mean": value / count if count else None}

    def warm_up(self, memory: Replay) -> None:
        """Compile and touch everything before the clock starts, and leave no trace."""
        before, drawn = self.save(), memory.luck.copy()
        row = memory.row()
        self.act(row.obs, 0.5, row.actions)
        memory.filled = 1  # of zeros
        for count in {1, max(1, round(self.config.replay_ratio * memory.num_envs * self.config.train_every))}:
            self.learn(memory.sample(self.config.batch_size, count), 0)
        memory.filled, memory.luck[:] = 0, drawn
        self.results()
        self.restore(before)

    def save(self) -> Arrays:
        tensors = {"network": self.network.arena.data, "target": self.target.arena.data}
        tensors |= {f"adam.{name}": tensor for name, tensor in self.adam.tensors().items()}
        arrays = {name: tensor.cpu().numpy().copy() for name, tensor in tensors.items()}
        return arrays | {"luck": self.luck.copy(), "generator": self.generator.get_state().numpy().copy()}

    def check(self, arrays: Arrays) -> None:
        """Whether this could be restored; if not, a RunError, and nothing was changed."""
        hold_to(arrays, self.save())
        hold_finite({name: arrays[name] for name in ("network", "target", "adam.first", "adam.second")}, "parameters")
        if arrays["adam.updates"].min() < 0:
            raise misfit("adam.updates", "0 or more", str(arrays["adam.updates"].min()))
        try:
            torch.Generator(self.device).set_state(torch.from_numpy(arrays["generator"]))
        except RuntimeError as error:
            raise misfit("generator", "the state of a torch generator", str(error).partition("\n")[0]) from None

    def restore(self, arrays: Arrays) -> None:
        self.network.arena.data.copy_(torch.from_numpy(arrays["network"]))
        self.target.arena.data.copy_(torch.from_numpy(arrays["target"]))
        for name, tensor in self.adam.tensors().items():
            tensor.copy_(torch.from_numpy(arrays[f"adam.{name}"]))
        self.luck[:] = arrays["luck"]
        self.generator.set_state(torch.from_numpy(arrays["generator"]))


def policy(env: Env, config: DQNConfig, arrays: Arrays, device: str, about: Mapping[str, Any] | None = None) -> Policy:
    """The greedy policy of a checkpoint, for playing and evaluation. With its `about`, a game whose numbers mean something else is refused too."""
    network = make_network(env, config)
    if "network" in arrays and network.arena.numel() != arrays["network"].size:
        raise ConfigError(
            f"the checkpoint's network has {arrays['network'].size} parameters, this game needs one of {network.arena.numel()}; "
            "play the game it was trained on, or one that observes the same"
        )
    must_mean_the_same(about or {}, env)
    _check_hidden(about or {}, config)
    hold_to(arrays, {"network": network.arena.detach().numpy()})
    hold_finite({"network": arrays["network"]}, "parameters")
    network.arena.data.copy_(torch.from_numpy(arrays["network"]))
    network = to_device(network, torch.device(device))

    def act(obs: Obs, actions: Any) -> None:
        seen = {name: torch.as_tensor(array) for name, array in obs.items()}
        with torch.inference_mode(), torch_threads(config.maths_threads):  # the other cores may be busy, and a small product waits for all it has
            values = network(seen)
            if "allowed" in seen:
                values = values.masked_fill(~seen["allowed"], -torch.inf)
            torch.as_tensor(actions).copy_(values.argmax(1))

    return act


def check_checkpoint(checkpoint: tuple[dict, Arrays], envs: VecEnv, q: QFunction, memory: Replay) -> None:
    """Whether training could go on from this; if not, a ValueError, and nothing was changed."""
    about, arrays = checkpoint
    if about.get("algo") != "dqn":
        raise misfit("'algo'", "'dqn'", repr(about.get("algo")))
    check_about(about)
    measured(about, "owed")
    if "learning_starts" in about:
        counted(about, "learning_starts")
    must_be_of(about, envs.env)
    _check_hidden(about, q.config)
    q.check(arrays)
    saved = part(arrays, "envs")
    envs.check(saved)
    hold_finite({f"envs.{name}": array for name, array in saved.items() if name.startswith("obs_")}, "observations")
    replay = part(arrays, "replay")
    if replay:
        memory.check(replay)


def _check_hidden(about: Mapping[str, Any], config: DQNConfig) -> None:
    if about.get("hidden", list(config.hidden)) != list(config.hidden):
        raise misfit("'hidden'", f"{list(config.hidden)}", f"{about['hidden']}")


def _restore_games(envs: VecEnv, memory: Replay, arrays: Arrays) -> None:
    """Games and memory as they were; without a saved memory, an empty one that begins at the games' current row."""
    replay = part(arrays, "replay")
    if replay:
        memory.restore(replay)
    envs.obs = memory.row().obs
    envs.restore(part(arrays, "envs"))
