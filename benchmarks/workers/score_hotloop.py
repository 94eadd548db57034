"""Seconds of training until hotloop's DQN has a mean score of 10 and of 20: python score_hotloop.py; one seed a turn."""

from contextlib import nullcontext

from measure import serve

from hotloop.algos.dqn import DQNConfig, train
from hotloop.engine.vecenv import make_envs
from hotloop.envs.snake import snake

GOALS, LIMIT, LOOKED_AT = (10, 20), 60.0, 100


class Reached(Exception):
    pass


class Watch:
    """Notes when the last hundred training episodes (or the few more that ended with them in a block) first had a mean score of each goal."""

    def __init__(self):
        self.at, self.recent, self.episodes = {}, [], 0

    def update(self, record):
        ended, self.episodes = record["episodes"] - self.episodes, record["episodes"]
        if not ended:
            return
        self.recent.append((ended, record["score_mean"] * ended))
        while sum(count for count, _ in self.recent[1:]) >= LOOKED_AT:
            self.recent.pop(0)
        counts, sums = map(sum, zip(*self.recent))
        if counts >= LOOKED_AT:
            for goal in GOALS:
                if sums / counts >= goal:
                    self.at.setdefault(goal, record["seconds"])
        if len(self.at) == len(GOALS):
            raise Reached

    def note(self, text):
        pass

    def progress(self, text):
        return nullcontext(lambda share: None)


seed = 0


def block():
    global seed
    config = DQNConfig(seed=seed, max_steps=None, max_time=LIMIT, discount=0.97, replay_ratio=1 / 64, epsilon_steps=200_000, log_seconds=0.01)
    watch, seed = Watch(), seed + 1
    try:
        train(make_envs(snake(features="flood"), config.num_envs, seed=config.seed), config, None, watch)
    except Reached:
        pass
    return {f"seconds_to_{goal}": watch.at.get(goal) for goal in GOALS}


serve(block)
