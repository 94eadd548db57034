"""Stepping on one core: ours against PufferLib's C, Jumanji's JAX, EnvPool's C++ and plain Python, in turns, random actions, resets included.

    python benchmarks/stepping.py [--rounds 7]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from measure import RESULTS, Worker, quartiles, ratio, save, take_turns
from peers import python_of

CORE = "0"


def ours(name: str, env: str, num_envs: int, **settings: object) -> Worker:
    return Worker(name, "workers/step_hotloop.py", env, num_envs, json.dumps(settings), cores=CORE)


def theirs(name: str, peer: str | None, script: str, *args: object) -> Worker | None:
    python = python_of(peer) if peer else None
    if peer and python is None:
        print(f"{name}: {peer} is not installed here, so it is not measured")
        return None
    return Worker(name, f"workers/{script}", *args, cores=CORE, **({"python": python} if python else {}))


def comparisons() -> list[tuple[str, list[Worker | None], list[tuple[str, str, float]]]]:
    """(what, workers, [(ours, theirs, the ratio asked for)])"""
    snakes = []
    for vision in (1, 3, 5):
        size = (2 * vision + 1) ** 2
        us = [ours(f"hotloop snake, {size} bytes seen", "snake", 256, actions="absolute", features="window", vision=vision, rewards="plain")]
        if vision == 3:  # the nearest of PufferLib's windows sees fewer bytes than these 64
            us.append(ours("hotloop snake, 16 numbers", "snake", 256, features="compact", rewards="plain"))
        them = [
            theirs(f"PufferLib C snake, {size} bytes, a field each", "puffer", "step_puffer.py", vision, "solo"),
            theirs(f"PufferLib C snake, {size} bytes, one field", "puffer", "step_puffer.py", vision, "shared"),
        ]
        asked = [(mine.name, peer.name, 1.0) for mine in us for peer in them if peer is not None]
        snakes.append((f"Snake, {size} bytes seen", [*us, *them], asked))
    return [
        *snakes,
        (
            "Snake 12x12",
            [
                ours("hotloop snake 12x12, planes", "snake", 256, size=12, features="planes", rewards="plain"),
                theirs("Jumanji snake 12x12", "jax", "step_jumanji.py"),
            ],
            [("hotloop snake 12x12, planes", "Jumanji snake 12x12", 20.0)],
        ),
        (
            "Flood fill, three searches a step",
            [ours("hotloop, flood set", "snake", 256, features="flood"), theirs("Python flood fill", None, "step_python.py", "flood")],
            [("hotloop, flood set", "Python flood fill", 100.0)],
        ),
        (
            "Pictures 96x96",
            [ours("hotloop drift, pixel by pixel", "examples/drift.py", 64), theirs("EnvPool CarRacing", "jax", "step_envpool.py", "CarRacing-v3", 16)],
            [("hotloop drift, pixel by pixel", "EnvPool CarRacing", 10.0)],
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, default=RESULTS / "stepping.json")
    options = parser.parse_args()
    rows = []
    for what, workers, asked in comparisons():
        present = [worker for worker in workers if worker is not None]
        rates = take_turns(present, options.rounds)
        print(f"\n{what}")
        for name, values in rates.items():
            low, mid, high = quartiles(values)
            rows.append({"what": what, "name": name, "steps_per_second": mid, "low": low, "high": high})
            print(f"  {name:44s} {mid / 1e6:9.3f} M steps/s   ({low / 1e6:.3f} … {high / 1e6:.3f})")
        for us, them, wanted in asked:
            if them in rates:
                low, mid, high = ratio(rates, us, them)
                rows.append({"what": what, "ours": us, "theirs": them, "ratio": mid, "low": low, "high": high, "asked": wanted})
                print(f"  ratio to {them}: {mid:.2f} ({low:.2f} … {high:.2f}), asked: {wanted:g}")
        for worker in present:
            worker.close()
    save(options.out, {"cores": 1}, rows)


if __name__ == "__main__":
    main()
