"""hotloop resume RUN: go on from the latest checkpoint, as if nothing had happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hotloop.cli.errors import FINE
from hotloop.cli.flags import Flag, flags_of_config, parse
from hotloop.cli.runs import CHECKPOINT, Agent, run_in, wants_help
from hotloop.cli.settings import BUDGETS, Layer, Setup, lay_over, setup_from, typed, with_default
from hotloop.cli.training import COUNTED, DISPLAY_FLAGS, Manner, in_figures, more_of, train_run
from hotloop.records.files import write_json
from hotloop.records.lock import sole_writer
from hotloop.records.run import Run, RunError

ABOUT = """Go on with a run from its latest checkpoint, with the settings it had and in the folder it has.

  hotloop resume runs/…
  hotloop resume runs/… --max-steps 5000000

A budget counts from the beginning of the run; naming one replaces those the run had. Records after the checkpoint are dropped, they will be made again."""

CHANGEABLE = (*BUDGETS, "device")  # other settings would make it another run


def resume(arguments: list[str]) -> int:
    if wants_help(arguments):
        parse("resume RUN", ABOUT, groups({}), arguments)
    run, rest = run_in("resume", arguments)
    options = parse(f"resume {run.folder}", ABOUT, groups(settings_of(run)), rest)
    with sole_writer(run.folder):
        go_on(run, options)
    return FINE


def go_on(run: Run, options: dict[str, Any]) -> None:
    """The folder stays as it is until the games, the memory and the network are as they were and there is something new to write."""
    from hotloop.algos.session import check_about

    agent = Agent.of(run, options.get("checkpoint", "latest"))
    if "envs.books" not in agent.arrays:
        raise RunError(f"expected a whole checkpoint to go on from, found {agent.path.name}, which can only play; try --checkpoint latest")
    check_about(agent.about)
    changes = {name: options[name] for name in CHANGEABLE if name in options}
    setup = setup_from(lay_over(settings_of(run), changes), source=source_of(run))
    check_budget(run, setup.as_layer(), agent)
    agent.policy(setup.make_env())  # a checkpoint that does not fit is said at once
    run.postpone(lambda: go_back(run, setup, agent))
    train_run(setup, run, Manner.of(options), (agent.about, agent.arrays))


def go_back(run: Run, setup: Setup, agent: Agent) -> None:
    """The folder as it was at the checkpoint, with the settings that now hold."""
    write_json(run.folder / "config.json", setup.as_layer())
    run.set_status("running")
    set_aside_later(run, agent.path)
    run.rewind(agent.steps)


def source_of(run: Run) -> str:
    return str(run.folder / "config.json")


def settings_of(run: Run) -> Layer:
    return typed(run.config, source_of(run))


def groups(config: dict[str, Any]) -> dict[str, list[Flag]]:
    from hotloop.algos.config import TrainConfig

    changes = [with_default(flag, config) for flag in flags_of_config(TrainConfig) if flag.name in CHANGEABLE]
    return {"run": [*changes, CHECKPOINT], "display": DISPLAY_FLAGS}


def check_budget(run: Run, config: dict[str, Any], agent: Agent) -> None:
    about, books = agent.about, agent.arrays["envs.books"]
    if "episodes" not in (books.dtype.names or ()):
        raise RunError(f"expected a checkpoint that fits, found books of the type {books.dtype} in {agent.path.name}; try --checkpoint latest")
    spent = {"steps": about["steps"], "updates": about["updates"], "seconds": about["seconds"], "episodes": int(books["episodes"].sum())}
    for name in BUDGETS:
        limit, used = config[name], spent[COUNTED[name]]
        if limit is not None and used >= limit:
            raise RunError(
                f"expected a budget with something left, found {in_figures(used)} of {in_figures(limit)} {COUNTED[name]} spent; "
                f"try: hotloop resume {run.folder} {more_of(config, spent)}"
            )


def set_aside_later(run: Run, chosen: Path) -> None:
    """Going on from an earlier checkpoint: later ones are of another past, and keep their content under another name."""
    checkpoints = run.checkpoints()
    places = [place for place, path in enumerate(checkpoints) if path.resolve() == chosen.resolve()]
    for path in checkpoints[places[0] + 1 :] if places else []:
        path.replace(path.with_suffix(".npz.old"))
