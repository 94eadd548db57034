"""DQN end to end on 256 games, learning included: ours against Stable-Baselines3 and sbx at the same network, batch and updates per transition.

    python benchmarks/dqn.py [--rounds 5]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from measure import RESULTS, Worker, quartiles, ratio, save, take_turns
from peers import python_of

BATCH = 64
ASKED = {"sb3 on a plain Python Snake": 8.0, "sb3 on our VecEnv": 3.0, "sbx on a plain Python Snake": None, "sbx on our VecEnv": None}


def contenders(updates: int) -> list[Worker]:
    workers = [Worker("hotloop", "workers/dqn_hotloop.py", updates, BATCH), Worker("hotloop, torch form", "workers/dqn_hotloop.py", updates, BATCH, "plain")]
    for library, games in (("sb3", "python"), ("sb3", "hotloop"), ("sbx", "python"), ("sbx", "hotloop")):
        name = f"{library} on {'a plain Python Snake' if games == 'python' else 'our VecEnv'}"
        python = python_of(library)
        if python is None:
            print(f"{name}: {library} is not installed here, so it is not measured")
            continue
        workers.append(Worker(name, "workers/dqn_sb3.py", library, games, updates, BATCH, python=python))
    return workers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS / "dqn.json")
    options = parser.parse_args()
    rows = []
    for updates in (1, 8):
        workers = contenders(updates)
        work = {worker.name: worker.turn() for worker in workers}
        rates = take_turns(workers, options.rounds)
        print(f"\nDQN, 256 games, network 128-128, batch {BATCH}, {updates} update{'s' * (updates > 1)} for 256 transitions")
        for name, values in rates.items():
            low, mid, high = quartiles(values)
            done = work[name]["updates"] / work[name]["steps"] * 256
            rows.append({"updates": updates, "name": name, "transitions_per_second": mid, "low": low, "high": high, "updates_per_256": done})
            print(f"  {name:30s} {mid / 1e3:9.1f} k transitions/s   ({low / 1e3:.1f} … {high / 1e3:.1f})   {done:.2f} updates per 256")
        for them, asked in ASKED.items():
            if them in rates:
                low, mid, high = ratio(rates, "hotloop", them)
                rows.append({"updates": updates, "theirs": them, "ratio": mid, "low": low, "high": high, "asked": asked})
                print(f"  ratio to {them}: {mid:.1f} ({low:.1f} … {high:.1f})" + (f", asked: {asked:g}" if asked else ""))
        for worker in workers:
            worker.close()
    save(options.out, {}, rows)


if __name__ == "__main__":
    main()
