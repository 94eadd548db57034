"""The command line: `hotloop VERB …`. One file a verb, imported when that verb is asked for, so that help answers at once."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from importlib import import_module

from hotloop import __version__
from hotloop.cli.errors import UsageError, answered, nearest

__all__ = ["main"]

# Verb → what it does. Each is a module of this name here, with a function of the same name: (arguments) -> exit status.
VERBS = {
    "train": "train an agent on a game, watch it learn, keep everything in a run folder",
    "resume": "go on with a run from its latest checkpoint",
    "evaluate": "play whole episodes with a trained agent and describe what came out",
    "watch": "watch a trained agent play, in the terminal or as a GIF or MP4",
    "play": "play a game yourself",
    "envs": "the games there are, and their settings",
    "presets": "ready-made combinations of algorithm, game and settings",
    "check": "does a game keep the contract, on every machine here?",
    "profile": "where the time of any training script goes",
    "limits": "what this machine can do at best: memory, arithmetic, calls, disk",
    "report": "show a profile again: pages, flame graph, and files for other tools",
    "demo": "train Snake for about a minute, evaluate it, animate a game",
}

HELP = """hotloop makes reinforcement-learning training loops fast, and proves it.

usage: hotloop VERB …

{verbs}

examples:
  hotloop demo                                    the whole walk in about a minute
  hotloop train dqn snake --max-time 60           one flag for every setting: hotloop train dqn snake --help
  hotloop train --preset snake-dqn --env-size 12  settings of a preset, one changed
  hotloop train dqn ./my_game.py                  a game of your own
  hotloop evaluate runs/… --env-size 8 12 16      how good is it, on these boards?

`hotloop VERB --help` says more. Exit status: 0 all well; 1 a mistake of ours, or check's answer that a
contract is broken; 2 something has to change before it works; 130 stopped by Ctrl-C. `profile` passes on its script's own."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give back its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a question mark rather than an error for what an encoding lacks
    return answered(lambda: dispatch(words))


def dispatch(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(HELP.format(verbs="\n".join(f"  {verb:<10} {about}" for verb, about in VERBS.items())))
        return 0
    verb, *arguments = words
    if verb in ("-V", "--version"):
        print(f"hotloop {__version__}")
        return 0
    if verb not in VERBS:
        raise UsageError(f"expected a verb ({', '.join(VERBS)}), found {verb!r}; did you mean {nearest(verb, VERBS)}?")
    status: int = getattr(import_module(f"hotloop.cli.{verb}"), verb)(arguments)
    return status
