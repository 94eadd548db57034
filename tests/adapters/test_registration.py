"""Gymnasium knows our games once both are imported, in whatever order, and `import hotloop` stays as light as it was."""

import subprocess
import sys

import pytest

from hotloop.envs import ENVS
from hotloop.envs.registration import gymnasium_id

ASK = "print(gymnasium.spec('hotloop/Snake-v0').entry_point)"


@pytest.mark.parametrize(
    "program",
    [
        f"import hotloop, gymnasium; {ASK}",
        f"import gymnasium, hotloop; {ASK}",
        f"import hotloop.engine.env, gymnasium; {ASK}",
        "import gymnasium; print(gymnasium.make('hotloop:hotloop/Snake-v0').unwrapped.spec.entry_point)",
        "import gymnasium; print(gymnasium.make('hotloop.envs.gymnasium:hotloop/Snake-v0').unwrapped.spec.entry_point)",
    ],
)
def test_both_orders_of_import_register(program):
    answer = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert answer.stdout == "hotloop.envs.as_gymnasium:GameEnv\n", answer.stderr


def test_the_hook_is_gone_once_gymnasium_is_loaded():
    program = "import sys; now = lambda: len(sys.meta_path); before = now(); import hotloop; print(now() - before); import gymnasium; print(now() - before)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert answer.stdout == "1\n0\n", answer.stderr


def test_every_game_has_an_id():
    assert {gymnasium_id(name) for name in ENVS} >= {"hotloop/Snake-v0", "hotloop/Catch-v0", "hotloop/CartPole-v0"}
