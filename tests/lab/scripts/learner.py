"""A small DQN, written by hand, for scripts whose point is the env: acting, remembering and learning take known times, and are the same everywhere."""

import random
from collections import deque

import numpy as np
import torch
from torch import nn
from truth import busy, now


class Learner:
    def __init__(self, truth, width=4, choices=2, starts=100):
        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.luck, self.truth, self.choices, self.starts, self.updates = random.Random(0), truth, choices, starts, 0
        self.q = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, choices))
        self.optimizer, self.kept = torch.optim.Adam(self.q.parameters(), lr=1e-3), deque(maxlen=2000)

    def choose(self, seen):
        """An action for each of the rows."""
        began = now()
        busy(100e-6)
        with torch.no_grad():
            values = self.q(torch.as_tensor(np.asarray(seen, np.float32)))
        actions = [self.luck.randrange(self.choices) if self.luck.random() < 0.2 else int(best) for best in values.argmax(1)]
        self.truth.add("act", now() - began)
        return actions

    def remember(self, seen, action, reward, after, over):
        began = now()
        busy(50e-6)
        self.kept.append((seen, action, reward, after, over))
        self.truth.add("store", now() - began)

    def learn(self):
        if len(self.kept) < self.starts:
            return
        began = now()
        busy(200e-6)
        seen, actions, rewards, afters, overs = zip(*self.luck.sample(self.kept, 32))
        rewards, overs = torch.tensor(rewards, dtype=torch.float32), torch.tensor(overs, dtype=torch.float32)
        with torch.no_grad():
            targets = rewards + 0.99 * (1 - overs) * self.q(torch.tensor(np.array(afters, np.float32))).max(1)[0]
        chosen = self.q(torch.tensor(np.array(seen, np.float32))).gather(1, torch.tensor(actions)[:, None])[:, 0]
        loss = ((chosen - targets) ** 2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        self.truth.add("learn and sample", now() - began)

    def weights(self):
        return float(sum(p.detach().double().sum() for p in self.q.parameters()))
