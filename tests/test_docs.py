"""What the documents say is so: the tutorial's game is Catch, and every command shown is one that exists."""

import contextlib
import functools
import importlib.util
import io
import re
from pathlib import Path

import numpy as np
import pytest

from hotloop.cli import VERBS, main
from hotloop.engine.contract import examine
from hotloop.engine.trial import Trial, difference, seen
from hotloop.engine.vecenv import make_envs
from hotloop.envs import ENVS, make_env
from hotloop.envs.catch import catch

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / name for name in ("README.md", "docs/first-game.md", "docs/env.md")]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in FENCE.findall(page.read_text(encoding="utf-8")) if kind == language]


@pytest.fixture
def tutorial(tmp_path):
    """The tutorial's two versions of its game, as files: all blocks but the last, which replaces them, and the last."""
    *pieces, whole = blocks(ROOT / "docs/first-game.md", "python")
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_text("\n".join(pieces))
    second.write_text(whole)
    return first, second


@pytest.mark.parametrize("version", [0, 1])
def test_the_game_of_the_tutorial_keeps_the_contract(tutorial, version):
    answers = list(examine(Trial(make_env(str(tutorial[version])), games=4, steps=40, targets=("python", "cpu"))))
    assert [a for a in answers if a.status == "failed"] == []
    assert sum(a.status == "ok" for a in answers) >= 20


def test_the_game_of_the_tutorial_is_catch(tutorial):
    mine, shipped = make_env(str(tutorial[1]), columns=9), catch(columns=9)
    assert first_difference(mine, shipped) is None


def test_the_first_version_is_catch_but_for_the_names_of_its_endings(tutorial):
    envs, shipped = (make_envs(env, 8, target="python") for env in (make_env(str(tutorial[0])), catch()))
    trial = Trial(catch(), games=8, steps=50)
    for _ in zip(trial.play(envs), trial.play(shipped)):
        for field in ("total", "length", "episodes", "return_sum"):
            assert np.array_equal(envs.books[field], shipped.books[field])
        assert np.array_equal(envs.obs["obs"], shipped.obs["obs"])


def test_another_game_is_not_mistaken_for_catch(tutorial):
    text = tutorial[1].read_text()
    tutorial[1].write_text(text.replace("return -1.0, MISSED", "return -0.5, MISSED"))
    assert first_difference(make_env(str(tutorial[1])), catch()) is not None


def first_difference(one, other):
    left, right = (make_envs(env, 8, target="python") for env in (one, other))
    trial = Trial(other, games=8, steps=50)
    return next((found for _ in zip(trial.play(left), trial.play(right)) if (found := difference(seen(left), seen(right)))), None)


# ---------------------------------------------------------------- commands


def commands() -> list[tuple[str, str]]:
    """Every `hotloop …` in a block of shell: (page, command), without comments."""
    found = []
    for page in PAGES:
        for block in (*blocks(page, "console"), *blocks(page, "sh")):
            found += [(page.name, line.strip()) for line in re.findall(r"^(?:\$ )?(?:\.venv/bin/)?(hotloop [^#\n]*)", block, re.MULTILINE)]
    return found


def test_there_are_commands_to_look_at():
    assert {page for page, _ in commands()} >= {"README.md", "first-game.md"}


@pytest.fixture(scope="module")
def flags_of():
    """The flags a verb's page of help names; those of every game where a verb takes a game's."""

    @functools.cache
    def of(verb: str) -> set[str]:
        pages = [[verb], *([["train", "dqn", game] for game in ENVS] if verb != "check" else [])]
        with contextlib.redirect_stdout(io.StringIO()) as page:
            for words in pages:
                main([*words, "--help"])
        return set(re.findall(r"--[a-z][a-z-]*", page.getvalue()))

    return of


@pytest.mark.parametrize(("page", "command"), commands())
def test_every_command_shown_exists_with_its_flags(page, command, flags_of):
    verb, *words = command.split()[1:]
    named = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert verb in VERBS, f"{page}: {command}"
    assert named <= flags_of(verb), f"{page}: {command} names {named - flags_of(verb)}"


def test_a_flag_that_does_not_exist_would_be_noticed(flags_of):
    assert "--episodes" in flags_of("evaluate") and "--epsiodes" not in flags_of("evaluate")


# ---------------------------------------------------------------- figures


def test_the_speeds_in_the_readme_are_those_on_file():
    """After `make bench`: python benchmarks/figures.py --write"""
    shown = re.search(r"<!-- figures: make bench -->\n(.*?)<!-- end of figures -->", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    spec = importlib.util.spec_from_file_location("figures", ROOT / "benchmarks" / "figures.py")
    figures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figures)
    assert shown and shown[1] == figures.table()
