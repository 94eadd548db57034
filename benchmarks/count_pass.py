"""What the count pass costs while its window is open: blocks of env steps, bare and counted in turns, in one process, after learning has begun.

    python benchmarks/count_pass.py [--blocks 12] [--steps 200]

The clock is the thread's own, so that whatever else the machine does is left out. Our own `examples/slow_dqn.py`, and Stable-Baselines3's DQN on CartPole.
"""

from __future__ import annotations

import argparse
import os
import runpy
import subprocess
import sys
import time

from measure import RESULTS, ROOT, quartiles, save

SCRIPTS = (ROOT / "examples" / "slow_dqn.py", ROOT / "benchmarks" / "workers" / "profiled_sb3.py")
ASKED = 5.0
BEGIN = 1500  # env steps; by then both learn


class Blocks:
    """Stands around the env's step and opens a window in every other block."""

    def __init__(self, blocks: int, steps: int) -> None:
        self.blocks, self.steps, self.made = blocks, steps, 0
        self.seconds: list[float] = []
        self.counting, self.since = None, 0.0

    def stand_around(self, cls: type) -> None:
        original = cls.step

        def step(env, action):
            result = original(env, action)
            self.made += 1
            if self.made >= BEGIN and (self.made - BEGIN) % self.steps == 0:
                self.turn()
            return result

        cls.step = step

    def turn(self) -> None:
        from hotloop.lab.counting.window import Counting
        from hotloop.lab.inside.events import NOWHERE

        now = time.thread_time()
        if self.made > BEGIN:
            self.seconds.append(now - self.since)
        if self.counting is not None:
            counted, self.counting = self.counting.close(), None
            if not counted.work or counted.blind:
                raise SystemExit(f"expected counts, found {counted.work} ({counted.blind})")
        elif len(self.seconds) < 2 * self.blocks:
            self.counting = Counting(lambda: NOWHERE, sys.exit) if self.made > BEGIN else None
            if self.counting is not None:
                self.counting.open()
        if len(self.seconds) >= 2 * self.blocks:
            print("@", *self.seconds, flush=True)
            os._exit(0)
        self.since = time.thread_time()


def work(script: str, blocks: int, steps: int) -> None:
    import torch
    from gymnasium.envs.classic_control import CartPoleEnv

    torch.set_num_threads(1)
    Blocks(blocks, steps).stand_around(CartPoleEnv)
    sys.argv = [script, "1000000"]
    runpy.run_path(script, run_name="__main__")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--work")
    options = parser.parse_args()
    if options.work:
        work(options.work, options.blocks, options.steps)
        return
    rows = []
    for script in SCRIPTS:
        command = [sys.executable, __file__, "--work", str(script), "--blocks", str(options.blocks), "--steps", str(options.steps)]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        seconds = [float(word) for word in next(line for line in done.stdout.splitlines() if line.startswith("@")).split()[1:]]
        bare, counted = seconds[0::2], seconds[1::2]
        low, mid, high = quartiles([with_count / without for with_count, without in zip(counted, bare)])
        microseconds = 1e6 * quartiles(bare)[1] / options.steps
        print(f"{script.name}: {microseconds:.0f} µs a step bare, {mid:.2f}× counted ({low:.2f} … {high:.2f}), asked: at most {ASKED}")
        rows.append({"script": script.name, "ratio": mid, "low": low, "high": high, "asked": ASKED})
    save(RESULTS / "count_pass.json", {"blocks": options.blocks, "steps": options.steps}, rows)


if __name__ == "__main__":
    main()
