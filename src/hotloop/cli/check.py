"""hotloop check GAME: does a game keep the contract, on every machine here?"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from hotloop.cli.errors import BROKE_DOWN, FINE, UsageError
from hotloop.cli.flags import Flag, parse, split_words
from hotloop.cli.games import definition, env_flags, is_foreign

if TYPE_CHECKING:
    from rich.console import Console

    from hotloop.engine.contract import Answer
    from hotloop.engine.trial import Trial

ABOUT = """Does a game keep the contract, on every machine here? Says in a sentence what it breaks, and where.

  hotloop check snake --env-size 12
  hotloop check ./my_game.py
  hotloop check ./my_game.py --targets python cpu --json

Exit status: 0 it does, 1 it does not, 2 there is no such game or no machine to ask."""

FLAGS = [
    Flag("targets", tuple[Literal["python", "cpu", "cuda"], ...], ("python", "cpu", "cuda"), "the machines to ask; those that are not here are left out"),
    Flag("games", int, 16, "games played at a time in Python, which is slow; compiled machines play 32 times as many"),
    Flag("steps", int, 300, "steps of each play; unless named, slow games play fewer"),
    Flag("ulps", int, 4, "how far maths libraries may round differently after one step, in units in the last place"),
    Flag("seed", int, 0, "of the games' luck and the random actions"),
    Flag("json", bool, False, "print the answers as JSON and nothing else"),
]

SIGNS = {"ok": ("✓", "green"), "within": ("≈", "green"), "failed": ("✗", "bold red"), "skipped": ("·", "dim")}


def check(arguments: list[str]) -> int:
    words, rest = split_words(arguments, 1)
    if not words:
        parse("check GAME", ABOUT, {"check": FLAGS}, rest)
        raise UsageError("expected a game to check, by name or as a .py file, found none; try: hotloop check snake")
    if is_foreign(words[0]):
        raise UsageError(f"expected a game of ours or in a .py file, found {words[0]}, which keeps Gymnasium's contract; try its own check_env")
    options = parse(f"check {words[0]}", ABOUT, {"check": FLAGS, "game": env_flags(words[0])}, rest)
    settings = {name.removeprefix("env_"): options.pop(name) for name in list(options) if name.startswith("env_")}
    as_json = options.pop("json", False)
    answers = ask(trial_of(words[0], settings, options), console_for(as_json))
    if all(answer.status == "skipped" for answer in answers):
        why = answers[0].detail.partition("; try")[0] if answers else "no machine was named"
        raise UsageError(f"expected a machine to ask, found none: {why}; try --targets python cpu")
    if as_json:
        print(json.dumps({"game": words[0], "settings": settings, "keeps_the_contract": is_kept(answers), "answers": [a._asdict() for a in answers]}))
    else:
        show(answers, console_for(as_json))
    return FINE if is_kept(answers) else BROKE_DOWN


def trial_of(name: str, settings: dict[str, Any], options: dict[str, Any]) -> Trial:
    from hotloop.engine.trial import Trial

    if "steps" in options:
        options["patience"] = math.inf  # who names a number of steps means it
    return Trial(definition(name, settings), **options)


def ask(trial: Trial, console: Console) -> list[Answer]:
    """All answers, the question on the way shown meanwhile."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from hotloop.engine.contract import answer, questions

    answers = []
    columns = SpinnerColumn(), BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(questions(trial)))
        for check, target in questions(trial):
            progress.update(task, description=f"{target}: {check.question}")
            answers.append(answer(trial, check, target))
            progress.advance(task)
    return answers


def is_kept(answers: Sequence[Answer]) -> bool:
    return all(answer.status != "failed" for answer in answers)


def show(answers: Sequence[Answer], console: Console) -> None:
    """A row a question, a column a target; then what needs a sentence."""
    from rich.table import Table
    from rich.text import Text

    targets = list(dict.fromkeys(answer.target for answer in answers))
    table = Table("", *targets, box=None, padding=(0, 2, 0, 0), header_style="bold")
    for question in dict.fromkeys(answer.question for answer in answers):
        signs = {answer.target: SIGNS[answer.status] for answer in answers if answer.question == question}
        table.add_row(question, *(Text(*signs.get(target, ("", ""))) for target in targets))
    console.print(table)
    for status, remark in remarks(answers):
        console.print(Text.assemble("\n", SIGNS[status], f" {remark}"))
    console.print("\n" + verdict(answers))


def remarks(answers: Sequence[Answer]) -> list[tuple[str, str]]:
    """What needs a sentence, each sentence once: failures last, nearest to the reader's prompt."""
    skipped: dict[str, list[str]] = {}
    for answer in answers:
        if answer.status == "skipped" and not answer.detail.startswith("it has no "):
            skipped.setdefault(answer.detail, []).append(answer.target)
    said = [("skipped", f"{', '.join(dict.fromkeys(targets))}: not asked, because {reason}") for reason, targets in skipped.items()]
    return said + [(status, f"{a.question} ({a.target}): {a.detail}") for status in ("within", "failed") for a in answers if a.status == status]


def verdict(answers: Sequence[Answer]) -> str:
    failed = sum(answer.status == "failed" for answer in answers)
    asked = sum(answer.status != "skipped" for answer in answers)
    seconds = sum(answer.seconds for answer in answers)
    said = f"{failed} of {asked} answers say that the contract is broken" if failed else f"the contract is kept: {asked} questions asked"
    return f"{said}, {len(answers) - asked} not asked ({seconds:.0f} s)"


def console_for(as_json: bool) -> Console:
    """The terminal; where a program reads the answers, progress goes to standard error."""
    from rich.console import Console

    return Console(stderr=as_json, highlight=False, soft_wrap=True)
