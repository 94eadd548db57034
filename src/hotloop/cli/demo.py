"""hotloop demo: the whole walk — train, evaluate, animate, say where the time went."""

from __future__ import annotations

from pathlib import Path

from hotloop.cli.errors import FINE
from hotloop.cli.evaluate import evaluate
from hotloop.cli.flags import Flag, parse
from hotloop.cli.presets import PRESETS
from hotloop.cli.settings import lay_over, setup_from
from hotloop.cli.training import Manner, new_run, train_run
from hotloop.cli.watch import watch

ABOUT = """Train Snake for about a minute with a live display, evaluate 100 games, animate one, and say where the time went.

  hotloop demo
  hotloop demo --max-time 20"""

FLAGS = [
    Flag("max_time", float, PRESETS["snake-demo"].config["max_time"], "seconds of training"),
    Flag("seed", int, 0, "equal seeds, equal runs on the same machine"),
    Flag("output", Path | None, None, "a new or empty folder for the run; unset: runs/NAME-DATE-TIME"),
]


def demo(arguments: list[str]) -> int:
    options = parse("demo", ABOUT, {"demo": FLAGS}, arguments)
    output = options.pop("output", None)
    setup = setup_from(lay_over(PRESETS["snake-demo"].as_layer(), options))
    with new_run(setup, output, ["hotloop", "demo", *arguments]) as run:
        session = train_run(setup, run, Manner())
    folder = run.folder
    watch([str(folder), "--gif", str(folder / "game.gif")])
    evaluate([str(folder), "--markdown", str(folder / "evaluation.md")])
    print(f"\n{folder} holds game.gif, plots.png, evaluation.md, metrics.csv and the checkpoints ({session.steps} steps)")
    return FINE
