"""The cuda target: on a GPU where there is one, and everywhere else as Python under Numba's simulator, in a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from rich_games import everything, picture
from sick_games import well

from hotloop.algos.dqn import DQNConfig, train
from hotloop.engine.checkpoint import load_checkpoint
from hotloop.engine.cuda import NoGpu, is_simulated, numba_cuda
from hotloop.engine.replay import Replay
from hotloop.engine.trial import Trial, side_by_side
from hotloop.engine.vecenv import Outcome, make_envs
from hotloop.envs import make_env
from hotloop.envs.catch import catch
from hotloop.records.run import Run

on_cuda = pytest.mark.gpu


def test_what_is_asked_of_a_gpu_holds_under_the_simulator():
    run = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider", str(Path(__file__))]
    ran = subprocess.run(run, capture_output=True, text=True, env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"})
    assert ran.returncode == 0, ran.stdout[-4000:]
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert passed and int(passed[1]) >= 20, ran.stdout[-1000:]  # not all of them skipped


@pytest.fixture(autouse=True)
def a_gpu(request):
    if request.node.get_closest_marker("gpu"):
        try:
            numba_cuda()
        except NoGpu as reason:
            pytest.skip(str(reason))


def real_gpu():
    if is_simulated():
        pytest.skip("only a real GPU has streams and graphs")


def games(env, count=5, **settings):
    return make_envs(env, count, target="cuda", **settings)


# ---------------------------------------------------------------- the same bits


@on_cuda
@pytest.mark.parametrize("make", [lambda: well, everything, picture], ids=["well", "everything", "picture"])
@pytest.mark.parametrize("count", [1, 11])
def test_games_play_as_on_python(make, count):
    env = make()
    trial = Trial(env, games=count, steps=25)
    side_by_side(trial, make_envs(env, count, target="python"), games(env, count), "cuda differs", "on python", "on cuda")


@on_cuda
@pytest.mark.parametrize("features", ["basic", "flood", "selective", "enhanced", "laptop", "planes", "board", "compact", "window"])
def test_every_feature_set_of_snake_plays_as_on_the_cpu(features):
    env = make_env("snake", size=6, features=features)
    count, steps = (3, 12) if is_simulated() else (300, 200)
    trial = Trial(env, games=count, steps=steps)
    side_by_side(trial, make_envs(env, count, threads=1), games(env, count), "cuda differs", "on cpu", "on cuda")


@on_cuda
def test_many_blocks_of_games_play_as_on_the_cpu():
    """More games than a block has threads, and not a multiple of them."""
    count, steps = (19, 6) if is_simulated() else (1000, 300)
    env = make_env("snake", size=5, max_steps=40)
    trial = Trial(env, games=count, steps=steps)
    side_by_side(trial, make_envs(env, count, threads=1), games(env, count), "cuda differs", "on cpu", "on cuda")


# ---------------------------------------------------------------- tensors, not copies


@on_cuda
def test_observations_are_tensors_of_the_device_written_in_place():
    envs = games(everything())
    seen = envs.reset()
    assert {name: (type(t), t.device.type, t.dtype) for name, t in seen.items()} == {
        "near": (torch.Tensor, envs.device, torch.float32),
        "far": (torch.Tensor, envs.device, torch.uint8),
        "allowed": (torch.Tensor, envs.device, torch.bool),
    }
    places, before = {n: t.data_ptr() for n, t in seen.items()}, seen["far"].clone()
    envs.actions.fill_(0)
    for _ in range(3):
        envs.step(envs.actions)
    assert {n: t.data_ptr() for n, t in envs.obs.items()} == places
    assert not torch.equal(seen["far"], before)


@on_cuda
def test_rows_of_the_users_own_are_written_and_no_others():
    envs = games(well)
    first = envs.reset()
    kept = first["obs"].clone()
    row = {"obs": torch.full((5, 2), -9.0, device=envs.device)}
    into = Outcome(torch.full((5,), -9.0, device=envs.device), *(torch.zeros(5, dtype=torch.bool, device=envs.device) for _ in range(2)))
    envs.step(envs.actions, into=into, obs=row)
    assert torch.equal(first["obs"], kept)
    assert (row["obs"] > -9.0).all() and (into.rewards > -9.0).all()


@on_cuda
def test_a_reset_of_some_games_leaves_the_others_where_they_are():
    envs = games(well, 6)
    envs.reset()
    before = envs.host(envs.games)["total"].copy()
    chosen = torch.tensor([False, True, False, False, True, False], device=envs.device)
    envs.reset(only=chosen)
    assert np.flatnonzero(envs.host(envs.games)["total"] != before).tolist() == [1, 4]


@on_cuda
def test_games_saved_on_the_device_go_on_on_the_cpu():
    there, here = games(well, 4), make_envs(well, 4, threads=1)
    there.reset(), here.reset(seed=77)
    here.restore(there.save())
    for step in range(30):
        actions = np.random.default_rng(step).integers(0, 2, 4).astype(np.int32)
        there._put(there.actions, actions)
        there.step(there.actions), here.step(actions)
    assert there.host(there.games).tobytes() == here.games.tobytes()
    assert there.tally() == here.tally()


@on_cuda
def test_a_captured_graph_plays_what_plain_launches_play():
    real_gpu()
    plain, captured = (games(make_env("snake", features="compact"), 500, seed=3) for _ in range(2))
    actions = torch.from_numpy(np.random.default_rng(0).integers(0, 3, (16, 500)).astype(np.int32)).cuda()
    for envs in (plain, captured):
        envs.reset()
    saved, graph, stream = captured.save(), torch.cuda.CUDAGraph(), torch.cuda.Stream()

    def steps(envs):
        for row in actions:
            envs.step(row)

    with torch.cuda.stream(stream):
        steps(captured)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        steps(captured)
    captured.restore(saved)
    for _ in range(5):
        graph.replay()
        steps(plain)
    torch.cuda.synchronize()
    assert plain.host(plain.games).tobytes() == captured.host(captured.games).tobytes()
    assert torch.equal(plain.obs["obs"], captured.obs["obs"]) and plain.tally() == captured.tally()


# ---------------------------------------------------------------- memory and learning


@on_cuda
def test_the_memory_gives_what_followed_and_never_the_next_episode():
    """`near` tells where a game stands; a cut-off is followed by the observation it was cut off at, by hand from `last`."""
    envs = games(everything(), 6)
    memory = Replay(6 * 40, envs)
    envs.reset(obs=memory.row().obs)
    truth = {}
    for _ in range(30):
        row = memory.row()
        envs._put(envs.actions, np.zeros(6, np.int32))
        torch.as_tensor(row.actions).copy_(torch.as_tensor(envs.actions))
        before = torch.as_tensor(row.obs["near"]).cpu().clone()
        envs.step(row.actions, into=row.outcome, obs=row.next_obs)
        after, last = (torch.as_tensor(part["near"]).cpu() for part in (row.next_obs, envs.last))
        rewards, terminated, truncated = (torch.as_tensor(part).cpu() for part in row.outcome)
        for k in range(6):
            follows = None if terminated[k] else tuple((last[k] if truncated[k] else after[k]).tolist())
            truth.setdefault(tuple(before[k].tolist()), set()).add((rewards[k].item(), terminated[k].item(), follows))
        memory.advance(envs.last, envs.played)
    assert any(follows is None for found in truth.values() for *_, follows in found)
    batch = memory.sample(200, 3)
    for u in range(3):
        seen, follows = (part["near"][u].cpu().tolist() for part in (batch.obs, batch.next_obs))
        rewards, terminated = batch.rewards[u].tolist(), batch.terminated[u].tolist()
        for k in range(200):
            assert (rewards[k], terminated[k], None if terminated[k] else tuple(follows[k])) in truth[tuple(seen[k])]


SMALL = {"num_envs": 16, "hidden": (16,), "batch_size": 16, "replay_capacity": 640, "learning_starts": 64, "replay_ratio": 1 / 16, "device": "cuda"}


def trained(folder, seed=1, max_steps=640, resumed=False):
    """A finished run of a few updates, in a folder: its last checkpoint."""
    run = Run.open(folder) if resumed else Run.create(folder, config={}, command=[], name="catch-dqn")
    checkpoint = load_checkpoint(run.latest_checkpoint()) if resumed else None
    train(games(catch(), 16, seed=seed), DQNConfig(**SMALL, seed=seed, max_steps=max_steps), run, checkpoint=checkpoint)
    return load_checkpoint(run.latest_checkpoint())[1]


@on_cuda
def test_equal_seeds_give_equal_parameters_on_the_device(tmp_path):
    one, again, other = (trained(tmp_path / str(k), seed)["network"] for k, seed in enumerate((1, 1, 2)))
    assert np.array_equal(one, again) and not np.array_equal(one, other)


@on_cuda
def test_a_resumed_run_on_the_device_is_the_run_it_would_have_been(tmp_path):
    whole = trained(tmp_path / "whole")
    trained(tmp_path / "half", max_steps=320)
    half = trained(tmp_path / "half", resumed=True)
    assert whole.keys() == half.keys()
    assert [name for name in whole if not np.array_equal(whole[name], half[name])] == []
