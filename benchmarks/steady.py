"""Constant speed from the first step: the first ten seconds after the clock starts against the steady rate, and phases against the wall.

    python benchmarks/steady.py [--seconds 40]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from measure import RESULTS, ROOT, quartiles, save

sys.path.insert(0, str(ROOT / "src"))
from hotloop.algos.dqn import DQNConfig, train
from hotloop.engine.vecenv import make_envs
from hotloop.envs.snake import snake
from hotloop.records.run import Run

FIRST = 10.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS / "steady.json")
    options = parser.parse_args()
    rows, shares = [], []
    for seed in range(options.runs):
        config = DQNConfig(seed=seed, max_steps=None, max_time=options.seconds, learning_starts=256, replay_ratio=1 / 64)
        with tempfile.TemporaryDirectory() as folder:
            run = Run.create(Path(folder) / "run", config={}, command=[], name="snake-dqn")
            session = train(make_envs(snake(features="flood"), config.num_envs, seed=seed), config, run)
            blocks = run.metrics()
        early = next(block for block in blocks if block["seconds"] >= FIRST)
        steady = (blocks[-1]["steps"] - early["steps"]) / (blocks[-1]["seconds"] - early["seconds"])
        share = early["steps"] / early["seconds"] / steady
        summed, wall = sum(session.watch.seconds().values()), session.watch.wall_seconds()
        shares.append(share)
        phases = session.watch.seconds()
        rows.append({"seed": seed, "first_over_steady": share, "steady_steps_per_second": steady, "phases": phases, "wall_seconds": wall})
        speed = f"first {FIRST:g} s at {100 * share:.1f} % of the steady {steady / 1e3:.0f} k steps/s"
        print(f"seed {seed}: {speed}; phases add up to {summed:.3f} of {wall:.3f} s")
    low, mid, high = quartiles(shares)
    print(f"first ten seconds: {100 * mid:.1f} % of the steady rate ({100 * low:.1f} … {100 * high:.1f}), asked: 97 %")
    save(options.out, {"asked": 0.97}, [*rows, {"median": mid}])


if __name__ == "__main__":
    main()
