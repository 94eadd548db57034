"""hotloop watch RUN: see a trained agent play, in the terminal or as a file."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hotloop.cli.errors import FINE, UsageError
from hotloop.cli.evaluate import by_looking, on_stderr, scripted
from hotloop.cli.flags import Flag, parse
from hotloop.cli.games import env_flags, settings_named
from hotloop.cli.runs import CHECKPOINT, Agent, run_in, setup_of, wants_help
from hotloop.cli.settings import Setup, with_default
from hotloop.cli.showing import Shown, caption, draw, moments, needs_terminal, one_game, screen
from hotloop.records.run import Run

ABOUT = """Watch a trained agent play, without exploration: in the terminal, or written to a file.

  hotloop watch runs/…
  hotloop watch runs/… --episodes 5 --fps 30
  hotloop watch runs/… --gif game.gif
  hotloop watch runs/… --player hamiltonian --env-size 6

Ctrl-C stops watching."""

FLAGS = [
    Flag("episodes", int, 1, "how many games to watch"),
    Flag("fps", float, 12.0, "steps a second"),
    Flag("gif", Path | None, None, "write a GIF instead"),
    Flag("mp4", Path | None, None, "write an MP4 instead; needs ffmpeg, or: pip install 'hotloop[video]'"),
    CHECKPOINT,
    Flag("seed", int, 1_000_000, "of the games' luck"),
    Flag("player", str, "", "watch a scripted player instead: random, greedy, astar or hamiltonian"),
]
PAUSE_AT_END = 1.0  # seconds an ending stays to be read


def watch(arguments: list[str]) -> int:
    if wants_help(arguments):
        parse("watch RUN", ABOUT, {"watch": FLAGS}, arguments)
    run, rest = run_in("watch", arguments)
    setup = setup_of(run)
    saved = {f"env_{name}": value for name, value in setup.env_settings.items()}
    game = [with_default(flag, saved) for flag in env_flags(setup.env, [*setup.env_settings, *settings_named(rest)])]
    options = parse(f"watch {run.folder}", ABOUT, {"watch": FLAGS, "game": game}, rest)
    changed = {name.removeprefix("env_"): value for name, value in options.items() if name.startswith("env_")}
    shown = played(run, replace(setup, env_settings=setup.env_settings | changed), options)
    files = [options[kind] for kind in ("gif", "mp4") if kind in options]
    if files:
        for path in files:
            check_name(path)
        write(shown, files, options.get("fps", 12.0))
        return FINE
    needs_terminal(sys.stdout, "to watch in")
    show(shown, options.get("fps", 12.0))
    return FINE


def played(run: Run, setup: Setup, options: dict[str, Any]) -> Iterator[Shown]:
    """The game, one moment after the other."""
    episodes, seed = options.get("episodes", 1), options.get("seed", 1_000_000)
    if episodes < 1 or options.get("fps", 1.0) <= 0:
        raise UsageError("expected --episodes of at least 1 and --fps above 0, found less; try --episodes 1 --fps 12")
    agent = None if options.get("player") else Agent.of(run, options.get("checkpoint", "latest"))
    with on_stderr() as live, live.progress(f"setting up a game of {setup.env_name}"):
        envs = one_game(setup.env, setup.env_settings, seed, target="cpu")
    if agent is None:
        return moments(envs, by_looking(scripted(options["player"])(envs.env))(envs), episodes)
    return moments(envs, agent.policy(envs.env), episodes)


def show(shown: Iterator[Shown], fps: float) -> None:
    """In the terminal, at a steady pace; the last moment stays as text."""
    last = None
    try:
        with screen(sys.stdout):
            due = time.monotonic()
            for moment in shown:
                last = moment
                draw(moment.frame, caption(moment))
                due = max(due + 1 / fps, time.monotonic())
                time.sleep(due - time.monotonic() + (PAUSE_AT_END if moment.ending else 0) if due > time.monotonic() or moment.ending else 0)
    except KeyboardInterrupt:
        pass
    if last is not None:
        print(caption(last))


def write(shown: Iterator[Shown], files: list[Path], fps: float) -> None:
    from hotloop.report.animation import save_animation

    with on_stderr() as live:
        with live.progress("playing"):
            frames = [moment.frame for moment in shown]
        for path in files:
            with live.progress(f"writing {len(frames)} frames to {path}"):
                save_animation(frames, path, fps)


def check_name(path: Path) -> None:
    """Before a long game is played for nothing."""
    if path.suffix.lower() not in (".gif", ".mp4"):
        raise UsageError(f"expected a file that ends in .gif or .mp4, found {path.name!r}; try {path.with_suffix('.gif').name}")
