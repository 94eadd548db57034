"""Snake as people write it in Python: a deque, a set, a Gymnasium env. The same rules, rewards and 11 (or, with flood fill, 14) features as hotloop's."""

import random
from collections import deque

import gymnasium
import numpy as np

UP, RIGHT, DOWN, LEFT = (-1, 0), (0, 1), (1, 0), (0, -1)
HEADINGS = [UP, RIGHT, DOWN, LEFT]


class PythonSnake(gymnasium.Env):
    def __init__(self, size=10, flood=False, max_steps=1000):
        self.size, self.flood, self.max_steps = size, flood, max_steps
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (14 if flood else 11,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            random.seed(seed)
        middle = self.size // 2
        self.body = deque([(middle, middle), (middle, middle - 1), (middle, middle - 2)])
        self.taken = set(self.body)
        self.heading, self.age = 1, 0
        self.place_food()
        return self.observe(), {}

    def place_food(self):
        while True:
            self.food = (random.randrange(self.size), random.randrange(self.size))
            if self.food not in self.taken:
                return

    def open(self, cell):
        row, column = cell
        return 0 <= row < self.size and 0 <= column < self.size and (cell not in self.taken or cell == self.body[-1])

    def ahead(self, turn):
        row, column = self.body[0]
        down, right = HEADINGS[(self.heading + turn) % 4]
        return row + down, column + right

    def step(self, action):
        self.heading = (self.heading + int(action) - 1) % 4
        before, cell = self.body[0], self.ahead(0)
        self.age += 1
        cut_off = self.age >= self.max_steps
        if not self.open(cell):
            return self.observe(), -10.0, True, False, {}
        if cell == self.food:
            self.body.appendleft(cell)
            self.taken.add(cell)
            if len(self.body) == self.size**2:
                return self.observe(), 20.0, True, False, {}
            self.place_food()
            return self.observe(), 10.0, False, cut_off, {}
        self.taken.discard(self.body.pop())
        self.body.appendleft(cell)
        self.taken.add(cell)
        nearer = self.distance(cell) < self.distance(before)
        return self.observe(), -0.01 + (0.1 if nearer else -0.1), False, cut_off, {}

    def distance(self, cell):
        return abs(cell[0] - self.food[0]) + abs(cell[1] - self.food[1])

    def observe(self):
        (row, column), (food_row, food_column) = self.body[0], self.food
        danger = [not self.open(self.ahead(turn)) for turn in (0, 3, 1, 2)]
        food = [food_row < row, food_row > row, food_column < column, food_column > column]
        seen = [*danger, *food, self.heading == 1, self.heading == 2, self.heading == 3]
        if self.flood:
            free = self.size**2 - len(self.body)
            seen += [self.room(self.ahead(turn)) / max(free, 1) for turn in (0, 3, 1)]
        return np.array(seen, np.float32)

    def room(self, start):
        """Free cells that can be reached from here, by breadth-first search."""
        if not self.open(start):
            return 0
        queue, seen = deque([start]), {start}
        while queue:
            row, column = queue.popleft()
            for down, right in HEADINGS:
                cell = (row + down, column + right)
                if cell not in seen and self.open(cell):
                    seen.add(cell)
                    queue.append(cell)
        return min(len(seen), self.size**2 - len(self.body))
