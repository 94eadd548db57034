"""The peers' own virtual environments, outside ours: python benchmarks/peers.py builds what is missing, in .bench/.

PufferLib does not install as published; where somebody has built it by hand, put (or link) its environment at .bench/puffer, and it is measured.
"""

from __future__ import annotations

import subprocess
import sys

from measure import PEERS

OURS = ["numba", "scipy", "psutil", "tyro", "rich", "matplotlib", "pillow", "threadpoolctl", "gymnasium"]  # so that a peer can step our envs
RECIPES = {
    "sb3": [["torch==2.13.0"], ["stable-baselines3==2.9.2", *OURS]],
    "sbx": [["torch==2.13.0"], ["sbx-rl==0.28.0", *OURS]],
    "jax": [["jax", "jumanji==1.1.2", "envpool==1.2.5", *OURS]],
}
HAND_MADE = ("puffer",)


def python_of(peer: str) -> str | None:
    """A peer's interpreter, or None where it is not installed."""
    path = PEERS / peer / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    return str(path) if path.exists() else None


def build() -> None:
    for peer, steps in RECIPES.items():
        if python_of(peer):
            continue
        print(f"installing {peer} in {PEERS / peer}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(PEERS / peer)], check=True)
        for packages in steps:
            subprocess.run([python_of(peer) or "", "-m", "pip", "install", "-q", *packages], check=True)
    for peer in (*RECIPES, *HAND_MADE):
        print(f"{peer}: {python_of(peer) or 'not installed; its rows will say so'}")


if __name__ == "__main__":
    build()
