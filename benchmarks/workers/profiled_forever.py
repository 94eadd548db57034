"""A hand-written DQN that never ends by itself: says when it began, and at the end how much memory it held: python profiled_forever.py [SECONDS]"""

import random
import resource
import sys
import time

print("@began", time.time(), flush=True)

from collections import deque

import gymnasium
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
until = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")
env, kept = gymnasium.make("CartPole-v1"), deque(maxlen=5000)
q = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(q.parameters())
state, steps = env.reset(seed=0)[0], 0
try:
    while time.monotonic() < until:
        action = random.randrange(2) if random.random() < 0.1 else int(q(torch.from_numpy(state)).argmax())
        after, reward, terminated, truncated, _ = env.step(action)
        kept.append((state, action, reward, after, terminated))
        state, steps = (env.reset()[0] if terminated or truncated else after), steps + 1
        if steps % 4 == 0 and len(kept) >= 200:
            states, actions, rewards, afters, ends = (torch.from_numpy(np.array(part)) for part in zip(*random.sample(kept, 32)))
            with torch.no_grad():
                targets = rewards.float() + 0.99 * (~ends).float() * q(afters).max(1)[0]
            loss = nn.functional.smooth_l1_loss(q(states).gather(1, actions[:, None])[:, 0], targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
finally:
    print("@ended", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, steps, flush=True)
