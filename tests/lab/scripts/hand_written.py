"""A DQN written by hand on a game written by hand: no Gym, a deque of tuples."""

import random
import sys
from collections import deque

import numpy as np
import torch
from torch import nn
from truth import Truth, busy, now

torch.set_num_threads(1)
torch.manual_seed(0)
random.seed(0)
STEPS, LEARNING_STARTS = int(sys.argv[1]), 1000
truth = Truth()


class Game:
    def begin(self):
        self.x, self.age = np.zeros(4, np.float32), 0
        return self.x.copy()

    def play(self, action):
        busy(120e-6)
        self.age += 1
        self.x = self.x * 0.9 + np.float32(action)
        return float(self.x[0] > 3), self.age >= 60, self.x.copy()


class Memory:
    def __init__(self):
        self.kept = deque(maxlen=5000)

    def remember(self, state, action, reward, after, over):
        busy(40e-6)
        self.kept.append((state, action, reward, after, over))

    def batch(self, size):
        states, actions, rewards, afters, overs = zip(*random.sample(self.kept, size))
        floats = (torch.FloatTensor(np.array(part)) for part in (states, rewards, afters, overs))
        states, rewards, afters, overs = floats
        return states, torch.LongTensor(actions), rewards, afters, overs


class Agent:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
        self.optimizer, self.memory, self.epsilon = torch.optim.Adam(self.q.parameters()), Memory(), 1.0

    def choose(self, state):
        busy(60e-6)
        if random.random() < self.epsilon:
            return random.randrange(2)
        return int(self.q(torch.FloatTensor(state).unsqueeze(0)).argmax())

    def learn(self):
        began = now()
        states, actions, rewards, afters, overs = self.memory.batch(32)
        truth.add("sample", now() - began)
        with torch.no_grad():
            targets = rewards + 0.99 * (1 - overs) * self.q(afters).max(1)[0]
        loss = ((self.q(states).gather(1, actions[:, None])[:, 0] - targets) ** 2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


game, agent = Game(), Agent()
state, updates, episodes, trail = game.begin(), 0, 0, 0.0
for step in range(STEPS):
    truth.step()
    began = now()
    action = agent.choose(state)
    truth.add("act", now() - began)
    began = now()
    reward, over, after = game.play(action)
    truth.add("step", now() - began)
    began = now()
    agent.memory.remember(state, action, reward, after, over)
    truth.add("store", now() - began)
    trail = trail * 0.5 + action + reward
    state = after
    if over:
        state, episodes = game.begin(), episodes + 1
    agent.epsilon = max(0.1, agent.epsilon * 0.9995)
    if step >= LEARNING_STARTS:
        began, sampled = now(), truth.spent.get("sample", 0.0)
        agent.learn()
        truth.add("learn", now() - began - (truth.spent.get("sample", 0.0) - sampled))
        updates += 1
weights = float(sum(p.detach().double().sum() for p in agent.q.parameters()))
truth.tell(env_steps=STEPS, updates=updates, episodes=episodes, trajectory=[trail, weights])
