"""Peak memory of the snake-laptop preset, beyond what importing torch takes.

    python benchmarks/memory.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import RESULTS, ROOT, save

PEAK = "import resource; print('@', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
TRAIN = "from hotloop.cli import main; main(['train', '--preset', 'snake-laptop', '--max-time', '20', '--quiet', '--output', {folder!r}]); "


def peak_mb(program: str) -> float:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", program + PEAK], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr)
    return float(next(line for line in done.stdout.splitlines() if line.startswith("@"))[1:])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        torch_alone, training = peak_mb("import torch; "), peak_mb(TRAIN.format(folder=str(Path(folder) / "run")))
    row = {"torch_mb": torch_alone, "training_mb": training, "beyond_mb": training - torch_alone, "asked_mb": 480}
    print(f"importing torch {torch_alone:.0f} MB; training snake-laptop {training:.0f} MB at most: {training - torch_alone:.0f} MB beyond, asked: at most 480")
    save(RESULTS / "memory.json", {}, [row])
    print(json.dumps(row))


if __name__ == "__main__":
    main()
