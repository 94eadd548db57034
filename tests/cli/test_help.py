"""Help is there for everyone, and at once."""

import pytest

from hotloop import __version__
from hotloop.cli import VERBS


def test_without_a_word_there_is_help(hotloop):
    answer = hotloop()
    assert answer.status == 0 and answer == hotloop("--help")
    assert all(f"\n  {verb} " in answer.out for verb in VERBS)


def test_every_exit_status_is_explained(hotloop):
    text = hotloop().out
    assert all(f"{status} " in text.partition("Exit status: ")[2] for status in (0, 1, 2, 130))


def test_the_version(hotloop):
    assert hotloop("--version") == (0, f"hotloop {__version__}\n", "")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_page_with_an_example(hotloop, verb):
    answer = hotloop(verb, "--help")
    assert answer.status == 0 and answer.err == ""
    assert answer.out.startswith(f"usage: hotloop {verb}") and f"\n  hotloop {'train' if verb == 'presets' else verb}" in answer.out


def test_the_page_of_a_training_explains_every_setting_of_algorithm_and_game(hotloop):
    page = hotloop("train", "dqn", "catch", "--help").out
    for flag, comment in {"--batch-size INT": "an update learns from", "--max-time FLOAT": "stop after so many seconds", "--env-rows INT": "falls one"}.items():
        assert flag in page and comment in page


def test_the_page_shows_what_a_preset_changes(hotloop):
    assert "(default: 10000)" in hotloop("train", "--preset", "snake-laptop", "--help").out


@pytest.mark.parametrize(("typed", "meant"), [("trian", "train"), ("evalute", "evaluate"), ("demmo", "demo")])
def test_a_mistyped_verb_is_answered_with_the_nearest(hotloop, typed, meant):
    answer = hotloop(typed)
    assert answer.status == 2 and answer.out == "" and answer.err.endswith(f"found {typed!r}; did you mean {meant}?\n")


def test_every_preset_is_listed_and_its_settings_exist(hotloop):
    from hotloop.cli.presets import PRESETS
    from hotloop.cli.settings import setup_from

    listing = hotloop("presets").out
    for name, preset in PRESETS.items():
        setup = setup_from(preset.as_layer())
        assert {field: getattr(setup.config, field) for field in preset.config} == preset.config
        assert f"{name} " in listing and setup.make_env().name == preset.env


def test_every_game_is_listed_with_its_settings(hotloop):
    from hotloop.envs import ENVS

    listing = hotloop("envs").out
    assert all(f"\n{name} " in f"\n{listing}" for name in ENVS)
    assert "--env-size 10" in hotloop("envs", "snake").out
