"""Tianshou's trainer: DQN with its Collector and VectorReplayBuffer, and test episodes in between."""

import sys

import gymnasium as gym
import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainer, OffPolicyTrainerParams
from tianshou.utils.net.common import Net
from truth import Truth, busy, now

torch.set_num_threads(1)
np.random.seed(0)  # noqa: NPY002 - its buffer and its exploring draw from it
torch.manual_seed(0)
truth, counted = Truth(), {"env_steps": 0, "episodes": 0, "updates": 0}


class Slow(gym.Wrapper):
    def step(self, action):
        busy(100e-6)
        return self.env.step(action)


class TimedEnvs(DummyVectorEnv):
    def step(self, *args, **kwargs):
        truth.step()
        began = now()
        result = super().step(*args, **kwargs)
        truth.add("step", now() - began)
        counted["env_steps"] += len(result[1])
        counted["episodes"] += int((result[2] | result[3]).sum())
        return result

    def reset(self, *args, **kwargs):
        began = now()
        result = super().reset(*args, **kwargs)
        truth.add("reset", now() - began)
        return result


class TimedBuffer(VectorReplayBuffer):
    def add(self, *args, **kwargs):
        began = now()
        busy(100e-6)
        result = super().add(*args, **kwargs)
        truth.add("store", now() - began)
        return result

    def sample(self, *args, **kwargs):
        began = now()
        busy(200e-6)
        result = super().sample(*args, **kwargs)
        truth.add("sample", now() - began)
        return result


class TimedTrainer(OffPolicyTrainer):
    def _update_step(self, *args, **kwargs):
        began, sampled = now(), truth.spent.get("sample", 0.0)
        result = super()._update_step(*args, **kwargs)
        truth.add("learn", now() - began - (truth.spent.get("sample", 0.0) - sampled))
        return result

    def _collect_test_episodes(self, *args, **kwargs):
        began = now()
        result = super()._collect_test_episodes(*args, **kwargs)
        truth.add("evaluate", now() - began)
        return result


class TimedDQN(DQN):
    def create_trainer(self, params):
        return TimedTrainer(self, params)

    def update(self, *args, **kwargs):
        busy(300e-6)
        counted["updates"] += 1
        return super().update(*args, **kwargs)


class TimedCollector(Collector):
    def _compute_action_policy_hidden(self, *args, **kwargs):
        began = now()
        result = super()._compute_action_policy_hidden(*args, **kwargs)
        truth.add("act", now() - began)
        return result


def envs(kind, count):
    made = kind([lambda: Slow(gym.make("CartPole-v1"))] * count)
    made.seed(0)
    return made


steps = int(sys.argv[1])
training, testing = envs(TimedEnvs, 4), envs(DummyVectorEnv, 2)
network = Net(state_shape=(4,), action_shape=2, hidden_sizes=[64, 64])
policy = DiscreteQLearningPolicy(model=network, action_space=training.get_env_attr("action_space")[0], eps_training=0.2, eps_inference=0.05)
algorithm = TimedDQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.99, target_update_freq=100)
collector = TimedCollector(algorithm, training, TimedBuffer(10_000, 4), exploration_noise=True)
collector.reset()
algorithm.run_training(
    OffPolicyTrainerParams(
        training_collector=collector,
        test_collector=Collector(algorithm, testing),
        max_epochs=2,
        epoch_num_steps=steps // 2,
        collection_step_num_env_steps=16,
        update_step_num_gradient_steps_per_sample=0.125,
        test_step_num_episodes=2,
        batch_size=64,
        show_progress=False,
        verbose=False,
    )
)
weights = float(sum(p.detach().double().sum() for p in network.parameters()))
truth.tell(trajectory=[weights], **counted)
