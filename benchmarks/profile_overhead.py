"""What `hotloop profile` costs: the same script bare and profiled, in turns, in fresh processes; Stable-Baselines3's DQN on CartPole, whose steps are tiny.

    python benchmarks/profile_overhead.py [--rounds 9] [--steps 30000]

The script times its own second half: by then the lab has looked around and only the probes are left. Beside it, what the tool says it cost, and bare
against bare.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import RESULTS, ROOT, quartiles, save

SCRIPT = ROOT / "benchmarks" / "workers" / "profiled_sb3.py"
ASKED = 0.03


def rate(steps: int, folder: Path | None) -> float:
    """Steps a second of the second half; profiled where there is a folder."""
    how = [] if folder is None else ["-m", "hotloop", "profile", "--output", str(folder)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore", "PYTHONHASHSEED": "0"}  # or every process has its own layout
    done = subprocess.run([sys.executable, *how, str(SCRIPT), str(steps)], capture_output=True, text=True, env=environment, check=True)
    return float(next(line for line in done.stdout.splitlines() if line.startswith("@"))[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=30_000)
    options = parser.parse_args()
    costs, control, told = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for k in range(options.rounds):
            bare, profiled, again = rate(options.steps, None), rate(options.steps, Path(folder) / str(k)), rate(options.steps, None)
            costs.append((bare + again) / 2 / profiled - 1)
            control.append(bare / again - 1)
            told.append(json.loads((Path(folder) / str(k) / "report.json").read_text())["overhead_share"])
            print(f"bare {bare:.0f} and {again:.0f}, profiled {profiled:.0f} steps/s", flush=True)
    (low, mid, high), (lowest, middle, highest) = quartiles(costs), quartiles(control)
    print(f"profiling costs {mid:.1%} ({low:.1%} … {high:.1%}), asked: at most {ASKED:.0%}; bare against bare {middle:.1%} ({lowest:.1%} … {highest:.1%})")
    print(f"the tool says {quartiles(told)[1]:.1%} of the whole run")
    row = {"cost": mid, "low": low, "high": high, "control": middle, "control_low": lowest, "control_high": highest, "told": quartiles(told)[1], "asked": ASKED}
    save(RESULTS / "profile_overhead.json", {"steps": options.steps}, [row])


if __name__ == "__main__":
    main()
