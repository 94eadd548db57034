"""hotloop evaluate RUN: whole episodes, one a game, and what came out of them, with intervals."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hotloop.cli.errors import FINE, UsageError, nearest
from hotloop.cli.flags import Flag, parse
from hotloop.cli.games import env_flags, make_games, settings_named
from hotloop.cli.runs import CHECKPOINT, Agent, run_in, setup_of, wants_help
from hotloop.cli.settings import Setup
from hotloop.records.files import write_atomically
from hotloop.records.run import Run

if TYPE_CHECKING:
    from hotloop.engine.evaluate import Policy
    from hotloop.engine.vecenv import VecEnv
    from hotloop.report.live import Live

    Plays = Callable[[VecEnv], Policy]  # how games in progress are played

ABOUT = """Play whole episodes with a trained agent, without exploration, and describe what came out: mean, median and a 95 % interval of the mean.

  hotloop evaluate runs/…
  hotloop evaluate runs/… --episodes 1000 --env-size 8 12 16
  hotloop evaluate runs/… --player astar
  hotloop evaluate runs/… --json > evaluation.json

Every setting of the game may be given other values than in training, several at once too, as long as the network can read what the game then shows."""

FLAGS = [
    Flag("episodes", int, 100, "how many; each is played by a game of its own"),
    CHECKPOINT,
    Flag("seed", int, 1_000_000, "of the games' luck; equal seeds, equal games"),
    Flag("player", str, "", "let a scripted player play instead, for comparison: random, greedy, astar or hamiltonian"),
    Flag("json", bool, False, "print the numbers as JSON and nothing else"),
    Flag("markdown", Path | None, None, "write a page of Markdown as well"),
]


def evaluate(arguments: list[str]) -> int:
    if wants_help(arguments):
        parse("evaluate RUN", ABOUT, {"evaluate": FLAGS}, arguments)
    run, rest = run_in("evaluate", arguments)
    setup = setup_of(run)
    options = parse(f"evaluate {run.folder}", ABOUT, {"evaluate": FLAGS, "game": several(setup, rest)}, rest)
    episodes, seed = options.get("episodes", 100), options.get("seed", 1_000_000)
    if episodes < 1:
        raise UsageError(f"expected at least one episode, found --episodes {episodes}; try --episodes 100")
    boards = variants(setup, {name.removeprefix("env_"): value for name, value in options.items() if name.startswith("env_")})
    with on_stderr(for_a_program=options.get("json", False)) as live:
        who, policies = player_of(run, options.get("player", ""), options.get("checkpoint", "latest"), boards)
        results = {name: play(board, policies[name], episodes, seed, live, name) for name, board in boards.items()}
    if "markdown" in options:
        write_page(options["markdown"], results, run, who, seed)
    if options.get("json"):
        print(json.dumps(next(iter(results.values())) if len(results) == 1 else results))
        return FINE
    show(results, who)
    return FINE


def several(setup: Setup, arguments: Sequence[str]) -> list[Flag]:
    """The game's settings, each with as many values as one likes."""
    flags = env_flags(setup.env, [*setup.env_settings, *settings_named(arguments)])
    saved = setup.env_settings
    return [replace(flag, type=tuple.__class_getitem__((flag.type, ...)), default=(saved.get(flag.name[4:], flag.default),)) for flag in flags]


def variants(setup: Setup, values: Mapping[str, tuple]) -> dict[str, Setup]:
    """The games to play: every combination of the values given, by a name that says what is special about it."""
    found = {}
    for combination in product(*values.values()):
        changed = dict(zip(values, combination))
        name = ", ".join(f"{setting}={value}" for setting, value in changed.items()) or setup.env_name
        found[name] = replace(setup, env_settings=setup.env_settings | changed)
    if not found:
        raise UsageError("expected a value for every setting of the game that is named, found none; try --env-size 8 12")
    return found


def player_of(run: Run, player: str, checkpoint: str, boards: Mapping[str, Setup]) -> tuple[str, dict[str, Plays]]:
    """Who plays, and how it plays each of the games; a game it cannot play is an error before any is played."""
    if player:
        make_player = scripted(player)
        return f"the {player} player", {name: by_looking(make_player(board.make_env())) for name, board in boards.items()}
    agent = Agent.of(run, checkpoint)
    return f"{run.name} after {agent.steps} steps", {name: by_observing(agent, board, name) for name, board in boards.items()}


def by_observing(agent: Agent, board: Setup, name: str) -> Plays:
    try:
        policy = agent.policy(board.make_env())
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from error
    return lambda envs: policy


def by_looking(player: Callable[[Any], int]) -> Plays:
    """A scripted player looks at games, not at observations."""

    def plays(envs: VecEnv) -> Policy:
        def policy(obs: Any, actions: Any) -> None:
            for i in range(envs.num_envs):
                actions[i] = player(envs.game(i))

        return policy

    return plays


def scripted(player: str) -> Any:
    """Makes a scripted player for an env: game -> action."""
    from hotloop.envs.players import PLAYERS

    if player not in PLAYERS:
        raise UsageError(f"expected a scripted player ({', '.join(PLAYERS)}), found {player!r}; try --player {nearest(player, PLAYERS)}")
    return PLAYERS[player]


def play(board: Setup, plays: Plays, episodes: int, seed: int, live: Live, name: str) -> dict[str, Any]:
    """The summary of so many episodes."""
    from hotloop.engine.evaluate import play_episodes

    with live.progress(f"setting up {episodes} games of {name}"):
        envs = make_games(board.env, board.env_settings, episodes, seed=seed)
    try:
        with live.progress("playing them") as advance:
            return play_episodes(envs, plays(envs), advance).summary()
    finally:
        envs.close()


def on_stderr(*, for_a_program: bool = False) -> Live:
    """Progress, where it does not mix with results; none where only a program would see it."""
    from rich.console import Console

    from hotloop.report.live import Live

    console = Console(stderr=True)
    return Live("", {}, "quiet" if for_a_program and not console.is_terminal else "live", console)


def write_page(path: Path, results: Mapping[str, Any], run: Run, who: str, seed: int) -> None:
    from hotloop.report.evaluation import evaluation_markdown

    facts = {"player": who, "episodes": next(iter(results.values()))["episodes"], "seed": seed, "run": run.folder.name}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, evaluation_markdown(results, f"Evaluation of {run.name}", facts).encode())


def show(results: Mapping[str, Any], who: str) -> None:
    from rich.console import Console

    from hotloop.report.evaluation import evaluation_table

    console = Console()
    for name, summary in results.items():
        console.print()
        console.print(evaluation_table(summary, f"{who} · {name} · {summary['episodes']} episodes"))
