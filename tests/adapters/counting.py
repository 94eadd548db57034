"""Games that write (game, episode, step) into what they show, and the learner that checks every batch of them.

An episode whose number plus its game's is even ends by itself after 2, 3 or 4 steps; an odd one is cut off after 4. So deaths, cut-offs and both at once occur.
"""

from collections.abc import Callable

import gymnasium
import numpy as np

from hotloop.engine.env import Box, Discrete, Env, compiled, state
from hotloop.engine.replay import Minibatch, Replay, Row
from hotloop.engine.vecenv import VecEnv

LIMIT = 4


@compiled
def length_of(game, episode):
    """Steps until the episode ends by itself; one more than the limit: never."""
    return LIMIT + 1 if (game + episode) % 2 else 2 + (game // 2 + episode) % 3


@compiled
def reward_of(game, episode, step):
    return 100 * game + 10 * (episode % 10) + step


class Counting(gymnasium.Env):
    """The game as Gymnasium has it; it says truncated at the limit even when it ends there by itself."""

    observation_space = gymnasium.spaces.Box(0.0, 1e6, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, game: int) -> None:
        self.game, self.episode, self.at = game, 0, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode, self.at = self.episode + 1, 0
        return self._seen(), {}

    def step(self, action):
        reward = float(reward_of(self.game, self.episode, self.at))
        self.at += 1
        return self._seen(), reward, self.at == length_of(self.game, self.episode), self.at == LIMIT, {}

    def _seen(self):
        return np.array([self.game, self.episode, self.at], np.float32)


def counting() -> Env:
    """The same as one of ours. The engine does not tell a game its number: set `envs.games["game"]`."""

    def reset(s, rng):
        s.episode += 1
        s.at = 0

    def step(s, action, rng):
        reward = float(reward_of(s.game, s.episode, s.at))
        s.at += 1
        return reward, s.at == length_of(s.game, s.episode)

    def observe(s, obs):
        obs[0], obs[1], obs[2] = s.game, s.episode, s.at

    def render(s):
        return np.full((2, 2, 3), s.at, np.uint8)

    where = state(game="i4", episode="i4", at="i4")
    return Env("counting", where, Box(0.0, 1e6, (3,)), Discrete(2), reset, step, observe, max_steps=LIMIT, render=render)


def learn_from(envs: VecEnv, steps: int = 60, rows: int = 12, tamper: Callable[[VecEnv, Row], None] = lambda envs, row: None) -> int:
    """The walk from env step to batch, every batch checked. Returns the transitions seen."""
    memory = Replay(rows * envs.num_envs, envs)
    envs.reset(obs=memory.row().obs)
    for _ in range(steps):
        row = memory.row()
        row.actions[...] = 0
        envs.step(row.actions, into=row.outcome, obs=row.next_obs)
        tamper(envs, row)
        memory.advance(envs.last, envs.played)
        check(memory.sample(64))
    return 64 * steps


def check(batch: Minibatch) -> None:
    obs, next_obs = (parts["obs"][0].numpy() for parts in (batch.obs, batch.next_obs))
    game, episode, at = obs.astype(int).T
    ends = np.array([length_of(*pair) for pair in zip(game, episode, strict=True)])
    assert (at < np.minimum(ends, LIMIT)).all(), "acted on where an episode had ended"
    assert (batch.rewards[0].numpy() == reward_of(game, episode, at)).all()
    terminated = batch.terminated[0].numpy()
    assert (terminated == (at + 1 == ends)).all(), "terminated is not where the game ended by itself"
    assert (next_obs[~terminated] == obs[~terminated] + [0, 0, 1]).all(), "what follows is not what followed"
