"""Steps a CartPole and then ends in the way it is told to."""

import os
import sys
import time

import gymnasium as gym

env = gym.make("CartPole-v1")
env.reset(seed=0)
env.action_space.seed(0)


def play(steps):
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()


play(300)
match sys.argv[1]:
    case "raise":
        raise ValueError("half-way")
    case "exit":
        sys.exit(7)
    case "message":
        sys.exit("no more")
    case "_exit":
        os._exit(9)
    case "forever":
        while True:
            play(10)
    case "sleep":
        time.sleep(1000)
    case "stdin":
        print("heard", sys.stdin.read().strip(), sys.argv[2:], __name__, __file__, os.getcwd())
    case "fork":
        if os.fork() == 0:
            play(1000)
            os._exit(0)
        os.wait()
