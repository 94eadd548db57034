"""What timing the phases costs: the same training with the stopwatch's laps and with laps that do nothing, in turns.

    python benchmarks/overhead.py [--rounds 15] [--seconds 3]

Beside it, what that cost must be: the price of a lap, measured alone, times the laps of a step. The smaller the step, the dearer: one game is the worst case.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from measure import RESULTS, Worker, quartiles, save, take_turns

ASKED = 0.01


def price_of_a_lap() -> float:
    from hotloop.records.phases import STEP, Stopwatch

    watch, times = Stopwatch(), []
    for _ in range(9):
        began = time.perf_counter()
        for _ in range(100_000):
            watch.lap(STEP)
        times.append((time.perf_counter() - began) / 100_000)
    return quartiles(times)[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--out", type=Path, default=RESULTS / "overhead.json")
    options = parser.parse_args()
    lap, rows = price_of_a_lap(), []
    for preset, games, laps in (("snake-dqn", 256, 5), ("snake-laptop", 1, 3.5)):  # act step store sample learn; one game learns every fourth step
        workers = [Worker(f"timing {state}", "workers/overhead.py", state, preset, options.seconds) for state in ("on", "off")]
        rates = take_turns(workers, options.rounds)
        low, mid, high = quartiles([off / on - 1 for on, off in zip(rates["timing on"], rates["timing off"], strict=True)])
        reckoned = lap * laps * quartiles(rates["timing on"])[1] / games
        rows.append({"preset": preset, "cost": mid, "low": low, "high": high, "reckoned": reckoned, "lap_seconds": lap, "asked": ASKED})
        print(f"{preset}: timing costs {100 * mid:.2f} % ({100 * low:.2f} … {100 * high:.2f}), asked: at most {100 * ASKED:g} %; ", end="")
        print(f"reckoned from a lap of {lap * 1e9:.0f} ns: {100 * reckoned:.2f} %", flush=True)
        for worker in workers:
            worker.close()
    save(options.out, {}, rows)


if __name__ == "__main__":
    main()
