"""DQN on CartPole as many people write it first: one game, a deque, an update a step. Try: hotloop profile examples/slow_dqn.py"""

import random
import sys
from collections import deque

import gymnasium
import numpy as np
import torch
from torch import nn


class Agent:
    def __init__(self, inputs, actions):
        self.actions = actions
        self.network = nn.Sequential(nn.Linear(inputs, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, actions))
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=1e-3)
        self.memory = deque(maxlen=100_000)

    def choose(self, obs, epsilon):
        if random.random() < epsilon:
            return random.randrange(self.actions)
        return int(self.network(torch.FloatTensor(obs).unsqueeze(0)).argmax())

    def remember(self, obs, action, reward, after, terminated):
        self.memory.append((obs, action, reward, after, terminated))

    def batch(self, size):
        obs, actions, rewards, after, terminated = zip(*random.sample(self.memory, size))
        tensors = (torch.FloatTensor(np.array(part)) for part in (obs, rewards, after, terminated))
        return (torch.LongTensor(actions), *tensors)

    def learn(self):
        actions, obs, rewards, after, terminated = self.batch(64)
        with torch.no_grad():
            targets = rewards + 0.99 * (1 - terminated) * self.network(after).max(1).values
        values = self.network(obs).gather(1, actions[:, None])[:, 0]
        loss = nn.functional.smooth_l1_loss(values, targets)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def main(steps):
    env = gymnasium.make("CartPole-v1")
    agent = Agent(4, 2)
    obs, _ = env.reset(seed=0)
    for step in range(steps):
        action = agent.choose(obs, max(0.05, 1 - step / 5000))
        after, reward, terminated, truncated, _ = env.step(action)
        agent.remember(obs, action, reward, after, terminated)
        obs = after
        if terminated or truncated:
            obs, _ = env.reset()
        if step >= 1000:
            agent.learn()


main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
