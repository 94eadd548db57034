"""Do two measurements of one machine agree? `hotloop limits` again and again in fresh processes: the spread of every roof that does not wait for a disk.

    python benchmarks/limits.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from measure import RESULTS, ROOT, quartiles, save

TIMES = 3
ASKED = 0.10  # the lab's own tolerance for a time beyond a roof: roofs must not differ by more from one run to the next


def record() -> dict:
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"HOTLOOP_CACHE": cache, "PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run([sys.executable, "-m", "hotloop", "limits", "--json"], capture_output=True, text=True, env=environment, check=True)
    return json.loads(done.stdout)


def main() -> None:
    records = [record() for _ in range(TIMES)]
    rows = []
    for figures in zip(*(each["figures"] for each in records)):
        first = figures[0]
        low, mid, high = quartiles([each["best"] for each in figures])
        rows.append({"group": first["group"], "name": first["name"], "at": first["at"], "unit": first["unit"], "low": low, "best": mid, "high": high})
        print(f"{first['group']:<11} {first['name']:<32} {' '.join(map(str, first['at'].values())):<42} {mid:.3g} {first['unit']} ({low:.3g} … {high:.3g})")
    alone = [row for row in rows if row["at"].get("threads", 1) == 1 and row["group"] in ("memory", "arithmetic", "calls")]
    agree = sum(row["high"] / row["low"] <= 1 + ASKED for row in alone)
    seconds = quartiles([each["seconds"] for each in records])[1]
    disturbed = sum(each["roofs"]["disturbed"] for each in records)
    print(f"{agree} of {len(alone)} figures of one thread agree within {ASKED:.0%}; {seconds:.0f} s each; the machine was busy in {disturbed} of {TIMES}")
    about = {"seconds": seconds, "agree": agree, "of": len(alone), "asked": ASKED, "busy": disturbed}
    save(RESULTS / "limits.json", about, rows)


if __name__ == "__main__":
    main()
