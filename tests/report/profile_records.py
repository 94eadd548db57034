"""Made-up records of profiles: a rich one of a slow DQN, with everything a record can hold, and one with three samples that can be counted by hand."""

from __future__ import annotations

import random
from typing import Any

from hotloop.lab.account import account
from hotloop.records.phases import ALL_PHASES, PHASES

SECOND = 10**9
SCRIPT, TORCH, GYM = "/home/me/it's mine/train.py", "/usr/lib/python3.11/site-packages/torch/", "/usr/lib/python3.11/site-packages/gymnasium/"
MEASURED = {
    "seconds": 60.0,
    "ended_by": "budget",
    "inside": {"step": 6 * SECOND, "act": 9 * SECOND, "learn": 27 * SECOND, "sample": 5 * SECOND, "store": SECOND // 2, "reset": SECOND // 4, "log": SECOND},
    "calls": {"step": 40_000, "act": 40_000, "learn": 9_000, "sample": 9_000, "store": 40_000, "reset": 310, "log": 310},
    "gaps": {"start>step": 4 * SECOND, "act>step": 2 * SECOND, "step>store": 3 * SECOND},
    "startup": {"inside": {}, "calls": {}, "gaps": {"start>step": 4 * SECOND}},
    "looked": SECOND,
    "probe_ns": 2500.0,
    "env_steps": 160_000,
    "vector_steps": 40_000,
    "episodes": 1240,
    "updates": {"Adam 1": 9_000, "Adam 2": 4_500},
    "first_update_at": 16_000,
    "batches": {"128": 200, "4": 3},
    "where": [
        ["learn", SCRIPT, 88, "Agent.learn"],
        ["learn", TORCH + "_tensor.py", 566, "Tensor.backward"],
        ["step", GYM + "vector/sync_vector_env.py", 201, "SyncVectorEnv.step"],
        ["act", SCRIPT, 61, "Agent.act.<locals>.<lambda>"],
    ],
}
MACHINE = {"cpu": "Imaginary 9000", "cores": 2, "threads": 4, "memory_mb": 24106, "gpus": [], "system": "Linux", "python": "3.11.7"}
MACHINE |= {"packages": {"hotloop": "0.1.0", "numpy": "2.4.6", "torch": "2.13.0"}, "environment": {"OMP_NUM_THREADS": "2"}}


def plain_record() -> dict[str, Any]:
    """What was always recorded: no samples, no blocks, nothing that came later."""
    record = account(MEASURED, command=["train.py", "--env", "Cart<Pole>-v1"], machine=MACHINE, exit_status=0)
    return record | {"blocks": None}


def tiny_samples() -> dict[str, Any]:
    """main → learn → backward, where learn calls itself once: nine looks at learning, for its 27 s, and one at the glue, for its 3 s."""
    frames = [
        {"function": "main", "file": "/me/a.py", "line": 1},
        {"function": "learn", "file": "/me/a.py", "line": 10},
        {"function": "backward", "file": "/site-packages/torch/b.py", "line": 5},
    ]
    stacks = [
        {"phase": "learn", "stack": [[0, 3], [1, 12], [1, 13], [2, 7]], "ticks": 6},
        {"phase": "learn", "stack": [[0, 3], [1, 12]], "ticks": 3},
        {"phase": "glue", "stack": [[0, 4]], "ticks": 1},
    ]
    return {"ticks": 10, "dropped": 0, "seconds_each": 6.0, "frames": frames, "stacks": stacks}


def rich_record(seed: int = 7, looks: int = 400, rows: int = 60) -> dict[str, Any]:
    """Everything there can be, with names that a careless page would trip over. (12 000 looks and 240 rows are as many as in a run of a minute.)"""
    chance, record = random.Random(seed), plain_record()
    for phase in record["phases"]:
        phase["roof"] = roof(phase)
    drift = {"verdict": "cost-grows-with-buffer", "where": "sample", "blocks": []}
    drift |= {"explanation": "one sample took 210 µs while 20 k transitions were stored and 890 µs with 160 k"}
    drift |= {"evidence": {"change_points": [42_000.0, 90_000.0]}}
    drift |= {"also": [{"verdict": "learning-started", "where": None, "explanation": "from step 16 k on an update follows every 16 steps"}]}
    memory = {"rss_mb_first": 430.0, "rss_mb_last": 812.5, "rss_mb_per_1000": 2.31, "replay_mb_per_1000": 2.0, "unexplained_mb_per_1000": 0.31}
    parts = [{"name": "obs", "type": "float64", "shape": [84, 84], "bytes": 56_448, "fits": "uint8 / 255"}]
    parts += [{"name": "action", "type": "int", "shape": [], "bytes": 28, "fits": None}]
    replay = {"kind": "deque", "entries": 2019, "capacity": 100_000, "bytes_each": 113_024.4, "parts": parts}
    memory |= {"heap_blocks_per_1000": None, "replay": replay | {"kept_twice": {"after": "next_obs", "before": "obs", "share": 0.98}}}
    record |= {"blocks": blocks(rows), "samples": samples(chance, looks), "timeline": timeline(chance), "counts": counts(), "drift": drift, "memory": memory}
    return record


def roof(phase: dict[str, Any]) -> dict[str, Any] | None:
    shares = {"learn": (0.31, "dispatch"), "act": (0.12, "dispatch"), "step": (0.64, "interpreter"), "sample": (0.05, "copy"), "store": (1.3, "interpreter")}
    if phase["name"] not in shares:
        return None
    share, binds = shares[phase["name"]]
    roofs = dict.fromkeys(("dispatch", "interpreter", "arithmetic", "copy"), 0.1 * share * phase["seconds"])
    return {"binds": binds, "attainable_seconds": share * phase["seconds"], "roofs": roofs | {binds: share * phase["seconds"]}}


def blocks(rows: int) -> dict[str, Any]:
    """A run whose learning starts after a sixth and whose sampling becomes dearer."""
    columns = ["seconds", "env_steps", "vector_steps", "updates", "episodes", "rss_mb", "looking_seconds"]
    columns += [f"{phase}_seconds" for phase in ALL_PHASES] + [f"{phase}_calls" for phase in PHASES]
    sums = dict.fromkeys(columns, 0.0) | {"seconds": 4.0, "rss_mb": 430.0, "glue_seconds": 4.0}
    found = []
    for row in range(rows):
        found.append([round(sums[name], 6) for name in columns])
        learning, dear = row > rows // 10, 1 + 4 * row / rows
        speeds = {"act": 1.0, "step": 0.7, "store": 0.06, "reset": 0.03, "glue": 0.3, "log": 0.1}
        speeds |= {"learn": 3.0, "sample": 0.3 * dear} if learning else {}
        whole = sum(speeds.values())
        seconds = 56.0 / rows
        for phase, weight in speeds.items():
            sums[f"{phase}_seconds"] += seconds * weight / whole
        sums["seconds"] += seconds
        steps = 3000 * seconds * 2.2 / whole * (4 if not learning else 1)
        sums["env_steps"] += round(steps)
        sums["vector_steps"] += round(steps / 4)
        sums["updates"] += round(steps / 16) if learning else 0
        sums["episodes"] += round(steps / 120)
        sums["rss_mb"] += 1.6
    return {"columns": columns, "rows": found}


PATHS = {
    "learn": [
        [("Agent.learn", SCRIPT, 88), ("Tensor.backward", TORCH + "_tensor.py", 566), ("_engine_run_backward", TORCH + "autograd/graph.py", 855)],
        [("Agent.learn", SCRIPT, 88), ("Adam.step", TORCH + "optim/adam.py", 210), ("_single_tensor_adam", TORCH + "optim/adam.py", 340)],
        [("Agent.learn", SCRIPT, 88), ("Module._call_impl", TORCH + "nn/modules/module.py", 1770), ("Linear.forward", TORCH + "nn/modules/linear.py", 114)],
        [("Agent.learn", SCRIPT, 88), ("Agent.learn.<locals>.<listcomp>", SCRIPT, 93)],
        [("Agent.learn", SCRIPT, 88), ('</script><script>alert("x")</script>', SCRIPT, 97)],
    ],
    "act": [[("Agent.act", SCRIPT, 61), ("Module._call_impl", TORCH + "nn/modules/module.py", 1770), ("Linear.forward", TORCH + "nn/modules/linear.py", 114)]],
    "step": [[("SyncVectorEnv.step", GYM + "vector/sync_vector_env.py", 201), ("CartPoleEnv.step", GYM + "envs/classic_control/cartpole.py", 130)]],
    "sample": [[("Replay.sample", SCRIPT, 30), ("Random.sample", "/usr/lib/python3.11/random.py", 385)], [("Replay.sample", SCRIPT, 30)]],
    "glue": [[("Agent.act.<locals>.<lambda>", SCRIPT, 66)], []],
    "start-up": [[("_find_and_load", "<frozen importlib._bootstrap>", 1165), ("<module>", TORCH + "__init__.py", 1)]],
}
WEIGHTS = {"learn": 27, "act": 11, "step": 6, "sample": 5, "glue": 4, "start-up": 4}


def samples(chance: random.Random, looks: int) -> dict[str, Any]:
    frames: dict[tuple[str, str, int], int] = {}
    stacks: dict[tuple[str, tuple[tuple[int, int], ...]], int] = {}
    for phase in chance.choices(list(WEIGHTS), list(WEIGHTS.values()), k=looks):
        trunk = [("<module>", SCRIPT, 1)] if phase == "start-up" else [("<module>", SCRIPT, 1), ("main", SCRIPT, 120), ("train", SCRIPT, 101)]
        path = trunk + PATHS[phase][min(int(chance.expovariate(0.9)), len(PATHS[phase]) - 1)]
        deeper = [(f"kernel_{chance.randrange(60)}", TORCH + f"ops{chance.randrange(5)}.py", 7) for _ in range(chance.randrange(4) if len(path) > 4 else 0)]
        stack = tuple((frames.setdefault(frame, len(frames)), frame[2] + int(chance.expovariate(0.5)) + 1) for frame in path + deeper)
        stacks[phase, stack] = stacks.get((phase, stack), 0) + 1
    return {
        "ticks": looks,
        "dropped": 0,
        "seconds_each": 60.0 / looks,
        "frames": [{"function": function, "file": file, "line": line} for function, file, line in frames],
        "stacks": [{"phase": phase, "stack": [list(place) for place in stack], "ticks": ticks} for (phase, stack), ticks in stacks.items()],
    }


def timeline(chance: random.Random) -> dict[str, Any]:
    """Two windows: acting and stepping only, then with an update at every fourth step, whose sampling stands within learning."""
    return {"windows": [window(chance, 5.0, learning=False), window(chance, 40.0, learning=True)]}


def window(chance: random.Random, now: float, *, learning: bool) -> dict[str, Any]:
    start, events = now, list[list[Any]]()
    for step in range(40):
        for phase, usual in (("act", 2e-4), ("step", 1.5e-4), ("store", 1e-5)):
            seconds = usual * (0.8 + 0.4 * chance.random())
            events.append([phase, now, seconds, 0])
            now += seconds + 5e-6
        if learning and step % 4 == 3:
            seconds = 3e-3 * (0.9 + 0.2 * chance.random())
            events += [["learn", now, seconds, 0], ["sample", now + 1e-5, 4e-4, 1]]
            now += seconds + 5e-6
    return {"start_seconds": start, "events": events}


def counts() -> list[dict[str, Any]]:
    planted = [("builtin", "len", 70, "act", "env step", 9.0, 1_440_000, ""), ("sync", "item", 66, "act", "vector step", 12.0, 480_000, "3 × num_envs")]
    planted += [("sync", "numpy", 64, "act", "vector step", 4.0, 160_000, "num_envs"), ("python", "Replay.push", 108, "store", "env step", 1.0, 160_000, "")]
    planted += [("tensor", "FloatTensor", 92, "learn", "update", 5.0, 45_000, ""), ("copy", "deepcopy", 140, "sync", "episode", 0.5, 620, "")]
    where = {"file": SCRIPT, "function": "Agent.act.<locals>.<lambda>"}
    return [
        {"kind": kind, "what": what, "line": line, "phase": phase, "per": per, "times": times, "calls": calls, "matches": matches or None}
        | where
        | {"through": "Batch.stack" if what == "FloatTensor" else ""}
        for kind, what, line, phase, per, times, calls, matches in planted
    ]
