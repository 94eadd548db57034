"""The disk cache: a warm start reads machine code; what is torn, edited or unwritable is compiled."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hotloop.engine.cache import KEPT_FILES, DiskCache, cache_folder
from hotloop.engine.vecenv import make_envs

GAME = """
from hotloop import Box, Discrete, Env, compiled, state

@compiled
def onwards(x):
    return x + 1

def factory(wins=3):
    @compiled
    def is_won(s):
        return s.x >= wins

    def reset(s, rng):
        s.x = 0

    def step(s, action, rng):
        s.x = onwards(s.x)
        return 1.0, is_won(s)

    def observe(s, obs):
        obs[0] = s.x

    return Env(name="cached", state=state(x="i4"), observation=Box(0, 99, (1,)), action=Discrete(2), reset=reset, step=step, observe=observe)
"""

PROGRAM = """
import json, sys
import numpy as np
from hotloop.engine.vecenv import make_envs
from cached_game import factory
envs = make_envs(factory(int(sys.argv[1])), 2, threads=1)
envs.reset()
for _ in range(2):
    ended = envs.step(np.zeros(2, np.int32)).terminated
hits = [sum(loop.stats.cache_hits.values()) for loop in (envs._begin, envs._advance)]
print(json.dumps({"x": float(envs.obs["obs"][0, 0]), "read": hits, "ended": bool(ended[0])}))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOTLOOP_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cached_game.py").write_text(GAME)
    return tmp_path


def start(folder: Path, wins: int = 3) -> dict:
    """Another Python that plays two steps: as after a restart."""
    paths = os.pathsep.join([str(folder), str(Path(__file__).parents[2] / "src")])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run([sys.executable, "-c", PROGRAM, str(wins)], capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def files(folder: Path) -> list[Path]:
    return sorted((folder / "cache").glob("*"))


def test_a_warm_start_reads_instead_of_compiling_and_plays_the_same(folder):
    cold, warm = start(folder), start(folder)
    assert cold == {"x": 2.0, "read": [0, 0], "ended": False}
    assert warm == {"x": 2.0, "read": [1, 1], "ended": False}
    assert len(files(folder)) == 2  # begin and advance, and nothing half written

    for path in files(folder):  # torn by a crash
        path.write_bytes(path.read_bytes()[:100])
    assert start(folder)["read"] == [0, 0]
    assert start(folder)["read"] == [1, 1]  # and written again

    assert start(folder, wins=2) == {"x": 0.0, "read": [0, 0], "ended": True}  # another size is another game

    (folder / "cached_game.py").write_text(GAME.replace("x + 1", "x + 10"))  # an edit in a helper
    assert start(folder, wins=99) | {"read": None} == {"x": 20.0, "read": None, "ended": False}


def test_a_folder_that_cannot_be_written_costs_only_time(folder, monkeypatch):
    (folder / "file").write_text("in the way")
    monkeypatch.setenv("HOTLOOP_CACHE", str(folder / "file"))
    sys.path.insert(0, str(folder))
    try:
        from cached_game import factory

        envs = make_envs(factory(), 1, threads=1)
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("cached_game", None)
    envs.reset()
    envs.step(np.zeros(1, np.int32))
    assert envs.obs["obs"].tolist() == [[1.0]]


def test_the_oldest_files_are_forgotten(folder):
    (folder / "cache").mkdir()
    for age in range(KEPT_FILES + 3):
        path = folder / "cache" / f"{age:04}.machine"
        path.touch()
        os.utime(path, (age, age))
    DiskCache._forget_oldest(folder / "cache")
    assert [p.name for p in files(folder)] == [f"{age:04}.machine" for age in range(3, KEPT_FILES + 3)]


def test_the_cache_is_where_it_was_asked_to_be(folder):
    assert cache_folder() == folder / "cache"
