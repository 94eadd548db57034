"""PPO in one file, as CleanRL writes it: tensors written by index, advantages in a Python loop, minibatches by permutation, all of it in the loop itself."""

import random
import sys

import gymnasium as gym
import numpy as np
import torch
from torch import nn, optim
from torch.distributions.categorical import Categorical
from truth import Truth, busy, now

ENVS, STEPS, EPOCHS, MINIBATCHES = 4, 64, 4, 4


class Slow(gym.Wrapper):
    def step(self, action):
        busy(60e-6)
        return self.env.step(action)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))
        self.actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


if __name__ == "__main__":
    torch.set_num_threads(1)
    np.random.seed(1)  # noqa: NPY002 - as CleanRL shuffles
    random.seed(1)
    torch.manual_seed(1)
    envs = gym.vector.SyncVectorEnv([lambda: Slow(gym.make("CartPole-v1"))] * ENVS, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)
    agent = Agent()
    optimizer = optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
    obs, actions, logprobs = torch.zeros((STEPS, ENVS, 4)), torch.zeros((STEPS, ENVS)), torch.zeros((STEPS, ENVS))
    rewards, dones, values = torch.zeros((STEPS, ENVS)), torch.zeros((STEPS, ENVS)), torch.zeros((STEPS, ENVS))
    truth, updates, episodes, trail = Truth(), 0, 0, 0.0
    next_obs, next_done = torch.Tensor(envs.reset(seed=1)[0]), torch.zeros(ENVS)
    iterations = int(sys.argv[1])
    for _ in range(iterations):
        for step in range(STEPS):
            truth.step()
            obs[step], dones[step] = next_obs, next_done
            busy(50e-6)
            began = now()
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
                values[step] = value.flatten()
            actions[step], logprobs[step] = action, logprob
            truth.add("act", now() - began)
            began = now()
            after, reward, terminated, truncated, infos = envs.step(action.cpu().numpy())
            truth.add("step", now() - began)
            rewards[step] = torch.tensor(reward).view(-1)
            next_obs, next_done = torch.Tensor(after), torch.Tensor(np.logical_or(terminated, truncated))
            episodes += int(next_done.sum())
            trail = trail * 0.5 + float(after.sum())
        began = now()
        with torch.no_grad():
            next_value = agent.get_value(next_obs).reshape(1, -1)
            advantages, last = torch.zeros_like(rewards), 0
            for t in reversed(range(STEPS)):
                alive, following = (1.0 - next_done, next_value) if t == STEPS - 1 else (1.0 - dones[t + 1], values[t + 1])
                delta = rewards[t] + 0.99 * following * alive - values[t]
                advantages[t] = last = delta + 0.99 * 0.95 * alive * last
            returns = advantages + values
        busy(2e-3)
        b_obs, b_actions, b_logprobs = obs.reshape(-1, 4), actions.reshape(-1), logprobs.reshape(-1)
        b_advantages, b_returns = advantages.reshape(-1), returns.reshape(-1)
        indices = np.arange(ENVS * STEPS)
        for _ in range(EPOCHS):
            np.random.shuffle(indices)  # noqa: NPY002
            for chosen in np.split(indices, MINIBATCHES):
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[chosen], b_actions.long()[chosen])
                ratio = (newlogprob - b_logprobs[chosen]).exp()
                mb = b_advantages[chosen]
                mb = (mb - mb.mean()) / (mb.std() + 1e-8)
                pg_loss = torch.max(-mb * ratio, -mb * torch.clamp(ratio, 0.8, 1.2)).mean()
                v_loss = 0.5 * ((newvalue.view(-1) - b_returns[chosen]) ** 2).mean()
                loss = pg_loss - 0.01 * entropy.mean() + 0.5 * v_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
                updates += 1
        truth.add("learn", now() - began)
    weights = float(sum(p.detach().double().sum() for p in agent.parameters()))
    truth.tell(env_steps=iterations * STEPS * ENVS, updates=updates, episodes=episodes, trajectory=[trail, weights])
