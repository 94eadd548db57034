"""Seconds of training to a mean score of 10 and of 20 on 10×10: ours against SB3's DQN at its best of three settings.

    python benchmarks/time_to_score.py [--seeds 5] [--limit 90]

The same env, features (flood), network and learning rate. SB3's settings are tried once each; the best to 20 (then to 10) plays all seeds, in turns with ours.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from measure import RESULTS, Worker, quartiles, save
from peers import python_of

SETTINGS = ("256 games, 4 updates a row", "32 games, 2 updates a row", "4 games, 1 update a row of batch 128")


def shown(seconds: list[float | None], limit: float) -> tuple[float, float, float]:
    return quartiles([limit if value is None else value for value in seconds])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=90.0)
    parser.add_argument("--out", type=Path, default=RESULTS / "time_to_score.json")
    options = parser.parse_args()
    rows, python = [], python_of("sb3")
    if python is None:
        raise SystemExit("Stable-Baselines3 is not installed here; try: make bench")
    trials = {}
    for setting in SETTINGS:
        worker = Worker(setting, "workers/score_sb3.py", setting, options.limit, python=python)
        trials[setting] = worker.turn()
        worker.close()
        rows.append({"what": "trial", "setting": setting, **trials[setting]})
        print(f"SB3, {setting}: {trials[setting]}", flush=True)
    best = min(trials, key=lambda s: [trials[s][f"seconds_to_{goal}"] or math.inf for goal in (20, 10)])
    ours, theirs = Worker("hotloop", "workers/score_hotloop.py"), Worker(best, "workers/score_sb3.py", best, options.limit, python=python)
    answers = [(ours.turn(), theirs.turn()) for _ in range(options.seeds)]
    for goal in (10, 20):
        mine, peers = ([pair[k][f"seconds_to_{goal}"] for pair in answers] for k in (0, 1))
        (low, mid, high), (peer_low, peer_mid, peer_high) = shown(mine, 60.0), shown(peers, options.limit)
        missed = sum(value is None for value in peers)
        rows.append({"goal": goal, "hotloop": mine, "sb3": peers, "setting": best, "ratio": peer_mid / mid})
        print(f"mean score {goal}: hotloop {mid:.2f} s ({low:.2f} … {high:.2f}), SB3 ({best}) {peer_mid:.1f} s ({peer_low:.1f} … {peer_high:.1f})", end="")
        print(f", {missed} of {options.seeds} not within {options.limit:g} s" * bool(missed), f"ratio {peer_mid / mid:.1f}")
    save(options.out, {"seeds": options.seeds}, rows)


if __name__ == "__main__":
    main()
