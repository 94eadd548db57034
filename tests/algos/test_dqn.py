"""DQN: its two forms agree, equal seeds give equal parameters, and every clock counts what it says."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from hotloop.algos.config import ConfigError
from hotloop.algos.dqn import DQNConfig, QFunction, make_network, policy, train
from hotloop.algos.session import TrainingFault
from hotloop.engine.checkpoint import load_checkpoint
from hotloop.engine.env import Box, Discrete, Env, MultiDiscrete, state
from hotloop.engine.evaluate import play_episodes
from hotloop.engine.networks import Network
from hotloop.engine.replay import Minibatch, Replay
from hotloop.engine.threads import maths_threads
from hotloop.engine.vecenv import make_envs
from hotloop.envs.catch import catch
from hotloop.records.run import Run

SMALL = {"num_envs": 16, "hidden": (32, 32), "batch_size": 32, "replay_capacity": 4_000, "learning_starts": 100, "replay_ratio": 1 / 8, "target_interval": 20}


@pytest.fixture(scope="module")
def envs():
    return make_envs(catch(), 16, threads=1)


def config(**changes):
    return DQNConfig(**{**SMALL, "max_steps": 2_000, **changes})


def fresh(env=None, seed=0):
    return make_envs(env or catch(), 16, seed=seed, threads=1)


def some_batches(count, size, allowed=False):
    draw = torch.Generator().manual_seed(1)

    def obs():
        parts = {"obs": torch.rand(count, size, 3, generator=draw)}
        if allowed:
            parts["allowed"] = torch.rand(count, size, 3, generator=draw) < 0.7
            parts["allowed"][..., 0] = True
        return parts

    actions = torch.randint(3, (count, size), generator=draw).int()
    return Minibatch(obs(), actions, torch.randn(count, size, generator=draw), obs(), torch.rand(count, size, generator=draw) < 0.2)


# ---------------------------------------------------------------- the two forms


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("max_grad_norm", [0.0, 0.05])
def test_the_native_update_equals_the_torch_update(double, masked, max_grad_norm):
    """Twelve updates across two copies to the target network, every parameter and moment within rounding."""
    settings = config(double=double, max_grad_norm=max_grad_norm, target_interval=5)
    game = with_mask(catch()) if masked else catch()
    native, plain = (QFunction(fresh(game), replace(settings, native=on)) for on in (True, False))
    batches = some_batches(12, 32, masked)
    with maths_threads(1):
        native.learn(batches, 3)
        plain.learn(batches, 3)
    for name, tensor in plain.save().items():
        if name not in ("luck", "generator"):
            np.testing.assert_allclose(native.save()[name], tensor, rtol=2e-4, atol=2e-6, err_msg=name)
    mine, theirs = native.results(), plain.results()
    assert mine["loss"] == pytest.approx(theirs["loss"], rel=1e-4) and mine["q_mean"] == pytest.approx(theirs["q_mean"], abs=1e-5)


def test_the_native_update_would_notice_a_wrong_discount():
    native, plain = QFunction(fresh(), config()), QFunction(fresh(), config(native=False, discount=0.9))
    batches = some_batches(2, 32)
    native.learn(batches, 0)
    plain.learn(batches, 0)
    assert not np.allclose(native.save()["network"], plain.save()["network"], rtol=2e-4, atol=2e-6)


def test_greedy_actions_of_the_two_forms_agree(envs):
    native, plain = QFunction(envs, config()), QFunction(envs, config(native=False))
    obs = {"obs": np.random.default_rng(0).random((16, 3), dtype=np.float32)}
    first, second = np.zeros(16, np.int32), np.ones(16, np.int32)
    native.act(obs, 0.0, first)
    plain.act(obs, 0.0, second)
    assert np.array_equal(first, second) and len(set(first)) >= 1


@pytest.mark.parametrize("native", [True, False])
def test_explored_actions_are_allowed_and_all_of_them_are_tried(native):
    q = QFunction(fresh(with_mask(catch())), config(native=native))
    obs = {"obs": np.zeros((16, 3), np.float32), "allowed": np.tile([True, False, True], (16, 1))}
    actions, seen = np.zeros(16, np.int32), set()
    for _ in range(20):
        q.act(obs, 1.0, actions)
        seen |= set(actions.tolist())
    assert seen == {0, 2}


# ---------------------------------------------------------------- what an update is measured against


@pytest.mark.parametrize("native", [True, False])
def test_a_death_has_no_future_and_a_cut_off_has(native):
    """The same transition, terminated and not: with a target network that values everything at 5, the loss shows which future was counted."""
    losses = []
    for terminated in (True, False):
        q = QFunction(fresh(), config(native=native, double=False, discount=0.5, learning_rate=1e-9))
        for network, value in ((q.network, 0.0), (q.target, 5.0)):
            network.arena.data.zero_()
            list(network.parameters())[-1].data.fill_(value)
        batch = some_batches(1, 32)._replace(rewards=torch.full((1, 32), 1.0), terminated=torch.full((1, 32), terminated))
        q.learn(batch, 0)
        losses.append(q.results()["loss"])
    assert losses == pytest.approx([0.5, 3.0])  # Huber of 1, and of 1 + 0.5 · 5 = 3.5


def test_the_target_network_follows_every_interval_of_updates():
    q = QFunction(fresh(), config(target_interval=4))
    before = q.target.arena.data.clone()
    q.learn(some_batches(3, 32), 0)
    assert torch.equal(q.target.arena.data, before)
    q.learn(some_batches(1, 32), 3)
    assert torch.equal(q.target.arena.data, q.network.arena.data)


# ---------------------------------------------------------------- whole runs


def test_equal_seeds_give_equal_parameters_and_others_do_not(tmp_path):
    finals = []
    for k, seed in enumerate((3, 3, 4)):
        run = Run.create(tmp_path / str(k), config={}, command=[], name="catch-dqn")
        train(fresh(seed=seed), config(seed=seed), run)
        finals.append(load_checkpoint(run.latest_checkpoint())[1]["network"])
    assert np.array_equal(finals[0], finals[1]) and not np.array_equal(finals[0], finals[2])


@pytest.mark.parametrize("native", [True, False])
def test_a_resumed_run_is_the_run_it_would_have_been(tmp_path, native):
    whole, half = (Run.create(tmp_path / name, config={}, command=[], name="catch-dqn") for name in ("whole", "half"))
    train(fresh(), config(max_steps=2_400, native=native), whole)
    train(fresh(), config(max_steps=1_200, native=native), half)
    train(fresh(seed=9), config(max_steps=2_400, native=native), half, checkpoint=load_checkpoint(half.latest_checkpoint()))
    (_, one), (_, other) = (load_checkpoint(run.latest_checkpoint()) for run in (whole, half))
    assert one.keys() == other.keys()
    for name in one:
        assert np.array_equal(one[name], other[name]), name


def test_updates_are_transitions_times_the_replay_ratio():
    session = train(fresh(), config(max_steps=4_100, learning_starts=100, replay_ratio=1 / 8))
    assert session.steps == 4_112  # the first multiple of 16 games at or above
    assert session.updates == (4_112 - 112 + 16) // 8  # from the first row past learning_starts on


@pytest.mark.parametrize(("budget", "clock"), [({"max_updates": 50}, "updates"), ({"max_episodes": 30}, "episodes")])
def test_a_budget_stops_the_run_at_its_clock(tmp_path, budget, clock):
    run = Run.create(tmp_path / "run", config={}, command=[], name="catch-dqn")
    train(fresh(), config(max_steps=None, **budget), run)
    assert next(iter(budget.values())) <= run.metrics()[-1][clock] <= next(iter(budget.values())) + 16


def test_catch_is_learned():
    settings = DQNConfig(num_envs=64, max_steps=60_000, hidden=(64, 64), replay_ratio=1 / 32, epsilon_steps=20_000, learning_starts=1_000, log_seconds=60)
    envs = make_envs(catch(), 64, seed=1)
    train(envs, settings)
    tally = envs.tally()
    assert tally["score_sum"] / tally["episodes"] > -0.2  # over the whole run, exploration included; random play has -0.6


def test_a_policy_plays_what_was_learned(tmp_path):
    run = Run.create(tmp_path / "run", config={}, command=[], name="catch-dqn")
    settings = DQNConfig(num_envs=64, max_steps=60_000, hidden=(64, 64), replay_ratio=1 / 16, epsilon_steps=20_000, learning_starts=1_000)
    train(make_envs(catch(), 64, seed=1), settings, run)
    play = policy(catch(), settings, load_checkpoint(run.latest_checkpoint())[1], "cpu")
    episodes = play_episodes(make_envs(catch(), 200, seed=5), play)
    assert episodes.summary()["score"]["mean"] > 0.9 and len(episodes.scores) == 200


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"batch_size": 5_000}, "larger than the replay"),
        ({"replay_capacity": 8, "batch_size": 8}, "row of 16 games"),
        ({"discount": 1.5}, "at most 1"),
        ({"hidden": ()}, "at least one width"),
        ({"max_steps": None}, "needs a budget"),
        ({"num_envs": 0}, "at least 1"),
        ({"device": "gpu"}, "cpu, cuda or auto"),
        ({"epsilon_steps": -1}, "expected epsilon_steps to be at least 0, found -1; try --epsilon-steps 0"),
        ({"max_grad_norm": -1.0}, "at least 0"),
        ({"learning_starts": -1}, "at least 0"),
        ({"seed": -1}, "at least 0"),
        ({"seed": 2**63}, "at most 9223372036854775807"),
        ({"threads": 10**6}, "at most 1024"),
        ({"learning_rate": math.inf}, "expected a finite learning_rate, found inf; try --learning-rate 0.001"),
        ({"max_time": math.nan}, "expected a finite max_time, found nan; try leaving out --max-time"),
        ({"log_seconds": 0.0}, "expected log_seconds to be above 0, found 0.0; try --log-seconds 0.5"),
    ],
)
def test_a_setting_that_cannot_be_is_named(changes, says):
    with pytest.raises(ConfigError, match=says):
        config(**changes)


def test_continuous_actions_are_refused():
    with pytest.raises(ConfigError, match="discrete"):
        make_network(replace(catch(), action=MultiDiscrete([2, 2])), config())


def test_a_value_that_is_not_a_number_stops_the_run_before_it_is_saved(tmp_path):
    run = Run.create(tmp_path / "run", config={}, command=[], name="sick-dqn")
    with pytest.raises(TrainingFault, match="'obs' has a value that is not a number"):
        train(fresh(sick()), config(max_steps=4_000, log_seconds=0.001), run)
    assert run.checkpoints() == []


def test_a_reward_that_is_not_a_number_is_named_and_not_the_learning_rate(tmp_path):
    def step(s, action, rng):
        s.x += 1.0
        return (s.x * 1e308 * 10.0) - (s.x * 1e308 * 10.0) if s.x > 15.0 else 0.0, False

    def observe(s, obs):
        obs[0] = 0.0

    with pytest.raises(TrainingFault, match="found a reward of the game is not a number by update .*; try `hotloop check`"):
        train(fresh(replace(sick(), step=step, observe=observe)), config(log_seconds=0.001, save_replay=False))


def test_a_policy_uses_the_threads_of_training_and_gives_the_others_back(envs, monkeypatch):
    """A small product that waits for a busy core takes a thousand times as long."""
    used, forward = [], Network.forward
    monkeypatch.setattr(Network, "forward", lambda self, obs: (used.append(torch.get_num_threads()), forward(self, obs))[1])
    play = policy(catch(), config(), QFunction(envs, config()).save(), "cpu")
    with maths_threads(3):
        play({"obs": np.zeros((16, 3), np.float32)}, np.zeros(16, np.int32))
        assert used == [1] and torch.get_num_threads() == 3


# ---------------------------------------------------------------- games


def with_mask(env):
    def mask(s, allowed):
        allowed[0] = True
        allowed[1] = s.ball_row > 3
        allowed[2] = s.paddle < 3

    return replace(env, mask=mask)


def sick():
    """Observes nan from the fortieth step on."""

    def reset(s, rng):
        s.x = 0.0

    def step(s, action, rng):
        s.x += 1.0
        return 1.0, False

    def observe(s, obs):
        obs[0] = s.x if s.x < 40.0 else (s.x * 1e308 * 10.0) - (s.x * 1e308 * 10.0)

    return Env(
        name="sick",
        state=state(x="f8"),
        observation=Box(-np.inf, np.inf, (1,)),
        action=Discrete(2),
        reset=reset,
        step=step,
        observe=observe,
        max_steps=500,
    )


def test_memory_and_act_take_turns_without_copies(envs):
    """What `act` reads is the memory's own row, and what `step` writes is its next."""
    memory = Replay(1_600, envs)
    row = memory.row()
    envs.reset(obs=row.obs)
    assert np.shares_memory(row.obs["obs"], memory.obs["obs"].numpy())
    envs.step(row.actions, into=row.outcome, obs=row.next_obs)
    memory.advance(envs.last)
    assert envs.obs["obs"].__array_interface__["data"] == memory.row().obs["obs"].__array_interface__["data"]
    assert torch.as_tensor(envs.obs["obs"]).data_ptr() == memory.obs["obs"][1].data_ptr()
