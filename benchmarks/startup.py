"""Import to first step: cold (no cache of compiled games) and warm, in fresh processes.

    python benchmarks/startup.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from measure import RESULTS, ROOT, quartiles, save

FIRST_STEP = """
import time; began = time.perf_counter()
from hotloop.algos.dqn import DQNConfig, train
from hotloop.engine.vecenv import make_envs
from hotloop.envs.snake import snake
envs = make_envs(snake(features="flood"), 256)
stepped = time.perf_counter() - began
train(envs, DQNConfig(max_steps=512, learning_starts=256))
print("@", stepped, time.perf_counter() - began)
"""


def first_step(cache: str) -> tuple[float, float]:
    environment = os.environ | {"HOTLOOP_CACHE": cache, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", FIRST_STEP], capture_output=True, text=True, env=environment, check=True)
    stepped, trained = next(line for line in done.stdout.splitlines() if line.startswith("@"))[1:].split()
    return float(stepped), float(trained)


def help_page() -> float:
    """Seconds until `hotloop --help` has answered, Python's own start included."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "hotloop", "--help"], capture_output=True, env=environment, check=True)
    return time.perf_counter() - began


def main() -> None:
    rows = []
    low, mid, high = quartiles([help_page() for _ in range(9)])
    rows.append({"help_seconds": mid, "low": low, "high": high})
    print(f"hotloop --help answers after {mid:.2f} s ({low:.2f} … {high:.2f})")
    cold, warm = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(first_step(cache))
            warm += [first_step(cache) for _ in range(3)]
    for name, times, asked in (("cold", cold, 20.0), ("warm", warm, 3.0)):
        stepped, trained = (quartiles([pair[k] for pair in times]) for k in (0, 1))
        rows.append({"cache": name, "import_to_games_ready": stepped[1], "import_to_first_update": trained[1], "asked": asked})
        print(f"{name}: games ready {stepped[1]:.2f} s after the first import, first updates made after {trained[1]:.2f} s, asked: {asked:g} s")
    save(RESULTS / "startup.json", {}, rows)


if __name__ == "__main__":
    main()
