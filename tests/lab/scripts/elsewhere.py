"""Loops that are not simply in the main thread of one process: trained in a thread, played by workers that were spawned, marked by hand."""

import multiprocessing
import sys
import threading

import gymnasium as gym
import numpy as np
from learner import Learner
from truth import Truth, busy, now

import hotloop


class Game:
    def __init__(self, start=0.0):
        self.start, self.at, self.age = start, start, 0

    def play(self, action):
        busy(200e-6)
        self.at, self.age = self.at + (0.5 if action else -0.5), self.age + 1
        reward, over = 1.0 - 0.1 * abs(self.at), abs(self.at) > 3 or self.age >= 30
        if over:
            self.at, self.age = self.start, 0
        return np.array([self.at, self.age / 30, self.at**2, 1.0], np.float32), reward, over


def serve(pipe, start):
    game = Game(start)
    while True:
        pipe.send(game.play(pipe.recv()))


class Workers:
    """Games in processes of their own, as people write them."""

    def __init__(self, count):
        context = multiprocessing.get_context("spawn")
        pipes = [context.Pipe() for _ in range(count)]
        self.pipes = [ours for ours, _ in pipes]
        self.processes = [context.Process(target=serve, args=(theirs, index / 4), daemon=True) for index, (_, theirs) in enumerate(pipes)]
        for process in self.processes:
            process.start()

    def step(self, actions):
        for pipe, action in zip(self.pipes, actions):
            pipe.send(action)
        seen, rewards, dones = zip(*(pipe.recv() for pipe in self.pipes))
        return np.stack(seen), np.array(rewards), np.array(dones)

    def close(self):
        for process in self.processes:
            process.terminate()


def stepped(truth, step, *given):
    began = now()
    result = step(*given)
    truth.add("step", now() - began)
    return result


class Slow(gym.Wrapper):
    def step(self, action):
        busy(200e-6)
        return self.env.step(action)


def cartpole(steps, truth, learner):
    """A loop of its own, wherever it is called."""
    env = Slow(gym.make("CartPole-v1"))
    seen, episodes, trail = env.reset(seed=0)[0], 0, 0.0
    for _ in range(steps):
        truth.step()
        action = learner.choose([seen])[0]
        after, reward, terminated, truncated, _ = stepped(truth, env.step, action)
        learner.remember(seen, action, reward, after, terminated)
        seen, trail = after, trail * 0.5 + float(after.sum())
        if terminated or truncated:
            seen, episodes = env.reset()[0], episodes + 1
        learner.learn()
    truth.kept.pop("store")  # by hand, in a thread that is not looked at: glue
    tell(truth, learner, steps, episodes, trail)


def workers(steps, truth, learner):
    envs, seen, episodes, trail = Workers(2), np.zeros((2, 4), np.float32), 0, 0.0
    for _ in range(steps):
        truth.step()
        actions = learner.choose(seen)
        after, rewards, dones = stepped(truth, envs.step, actions)
        for row in range(2):
            learner.remember(seen[row], actions[row], rewards[row], after[row], dones[row])
        seen, episodes, trail = after, episodes + int(dones.sum()), trail * 0.5 + float(rewards.sum())
        learner.learn()
    envs.close()
    tell(truth, learner, 2 * steps, episodes, trail)


def marked(steps, truth, learner):
    """Nothing here looks like a game, a buffer or an update: the marks alone say what is what."""
    weights = np.zeros(8)

    @hotloop.phase("act")
    def think():
        busy(100e-6)
        return float(weights.sum())

    for _ in range(steps):
        truth.step()
        began = now()
        think()
        truth.add("act", now() - began)
        began = now()
        with hotloop.phase("step"):
            busy(200e-6)
            with hotloop.phase("log"):
                logging = now()
                busy(50e-6)
                truth.add("log", now() - logging)
            logged = now() - logging
        truth.add("step", now() - began - logged)
        began = now()
        with hotloop.phase("learn"):
            busy(150e-6)
            weights += 0.001
        truth.add("learn", now() - began)
    truth.tell(env_steps=steps, updates=0, episodes=0, trajectory=[float(weights.sum())])


def tell(truth, learner, env_steps, episodes, trail):
    truth.tell(env_steps=env_steps, updates=learner.updates, episodes=int(episodes), trajectory=[float(trail), learner.weights()])


if __name__ == "__main__":
    how, steps, truth = sys.argv[1], int(sys.argv[2]), Truth()
    learner = Learner(truth)
    if how == "thread":
        thread = threading.Thread(target=cartpole, args=(steps, truth, learner))
        thread.start()
        thread.join()
    else:
        {"workers": workers, "marked": marked}[how](steps, truth, learner)
