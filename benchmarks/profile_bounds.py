"""What `hotloop profile` promises besides its price: when the script begins, when the report is there, and how much memory the lab takes.

    python benchmarks/profile_bounds.py [--budget 60] [--rounds 5]

Beginning: from the command to the script's first line, bare and profiled, in turns. The report: a script that never ends, stopped by the budget. Memory: the
most the script's process ever held, profiled and bare for as long, and our own process beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil
from measure import RESULTS, ROOT, quartiles, save

SCRIPT = ROOT / "benchmarks" / "workers" / "profiled_forever.py"
ASKED = {"begins_after_seconds": 1.0, "report_within_seconds": 75.0, "memory_mb": 150.0}


def start(folder: Path | None, *flags: str, seconds: float | None = None) -> subprocess.Popen:
    how = [] if folder is None else ["-m", "hotloop", "profile", "--output", str(folder), *flags]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore"}
    arguments = [] if seconds is None else [str(seconds)]
    return subprocess.Popen([sys.executable, *how, str(SCRIPT), *arguments], stdout=subprocess.PIPE, text=True, env=environment)


def told(output: str, word: str) -> list[float]:
    return [float(number) for line in output.splitlines() if line.startswith(word) for number in line.split()[1:]]


def beginning(folder: Path | None) -> float:
    """Seconds from the command to the script's first line."""
    began = time.time()
    process = start(folder, seconds=0.0)
    output, _ = process.communicate()
    return told(output, "@began")[0] - began


def most_of_ours(process: subprocess.Popen, seen: list[float]) -> None:
    """The most memory our own process held, in megabytes, while it lived."""
    try:
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            seen.append(watched.memory_info().rss / 2**20)
            time.sleep(0.05)
    except psutil.Error:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = [(beginning(None), beginning(folder / str(k))) for k in range(options.rounds)]
        later = quartiles([profiled - bare for bare, profiled in pairs])
        begins = quartiles([profiled for _, profiled in pairs])
        print(f"the script begins {begins[1]:.2f} s after the command ({later[1]:.2f} s later than bare), asked: within 1 s", flush=True)

        began, ours = time.monotonic(), list[float]()
        process = start(folder / "long", "--budget", str(options.budget))
        watcher = threading.Thread(target=most_of_ours, args=(process, ours))
        watcher.start()
        output, _ = process.communicate()
        took = time.monotonic() - began
        watcher.join()
        record = json.loads((folder / "long" / "report.json").read_text())
        rows = len(record["blocks"]["rows"])
        print(f"a budget of {options.budget:g} s: report after {took:.1f} s, ended by {record['ended_by']}, {rows} rows of blocks", flush=True)

        held, steps = told(output, "@ended")
        bare_output, _ = start(None, seconds=record["wall_seconds"]).communicate()
        bare_held, bare_steps = told(bare_output, "@ended")
        lab = (held - bare_held) / 1024
        print(f"memory: {lab:.0f} MB more in the script's process ({held / 1024:.0f} against {bare_held / 1024:.0f}), {max(ours):.0f} MB in ours; asked: 150")
    row = {"begins_after_seconds": begins[1], "later_than_bare_seconds": later[1], "budget": options.budget, "report_after_seconds": took}
    row |= {"lab_mb_in_the_script": lab, "lab_mb_beside_it": max(ours), "steps": steps, "bare_steps": bare_steps, "asked": ASKED}
    save(RESULTS / "profile_bounds.json", {}, [row])


if __name__ == "__main__":
    main()
