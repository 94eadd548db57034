"""Stepping on a GPU: Snake against JAX under the same rules, and frames drawn pixel by pixel.

    python benchmarks/gpu_stepping.py [--out FILE]     needs an NVIDIA GPU, torch, numba-cuda and jax

The same actions, drawn beforehand, for both; every step writes its observations, rewards and ends. JAX runs the rollout as one jit, ours as one
captured graph. Blocks alternate; medians and quartiles of the blocks are shown.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

import numpy as np
import torch
from measure import quartiles, save

from hotloop.engine.cuda import numba_cuda
from hotloop.engine.vecenv import Outcome, make_envs
from hotloop.envs.snake import snake

T, BLOCKS = 64, 9


def captured(games: int, env, actions: torch.Tensor):
    """T steps of our snake as one CUDA graph; every step has rows of its own."""
    envs = make_envs(env, games, seed=0, target="cuda")
    envs.reset()
    (shape,) = {tuple(box.shape) for box in env.parts.values()}
    dtype = next(iter(envs.obs.values())).dtype
    obs = torch.zeros((T, games, *shape), dtype=dtype, device="cuda")
    rewards = torch.zeros((T, games), device="cuda")
    ended, cut = (torch.zeros((T, games), dtype=torch.bool, device="cuda") for _ in range(2))
    name = next(iter(env.parts))
    stream = torch.cuda.Stream()

    def steps():
        for t in range(T):
            envs.step(actions[t], into=Outcome(rewards[t], ended[t], cut[t]), obs={name: obs[t]})

    with torch.cuda.stream(stream):
        steps()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        steps()

    def block(repeats, kept=(envs, obs, steps)):  # a graph knows addresses only: what it uses must stay alive
        for _ in range(repeats):
            graph.replay()
        torch.cuda.synchronize()

    return block, envs, rewards, ended, cut


def plain(games: int, env, actions: torch.Tensor):
    envs = make_envs(env, games, seed=0, target="cuda")
    envs.reset()

    def block(repeats):
        for _ in range(repeats):
            for t in range(T):
                envs.step(actions[t])
        torch.cuda.synchronize()

    return block


def jax_snake(games: int, actions: np.ndarray, max_steps: int):
    import jax
    from workers import jax_snake as peer

    acts, held = jax.numpy.asarray(actions), {"states": peer.begin(games), "key": jax.random.PRNGKey(1)}

    def block(repeats):
        for k in range(repeats):
            held["states"], obs, rewards, ended, over = peer.rollout(held["states"], acts, jax.random.fold_in(held["key"], k), max_steps)
        jax.block_until_ready((held["states"], obs, rewards, ended, over))
        held["last"] = (np.asarray(rewards).mean(), np.asarray(ended).mean())

    return block, held


def timed(block, steps: int, seconds: float = 0.25) -> float:
    """Steps a second of one block of about `seconds`."""
    began = time.perf_counter()
    block(1)
    repeats = max(1, int(seconds / max(time.perf_counter() - began, 1e-6)))
    began = time.perf_counter()
    block(repeats)
    return steps * repeats / (time.perf_counter() - began)


def interleaved(makers: dict, steps: int) -> dict:
    for block in makers.values():
        block(2)
    rates: dict[str, list[float]] = {name: [] for name in makers}
    for _ in range(BLOCKS):
        for name, block in makers.items():
            rates[name].append(timed(block, steps))
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--games", type=int, nargs="+", default=[4096, 65536])
    out = parser.parse_args()
    numba_cuda()
    rows = []
    for games in out.games:
        env = snake(features="compact", rewards="plain", max_steps=500)
        actions = np.random.default_rng(0).integers(0, 3, (T, games)).astype(np.int32)
        on_device = torch.from_numpy(actions).cuda()
        ours, envs, rewards, ended, _ = captured(games, env, on_device)
        theirs, held = jax_snake(games, actions, 500)
        rates = interleaved({"hotloop, captured graph": ours, "hotloop, plain launches": plain(games, env, on_device), "JAX, one jit": theirs}, T * games)
        board = captured(games, snake(features="board", rewards="plain", max_steps=500), on_device)[0]
        rates |= interleaved({"hotloop, board as bytes": board}, T * games)
        mine = float(rewards.mean()), float(ended.float().mean())
        print(f"snake 10x10, 16 features, {games} games; mean reward and share of steps that end: {mine}, JAX's {tuple(map(float, held['last']))}")
        for name, values in rates.items():
            low, mid, high = quartiles(values)
            rows.append({"what": "snake", "games": games, "name": name, "steps_per_second": mid, "low": low, "high": high})
            print(f"  {name:26s} {mid / 1e6:9.1f} M steps/s   ({low / 1e6:.1f} … {high / 1e6:.1f})")
        ratio = quartiles(rates["hotloop, captured graph"])[1] / quartiles(rates["JAX, one jit"])[1]
        rows.append({"what": "ratio to JAX", "games": games, "ratio": ratio})
        print(f"  ratio to JAX: {ratio:.1f}", flush=True)
    rows += pictures()
    if out.out:
        save(out.out, {"torch": torch.__version__, "gpu": torch.cuda.get_device_name()}, rows)
    print(json.dumps(rows[-1]))


def pictures() -> list[dict]:
    sys.path.insert(0, str(ROOT / "examples"))
    from drift import drift

    rows = []
    for games in (1024, 65536):
        env = drift()
        actions = torch.from_numpy(np.random.default_rng(0).integers(0, env.action.n, (T, games)).astype(np.int32)).cuda()
        envs = make_envs(env, games, target="cuda")
        envs.reset()

        def block(repeats, envs=envs, actions=actions):
            for _ in range(repeats):
                for t in range(T):
                    envs.step(actions[t])
            torch.cuda.synchronize()

        low, mid, high = quartiles(interleaved({"pictures": block}, T * games)["pictures"])
        rows.append({"what": "pictures 96x96", "games": games, "frames_per_second": mid, "low": low, "high": high})
        print(f"pictures 96x96, {games} games: {mid / 1e6:.2f} M frames/s ({low / 1e6:.2f} … {high / 1e6:.2f})", flush=True)
    return rows


if __name__ == "__main__":
    main()
