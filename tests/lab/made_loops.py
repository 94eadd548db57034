"""Made-up loops: the blocks that a training loop of known prices would leave behind, so that the truth about its drift is planted and not measured."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

PHASES = ("reset", "act", "step", "store", "sample", "learn", "sync", "evaluate", "log", "save")


def constant(value):
    return lambda n: value


@dataclass
class Loop:
    """Prices in seconds a call, each a function of the env steps made so far; so are the calls a step, the length of an episode and what is resident."""

    price: dict[str, Callable] = field(default_factory=dict)
    calls: dict[str, Callable] = field(default_factory=dict)  # per env step
    glue: float = 5e-6
    learning_starts: int = 0
    train_every: int = 1
    updates_each: int = 1
    episode: Callable = constant(100.0)  # steps
    resident: Callable = constant(500.0)  # MB
    garbage: Callable | None = None  # seconds a step, within the glue
    noise: float = 0.03
    machine: Callable = constant(1.0)  # how much slower everything is, by seconds since the start
    chunk: int = 20
    looks: dict = field(default_factory=dict)  # env step → seconds of looking at every call

    def prices(self, **changed):
        self.price = {"act": 30e-6, "step": 40e-6, "store": 5e-6, "sample": 20e-6, "learn": 150e-6, **changed}
        self.price = {name: value if callable(value) else constant(value) for name, value in self.price.items()}
        return self

    def run(self, steps, *, every=0.25, most=400, seed=0):
        """The record's "blocks"."""
        rng = np.random.default_rng(seed)
        spent, made = dict.fromkeys((*PHASES, "glue"), 0.0), dict.fromkeys(PHASES, 0.0)
        clock, due, looking, gc, updates, episodes, rows = 3.0, 0.0, 0.0, 0.0, 0, 0.0, []  # three seconds of starting up
        for n in range(0, steps, self.chunk):
            learns = self.updates_each * ((n + self.chunk) // self.train_every - n // self.train_every) if n >= self.learning_starts else 0
            ended = self.chunk / self.episode(n)
            pieces = {name: self.chunk * self.calls.get(name, constant(1.0))(n) for name in ("act", "step", "store")}
            pieces |= {"sample": learns, "learn": learns, "reset": ended}
            pieces |= {name: self.chunk * often(n) for name, often in self.calls.items()}
            luck = self.machine(clock) * float(np.exp(rng.normal(0, self.noise * 3)))  # over a few steps; a block averages
            for name, price in self.price.items():
                seconds = pieces.get(name, 0) * price(n) * luck
                spent[name] += seconds
                made[name] += pieces.get(name, 0)
                clock += seconds
            extra = self.garbage(n) * self.chunk if self.garbage else 0.0
            spent["glue"] += self.glue * self.chunk * luck + extra
            clock += self.glue * self.chunk * luck + extra
            gc += extra
            updates, episodes = updates + learns, episodes + ended
            if n in self.looks:
                clock, looking = clock + self.looks[n], looking + self.looks[n]
            if clock >= due:
                row = [clock, n + self.chunk, n + self.chunk, updates, int(episodes), self.resident(n + self.chunk), looking]
                rows.append(row + list(spent.values()) + list(made.values()) + [gc] * bool(self.garbage))
                if len(rows) > most:
                    rows, every = rows[::2], 2 * every
                due = clock + every
        names = ["seconds", "env_steps", "vector_steps", "updates", "episodes", "rss_mb", "looking_seconds"]
        columns = names + [f"{name}_seconds" for name in spent] + [f"{name}_calls" for name in made] + ["gc_seconds"] * bool(self.garbage)
        return {"columns": columns, "rows": rows}


def line(first, last, steps):
    return lambda n: first + (last - first) * n / steps


def until(first, last, knee):
    return lambda n: first + (last - first) * min(n / knee, 1.0)


def step_at(first, last, at):
    return lambda n: first if n < at else last


def since(first, last, at, steps):
    return lambda n: first + (last - first) * max(n - at, 0) / (steps - at)
