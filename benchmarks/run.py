"""All claims, each a ratio with its peer beside it: python benchmarks/run.py [NAME …]

Installs the missing peers first (benchmarks/peers.py); results go to benchmarks/results/. A GPU's are measured where there is one.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CPU = ("stepping", "dqn", "time_to_score", "steady", "overhead", "memory", "startup", "profile_overhead", "profile_bounds", "count_pass")


def main() -> int:
    names = sys.argv[1:] or ["peers", *CPU, *(["gpu_stepping"] if shutil.which("nvidia-smi") else [])]
    failed = []
    for name in names:
        print(f"\n=== {name}", flush=True)
        if subprocess.run([sys.executable, str(HERE / f"{name}.py")]).returncode:
            failed.append(name)
    print(f"\nfailed: {', '.join(failed)}" if failed else "\nall measured")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
