"""DQN in one file, as CleanRL writes it: everything stands in the loop."""

import random
import sys

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
from stable_baselines3.common.buffers import ReplayBuffer
from torch import nn, optim
from truth import Truth, busy, now


class Slow(gym.Wrapper):
    def step(self, action):
        busy(150e-6)
        return self.env.step(action)


class QNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(4, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 2))

    def forward(self, x):
        return self.network(x)


if __name__ == "__main__":
    torch.set_num_threads(1)
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002 - the buffer draws from it
    torch.manual_seed(1)
    envs = gym.vector.SyncVectorEnv([lambda: Slow(gym.make("CartPole-v1"))] * 2, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)
    q_network, target = QNetwork(), QNetwork()
    optimizer = optim.Adam(q_network.parameters(), lr=2.5e-4)
    target.load_state_dict(q_network.state_dict())
    buffer = ReplayBuffer(10000, envs.single_observation_space, envs.single_action_space, "cpu", n_envs=2, handle_timeout_termination=False)
    obs, _ = envs.reset(seed=1)
    envs.single_action_space.seed(1)
    steps, updates, episodes, trail, truth = int(sys.argv[1]), 0, 0, 0.0, Truth()
    for step in range(steps):
        truth.step()
        began = now()
        if random.random() < 0.2:
            actions = np.array([envs.single_action_space.sample() for _ in range(2)])
        else:
            actions = torch.argmax(q_network(torch.Tensor(obs)), dim=1).cpu().numpy()
            truth.add("act", now() - began)
        began = now()
        after, rewards, terminated, truncated, infos = envs.step(actions)
        truth.add("step", now() - began)
        began = now()
        buffer.add(obs, after, actions, rewards, terminated, [{}, {}])
        truth.add("store", now() - began)
        episodes += int((terminated | truncated).sum())
        obs, trail = after, trail * 0.5 + float(after.sum())
        if step > 100 and step % 2 == 0:
            began = now()
            data = buffer.sample(128)
            truth.add("sample", now() - began)
            began = now()
            with torch.no_grad():
                best, _ = target(data.next_observations).max(dim=1)
                targets = data.rewards.flatten() + 0.99 * best * (1 - data.dones.flatten())
            values = q_network(data.observations).gather(1, data.actions).squeeze()
            loss = F.mse_loss(targets, values)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            truth.add("learn", now() - began)
            updates += 1
        busy(100e-6)  # what people write between the lines
    weights = float(sum(p.detach().double().sum() for p in q_network.parameters()))
    truth.tell(env_steps=2 * steps, updates=updates, episodes=episodes, trajectory=[trail, weights])
