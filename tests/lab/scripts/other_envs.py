"""The same tiny game behind other people's interfaces: dm_env, PettingZoo's two, gym 0.21's vectors by hand."""

import sys

import numpy as np
from learner import Learner
from truth import Truth, busy, now

truth = Truth()


class Walk:
    """A walk between two walls, 30 steps long at most."""

    def __init__(self, start=0.0):
        self.start, self.at, self.age = start, start, 0

    def begin(self):
        self.at, self.age = self.start, 0
        return self.seen()

    def move(self, action):
        busy(150e-6)
        self.at, self.age = self.at + (0.5 if action else -0.5), self.age + 1
        return self.seen(), 1.0 - 0.1 * abs(self.at), abs(self.at) > 3 or self.age >= 30

    def seen(self):
        return np.array([self.at, self.age / 30, self.at**2, 1.0], np.float32)


def stepped(step, *given):
    began = now()
    result = step(*given)
    truth.add("step", now() - began)
    return result


def dm(steps):
    import dm_env
    from dm_env import specs

    class Env(dm_env.Environment):
        def __init__(self):
            self.walk, self.ended = Walk(), True

        def reset(self):
            self.ended = False
            return dm_env.restart(self.walk.begin())

        def step(self, action):
            if self.ended:  # as dm_env asks: the step after the last begins anew
                return self.reset()
            seen, reward, self.ended = self.walk.move(action)
            return dm_env.termination(reward, seen) if self.ended else dm_env.transition(reward, seen)

        def observation_spec(self):
            return specs.Array((4,), np.float32)

        def action_spec(self):
            return specs.DiscreteArray(2)

    env, learner, moves, episodes, trail = Env(), Learner(truth), 0, 0, 0.0
    timestep = env.reset()
    for _ in range(steps):
        truth.step()
        action = learner.choose([timestep.observation])[0]
        after = stepped(env.step, action)
        if not after.first():
            learner.remember(timestep.observation, action, after.reward, after.observation, after.last())
            moves, episodes, trail = moves + 1, episodes + after.last(), trail * 0.5 + after.reward
        timestep = after
        learner.learn()
    return learner, moves, episodes, trail


def parallel(steps):
    from gymnasium.spaces import Box, Discrete
    from pettingzoo import ParallelEnv

    class Env(ParallelEnv):
        metadata = {"name": "walk"}
        possible_agents = ["left", "right"]
        observation_spaces = dict.fromkeys(possible_agents, Box(-10, 10, (4,)))
        action_spaces = dict.fromkeys(possible_agents, Discrete(2))

        def reset(self, seed=None, options=None):
            self.agents = list(self.possible_agents)
            self.walks = {"left": Walk(-1.0), "right": Walk(1.0)}
            return {agent: walk.begin() for agent, walk in self.walks.items()}, {agent: {} for agent in self.agents}

        def step(self, actions):
            moved = {agent: self.walks[agent].move(action) for agent, action in actions.items()}
            seen, rewards, ends = ({agent: move[part] for agent, move in moved.items()} for part in range(3))
            self.agents = [agent for agent in self.agents if not ends[agent]]
            return seen, rewards, ends, dict.fromkeys(ends, False), {agent: {} for agent in ends}

    env, learner, episodes, trail = Env(), Learner(truth), 0, 0.0
    seen, _ = env.reset(seed=0)
    for _ in range(steps):
        truth.step()
        actions = dict(zip(env.agents, learner.choose([seen[agent] for agent in env.agents])))
        after, rewards, ends, cuts, _ = stepped(env.step, actions)
        for agent in actions:
            learner.remember(seen[agent], actions[agent], rewards[agent], after[agent], ends[agent])
            trail = trail * 0.5 + rewards[agent]
        seen = after
        if not env.agents:
            episodes += 1
            seen, _ = env.reset()
        learner.learn()
    return learner, steps, episodes, trail


def in_turn(steps):
    from gymnasium.spaces import Box, Discrete
    from pettingzoo import AECEnv

    class Env(AECEnv):
        metadata = {"name": "walk"}
        possible_agents = ["left", "right"]
        observation_spaces = dict.fromkeys(possible_agents, Box(-10, 10, (4,)))
        action_spaces = dict.fromkeys(possible_agents, Discrete(2))

        def reset(self, seed=None, options=None):
            self.agents = list(self.possible_agents)
            self.walks = {"left": Walk(-1.0), "right": Walk(1.0)}
            self.rewards, self._cumulative_rewards = dict.fromkeys(self.agents, 0.0), dict.fromkeys(self.agents, 0.0)
            self.terminations, self.truncations = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
            self.infos, self.agent_selection = {agent: {} for agent in self.agents}, "left"

        def observe(self, agent):
            return self.walks[agent].seen()

        def step(self, action):
            agent = self.agent_selection
            if self.terminations[agent]:
                return self._was_dead_step(action)
            self._cumulative_rewards[agent] = 0.0
            _, self.rewards[agent], over = self.walks[agent].move(action)
            if over:
                self.terminations = dict.fromkeys(self.agents, True)
            self._accumulate_rewards()
            self.agent_selection = "right" if agent == "left" else "left"
            return None

    env, learner, moves, episodes, trail = Env(), Learner(truth), 0, 0, 0.0
    while moves < steps:
        env.reset()
        before = {}
        for agent in env.agent_iter():
            truth.step()
            began = now()
            seen, reward, ended, cut, _ = env.last()
            truth.add("step", now() - began)
            if agent in before:
                learner.remember(*before[agent], reward, seen, ended)
                trail = trail * 0.5 + reward
            over = ended or cut
            action = None if over else learner.choose([seen])[0]
            before[agent] = seen, action
            stepped(env.step, action)
            moves += not over
            learner.learn()
        episodes += 1
    return learner, moves, episodes, trail


def old_gym(steps):
    class Vector:
        """As gym 0.21's users wrote them: four answers, a list of infos, and games that begin anew by themselves."""

        def __init__(self, count):
            self.walks = [Walk(index / 4) for index in range(count)]

        def reset(self):
            return np.stack([walk.begin() for walk in self.walks])

        def step(self, actions):
            seen, rewards, dones = zip(*(walk.move(action) for walk, action in zip(self.walks, actions)))
            seen = [walk.begin() if done else row for walk, row, done in zip(self.walks, seen, dones)]
            return np.stack(seen), np.array(rewards), np.array(dones), [{} for _ in self.walks]

    env, learner, episodes, trail = Vector(4), Learner(truth), 0, 0.0
    seen = env.reset()
    for _ in range(steps):
        truth.step()
        actions = learner.choose(seen)
        after, rewards, dones, infos = stepped(env.step, actions)
        for row in range(4):
            learner.remember(seen[row], actions[row], rewards[row], after[row], dones[row])
        episodes, trail, seen = episodes + int(dones.sum()), trail * 0.5 + float(rewards.sum()), after
        learner.learn()
    return learner, 4 * steps, episodes, trail


learner, env_steps, episodes, trail = {"dm": dm, "parallel": parallel, "in_turn": in_turn, "old_gym": old_gym}[sys.argv[1]](int(sys.argv[2]))
truth.tell(env_steps=int(env_steps), updates=learner.updates, episodes=int(episodes), trajectory=[float(trail), learner.weights()])
