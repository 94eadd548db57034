"""Games by name and from files, and what is said when there is none."""

import subprocess
import sys
from textwrap import dedent

import pytest

from hotloop.engine.env import Env, GameError
from hotloop.engine.vecenv import make_envs
from hotloop.envs import ENVS, factory_of, make_env

GAME = dedent("""
    from hotloop import Box, Discrete, Env, state

    def make(length: int = 3) -> Env:
        def reset(s, rng):
            s.left = length

        def step(s, action, rng):
            s.left -= 1
            return 1.0, s.left == 0

        def observe(s, obs):
            obs[0] = s.left

        return Env(name="counting", state=state(left="i4"), observation=Box(0.0, 99.0, (1,)), action=Discrete(2), reset=reset, step=step, observe=observe)
""")


def test_importing_the_list_of_games_imports_none():
    program = "import sys, hotloop.envs; sys.exit(bool({'torch', 'numba', 'numpy', 'gymnasium'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


@pytest.mark.parametrize("name", ENVS)
def test_every_listed_game_can_be_made_and_says_its_own_name_and_settings(name):
    env = make_env(name)
    assert isinstance(env, Env) and env.name == name
    again = make_env(name, **env.settings)
    assert again.settings == env.settings and again.observation == env.observation


def test_settings_reach_the_game():
    assert make_env("snake", size="3x7", features="board").observation.shape == (21,)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("snek", {}, r"unknown env 'snek'; expected one of snake, .*; try 'snake', or the path of a \.py file"),
        ("snake", {"sise": 8}, r"snake has no setting 'sise'; expected one of size, .*; try 'size'"),
        ("snake", {"features": "flod"}, r"unknown features 'flod' for snake; expected one of basic, flood, .*; try 'flood'"),
        ("snake", {"size": "1x1"}, r"size must be .*, found 1x1; try 10"),
    ],
)
def test_a_mistake_is_answered_with_what_there_is_and_the_nearest(name, settings, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        make_env(name, **settings)


def write(folder, source, name="my_game.py"):
    path = folder / name
    path.write_text(source, encoding="utf-8")
    return str(path)


def test_a_game_in_a_file_is_played(tmp_path):
    envs = make_envs(make_env(write(tmp_path, GAME), length=2), 1, target="python")
    assert envs.reset()["obs"].tolist() == [[2.0]]


def test_a_file_may_hold_a_ready_made_env(tmp_path):
    path = write(tmp_path, GAME.replace("def make(", "def _make(") + "\nshort = _make(1)\nlong = _make(9)\n")
    assert make_env(f"{path}:long").name == "counting"
    assert factory_of(f"{path}:short")() is not None
    with pytest.raises(GameError, match=r"my_game\.py: several games found: short, long; try .*my_game\.py:short$"):
        make_env(path)
    with pytest.raises(ValueError, match=r"no setting 'length'; expected none: it is ready-made$"):
        make_env(f"{path}:long", length=3)


def test_a_factory_comes_before_what_it_made(tmp_path):
    path = write(tmp_path, GAME + "\nmade = make(7)\n")
    assert factory_of(path).__name__ == "make"


def test_two_files_of_one_name_do_not_meet(tmp_path):
    (tmp_path / "other").mkdir()
    first, second = write(tmp_path, GAME), write(tmp_path / "other", GAME.replace("counting", "recounting"))
    assert (make_env(first).name, make_env(second).name, make_env(first).name) == ("counting", "recounting", "counting")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import hotloop\ndef game(:\n", r"my_game\.py:2: this is not Python: "),
        ("x = 1\nraise KeyError('oh')\n", r"my_game\.py:2: KeyError: 'oh'$"),
        ("import no_such_module\n", r"my_game\.py:1: ModuleNotFoundError: No module named 'no_such_module'$"),
        ("from hotloop import Env\nEnv(1, 2)\n", r"my_game\.py:2: TypeError: "),
        ("def game():\n    return 3\n", r"my_game\.py: no game found: expected an Env, or a function marked `-> Env` .*; try `def my_game\(\) -> Env:`$"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path, source, message):
    with pytest.raises(GameError, match=message) as error:
        make_env(write(tmp_path, source))
    assert "\n" not in str(error.value)


def test_a_missing_file_and_a_missing_name_are_said_to_be_missing(tmp_path):
    with pytest.raises(GameError, match=r"nowhere\.py: there is no such file; expected"):
        make_env(str(tmp_path / "nowhere.py"))
    with pytest.raises(GameError, match=r"no Env and no factory named 'fake'; there is make$"):
        make_env(write(tmp_path, GAME) + ":fake")
