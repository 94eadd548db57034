"""Measuring: workers that take turns, medians with quartiles, and results kept with the machine they came from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.pop("OPENBLAS_CORETYPE", None)  # a shell that asks for an older processor's kernels would slow down whoever multiplies with OpenBLAS

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PEERS = ROOT / ".bench"  # one virtual environment a peer; see peers.py


def quartiles(values: list[float]) -> tuple[float, float, float]:
    low, mid, high = np.percentile(values, [25, 50, 75])
    return float(low), float(mid), float(high)


def save(path: Path, about: dict, rows: list[dict]) -> None:
    """Results beside what they were measured on."""
    sys.path.insert(0, str(ROOT / "src"))
    from hotloop.records.machine import machine

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"when": time.strftime("%Y-%m-%d"), "machine": machine(), **about, "rows": rows}, indent=1) + "\n")


class Worker:
    """One contender in a process of its own, waiting for its turn; a turn is a block of work it times itself."""

    def __init__(self, name: str, script: str, *args: Any, python: str | Path = sys.executable, cores: str | None = None) -> None:
        self.name = name
        environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'benchmarks'}", "PYTHONWARNINGS": "ignore"}
        command = [str(python), str(ROOT / "benchmarks" / script), *map(str, args)]
        if cores is not None and sys.platform == "linux":
            command = ["taskset", "-c", cores, *command]
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 - peers greet and warn; it is shown only where one breaks down
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._complaints}
        self._process = subprocess.Popen(command, **pipes, text=True, env=environment, cwd=tempfile.gettempdir())
        self.about = self._answer()

    def turn(self) -> dict[str, float]:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _answer(self) -> dict:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("@"):
                return json.loads(line[1:])
        self._complaints.seek(0)
        raise SystemExit(f"{self.name} stopped without an answer (exit status {self._process.wait()}):\n{self._complaints.read()}")


def serve(block: Callable[[], dict[str, float]], **about: Any) -> None:
    """The worker's side: say that all is set up, then play one block a line."""
    print("@" + json.dumps(about), flush=True)
    for _ in sys.stdin:
        print("@" + json.dumps(block()), flush=True)


def take_turns(workers: list[Worker], rounds: int, unit: str = "steps") -> dict[str, list[float]]:
    """Rates of every worker, `rounds` blocks each, in turn; the first round is not counted."""
    rates: dict[str, list[float]] = {worker.name: [] for worker in workers}
    for k in range(rounds + 1):
        for worker in workers:
            answer = worker.turn()
            if k:
                rates[worker.name].append(answer[unit] / answer["seconds"])
    return rates


def ratio(rates: dict[str, list[float]], ours: str, theirs: str) -> tuple[float, float, float]:
    """Ours over theirs, block by block: quartiles of the paired ratios."""
    return quartiles([a / b for a, b in zip(rates[ours], rates[theirs], strict=True)])
