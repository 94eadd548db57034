"""Where a setting comes from: flags over file over preset over defaults."""

import json

import pytest
from tiny import TINY

from hotloop.cli.settings import lay_over


def config_of(folder):
    return json.loads((folder / "config.json").read_text())


def test_flags_go_over_the_file_over_the_preset_over_the_defaults(hotloop, tmp_path):
    (tmp_path / "mine.toml").write_text('seed = 5\nbatch_size = 32\nmax_steps = 64\n[env_settings]\nrows = 6\ncolumns = 4\n')
    answer = hotloop("train", "--preset", "catch-dqn", "--config", "mine.toml", "--output", "run", "--quiet", "--batch-size", 16, "--env-columns", 3)
    assert answer.status == 0, answer.err
    used = config_of(tmp_path / "run")
    assert (used["batch_size"], used["env_settings"]["columns"]) == (16, 3)  # flags
    assert (used["seed"], used["env_settings"]["rows"], used["max_steps"]) == (5, 6, 64)  # file
    assert (used["num_envs"], used["epsilon_steps"], used["algo"], used["env"]) == (64, 50_000, "dqn", "catch")  # preset
    assert used["discount"] == 0.99  # default


def test_the_config_as_used_is_a_config(hotloop, tmp_path):
    hotloop("train", "dqn", "catch", *TINY, "--max-steps", 100, "--no-double", "--hidden", 4, 5, "--output", "first", "--quiet")
    answer = hotloop("train", "--config", tmp_path / "first" / "config.json", "--output", "second", "--quiet")
    assert answer.status == 0, answer.err
    used = config_of(tmp_path / "first")
    assert used == config_of(tmp_path / "second")
    assert used["double"] is False and used["hidden"] == [4, 5] and used["env_settings"] == {"rows": 10, "columns": 5}


def test_a_budget_replaces_all_budgets_below_it():
    lower = {"algo": "dqn", "env": "catch", "max_steps": 1000, "max_time": None, "seed": 1}
    laid = lay_over(lower, {"max_time": 5.0})
    assert (laid["max_steps"], laid["max_time"], laid["seed"]) == (None, 5.0, 1)
    assert lay_over(lower, {"seed": 2})["max_steps"] == 1000


def test_another_game_takes_none_of_the_settings_of_the_first():
    lower = {"algo": "dqn", "env": "snake", "env_settings": {"size": 8}, "seed": 1}
    assert lay_over(lower, {"env": "catch"}) == {"algo": "dqn", "env": "catch", "env_settings": {}, "seed": 1}
    assert lay_over(lower, {"env_settings": {"vision": 3}})["env_settings"] == {"size": 8, "vision": 3}


def test_a_file_need_not_name_algorithm_and_game(hotloop, tmp_path):
    (tmp_path / "mine.json").write_text('{"seed": 5, "env_settings": {"rows": 4}}')
    assert hotloop("train", "dqn", "catch", *TINY, "--config", "mine.json", "--max-steps", 100, "--output", "run", "--quiet").status == 0
    used = config_of(tmp_path / "run")
    assert (used["seed"], used["env_settings"]["rows"], used["num_envs"]) == (5, 4, 10)


def test_settings_of_the_game_reach_the_game(hotloop, tmp_path):
    hotloop("train", "dqn", "catch", *TINY, "--max-steps", 500, "--env-rows", 4, "--output", "run", "--quiet")
    lengths = [json.loads(line)["length_mean"] for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert set(lengths) == {3.0}  # a ball above three rows falls for three steps


def test_a_game_in_a_file_of_ones_own_is_found_again_from_elsewhere(hotloop, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(GAME)
    assert hotloop("train", "dqn", "./mine.py", *TINY, "--env-goal", 4, "--max-steps", 300, "--output", "run", "--quiet").status == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    answer = hotloop("evaluate", tmp_path / "run", "--episodes", 3, "--json")
    assert json.loads(answer.out)["length"]["mean"] == 4


def test_a_setting_without_a_default_is_required(hotloop, tmp_path):
    (tmp_path / "mine.py").write_text(GAME.replace("goal: int = 7", "goal: int"))
    assert "--env-goal required\n" in hotloop("envs", "./mine.py").out
    page = hotloop("train", "dqn", "./mine.py", "--help").out
    assert "--env-goal INT " in page and "(required)" in page and "MISSING" not in page
    refused = hotloop("train", "dqn", "./mine.py")
    assert refused.status == 2 and "expected a value for --env-goal, which" in refused.err and "found none; try --env-goal" in refused.err
    assert hotloop("train", "dqn", "./mine.py", *TINY, "--env-goal", 4, "--max-steps", 300, "--output", "run", "--quiet") == (0, "", "")
    assert json.loads(hotloop("evaluate", "run", "--episodes", 3, "--json").out)["length"]["mean"] == 4


@pytest.mark.parametrize(("word", "value"), [("False", False), ("false", False), ("true", True), ("True", True)])
def test_a_foreign_games_booleans(hotloop, tmp_path, word, value):
    words = ("train", "dqn", "gym:FrozenLake-v1", *TINY, "--max-steps", 100, "--quiet")
    assert hotloop(*words, "--env-is-slippery", word, "--output", "run") == (0, "", "")
    used = config_of(tmp_path / "run")["env_settings"]
    assert used == {"is_slippery": value}
    assert hotloop("train", "--config", tmp_path / "run" / "config.json", "--output", "second", "--quiet") == (0, "", "")
    assert config_of(tmp_path / "second")["env_settings"] == used
    assert hotloop("evaluate", "run", "--episodes", 2, "--env-is-slippery", "false", "true", "--json").status == 0


GAME = '''"""Count: wait until it is over."""
from hotloop import Box, Discrete, Env, state


def count(goal: int = 7) -> Env:  # steps to wait
    def reset(s, rng):
        s.n = 0

    def step(s, action, rng):
        s.n += 1
        return 1.0, s.n >= goal

    def observe(s, obs):
        obs[0] = s.n / goal

    return Env(name="count", state=state(n="i4"), observation=Box(0.0, 1.0, (1,)), action=Discrete(2), reset=reset, step=step, observe=observe)
'''
