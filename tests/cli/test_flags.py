"""Flags come from dataclasses and signatures; comments are their help."""

from dataclasses import dataclass
from typing import Literal

import pytest

from hotloop.cli.comments import comments_of, first_line_about
from hotloop.cli.errors import UsageError
from hotloop.cli.flags import Flag, flags_of_config, flags_of_factory, parse, split_words, words_for


@dataclass(frozen=True, kw_only=True)
class Base:
    seed: int = 0  # where luck begins
    rate: float = 0.5


@dataclass(frozen=True, kw_only=True)
class Config(Base):
    hidden: tuple[int, ...] = (8, 8)  # widths, "quoted" # and all
    double: bool = True  # twice


def game(
    size: int | str = 10,  # of the board
    *,
    mode: Literal["easy", "hard"] = "easy",
    untyped=3,  # a number
    table: dict | None = None,  # for Python only
):
    """Game: a test's."""


GROUPS = {"config": flags_of_config(Config), "game": flags_of_factory(game)}


def read(*words):
    return parse("test", "", GROUPS, list(words))


def test_comments_are_found_where_they_are_written():
    assert comments_of(Config, {"seed", "rate", "hidden", "double"}) == {
        "seed": "where luck begins", "hidden": 'widths, "quoted" # and all', "double": "twice",
    }
    assert comments_of(game, {"size", "mode", "untyped"}) == {"size": "of the board", "untyped": "a number"}
    assert first_line_about(game) == "Game: a test's."


def test_a_type_that_was_not_written_is_the_defaults():
    assert GROUPS["game"] == [
        Flag("env_size", int | str, 10, "of the board"),
        Flag("env_mode", Literal["easy", "hard"], "easy", ""),
        Flag("env_untyped", int, 3, "a number"),
    ]


def test_only_what_was_named_comes_back():
    assert read() == {}
    assert read("--seed", "0") == {"seed": 0}
    assert read("--env-size", "8x6", "--no-double", "--hidden", "4", "--rate=0.25") == {"env_size": "8x6", "double": False, "hidden": (4,), "rate": 0.25}
    assert read("--env_size", "8") == {"env_size": 8}


def test_values_and_the_words_for_them_are_the_same():
    values = {"seed": 3, "rate": 1 / 3, "hidden": (1, 2, 3), "double": False, "env_size": "4x5", "env_mode": "hard", "env_untyped": -7}
    assert read(*words_for(values)) == values


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--sed", "3"], "expected a flag this command has, found --sed; try --seed, or --help for all"),
        (["--no-seed"], "expected a flag this command has, found --no-seed; try --seed, or --help for all"),
        (["--seed", "x"], "expected a whole number for --seed, found 'x'; try --seed 0"),
        (["--seed"], "expected a whole number for --seed, found nothing; try --seed 0"),
        (["--seed="], "expected a whole number for --seed, found nothing; try --seed 0"),
        (["--rate", "fast"], "expected a number for --rate, found 'fast'; try --rate 0.5"),
        (["--hidden", "4", "x"], "expected a whole number, or several for --hidden, found '4 x'; try --hidden 8 8"),
        (["--env-mode", "hrad"], "expected one of easy, hard for --env-mode, found 'hrad'; try --env-mode hard"),
        (["stray"], "expected only flags and their values, found 'stray'; try --help"),
    ],
)
def test_what_does_not_fit_is_one_line(words, line):
    with pytest.raises(UsageError) as error:
        read(*words)
    assert str(error.value) == line


@pytest.mark.parametrize(
    ("words", "taken", "rest"),
    [
        (["a", "b", "--x", "c"], ["a", "b"], ["--x", "c"]),
        (["--json", "a", "--x", "b"], ["a"], ["--json", "--x", "b"]),
        (["--x", "a"], [], ["--x", "a"]),
        (["a", "b", "c"], ["a", "b"], ["c"]),
    ],
)
def test_words_stand_before_flags_that_take_values(words, taken, rest):
    assert split_words(words, 2) == (taken, rest)
