"""Training, as `train`, `resume` and `demo` do it: set up, train, and leave a run folder that says what happened."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from hotloop.cli.errors import FINE, write_to_nobody
from hotloop.cli.flags import Flag
from hotloop.cli.games import make_games
from hotloop.cli.settings import BUDGETS, Setup
from hotloop.records.lock import sole_writer
from hotloop.records.run import Run, RunError

if TYPE_CHECKING:
    from hotloop.algos.session import Session
    from hotloop.engine.checkpoint import Arrays
    from hotloop.report.live import Live, Mode

DISPLAY_FLAGS = [
    Flag("quiet", bool, False, "print nothing but errors"),
    Flag("json", bool, False, "print every block's record as a line of JSON and nothing else"),
    Flag("tensorboard", bool, False, "write TensorBoard events into the run folder as well"),
    Flag("wandb", bool, False, "send the records to Weights & Biases as well"),
]

COUNTED = {"max_steps": "steps", "max_episodes": "episodes", "max_updates": "updates", "max_time": "seconds"}  # budget → what of a record it limits


@dataclass(frozen=True)
class Manner:
    """How a run is shown, and who else is told."""

    quiet: bool = False
    json: bool = False
    tensorboard: bool = False
    wandb: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Manner:
        return cls(**{flag.name: options.get(flag.name, False) for flag in DISPLAY_FLAGS})

    @property
    def talks(self) -> bool:
        """Whether people read along; programs get records only."""
        return not (self.quiet or self.json)


class Told:
    """The display of a session: everyone who wants to know. When nobody reads on (`| head`), training stops as after one Ctrl-C."""

    def __init__(self, live: Live, sinks: Sequence[Any]) -> None:
        self._live, self._sinks = live, sinks
        self._is_read, self._stops = True, False

    def update(self, record: Mapping[str, Any]) -> None:
        with self._while_read():
            self._live.update(record)
        for sink in self._sinks:
            sink.write(record)
        if not self._is_read and not self._stops:
            signal.raise_signal(signal.SIGINT)

    def note(self, text: str) -> None:
        """What a session says: that it stops, or that a checkpoint had no room for the replay."""
        self._stops = self._stops or text.startswith("stopping")
        with self._while_read():
            self._live.note(text)

    @contextmanager
    def progress(self, text: str) -> Iterator[Callable[[float], None]]:
        with ExitStack() as shown:
            advance: Callable[[float], None] = lambda share: None  # noqa: E731
            with self._while_read():
                advance = shown.enter_context(self._live.progress(text))
            yield advance
            with self._while_read():
                shown.close()

    @contextmanager
    def _while_read(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self._is_read = False
            write_to_nobody()


def begin(setup: Setup, output: Path | None, manner: Manner, command: Sequence[str]) -> int:
    """A run from its first step."""
    with new_run(setup, output, command) as run:
        train_run(setup, run, manner)
    return FINE


@contextmanager
def new_run(setup: Setup, output: Path | None, command: Sequence[str]) -> Iterator[Run]:
    setup.make_env()  # a game that cannot be leaves no folder behind
    run = Run.create(output, config=setup.as_layer(), command=command, name=setup.name)
    with sole_writer(run.folder):
        yield run


def train_run(setup: Setup, run: Run, manner: Manner, checkpoint: tuple[dict, Arrays] | None = None) -> Session:
    """Train until the budget is spent or Ctrl-C, and bring the folder to rest."""
    with brought_to_rest(run), shown(setup, run, manner) as live, told(live, run, manner) as display:
        session = trained(setup, run, display, checkpoint)
        run.save_phases(session.watch)
        run.set_status("interrupted" if session.interrupted else "finished", session.why)
        draw(run, display)
    if manner.talks:
        conclude(run, session)
    return session


def trained(setup: Setup, run: Run, display: Told, checkpoint: tuple[dict, Arrays] | None) -> Session:
    """The training itself."""
    from hotloop.algos import find_algo

    envs = games(setup, display)
    try:
        session: Session = find_algo(setup.algo).train(envs, setup.config, run, display, checkpoint)
    finally:
        envs.close()
    return session


@contextmanager
def brought_to_rest(run: Run) -> Iterator[None]:
    """If training breaks down the folder says so. If it never began there is no folder, or the one there was, as it was."""
    try:
        yield
    except KeyboardInterrupt:
        stop_at_once(run)
    except Exception as error:
        give_up(run, error)
        raise


def games(setup: Setup, display: Told) -> Any:
    """The games side by side, compiled; set-up time is not training time."""
    config = setup.config
    target = "cuda" if config.device == "cuda" else "cpu"
    with display.progress(f"setting up {config.num_envs} games of {setup.env_name} on {target}"):
        return make_games(setup.env, setup.env_settings, config.num_envs, seed=config.seed, target=target, threads=config.threads)


def stop_at_once(run: Run) -> NoReturn:
    """The second Ctrl-C, or one before or after training."""
    if run.is_as_it_was:
        raise KeyboardInterrupt(f"stopped before training went on; {run.folder} is as it was") from None
    if run.status != "running":
        raise KeyboardInterrupt(f"stopped; the run in {run.folder} is {run.status}") from None
    kept = run.checkpoints()
    if not kept and not run.metrics():
        run.discard()
        raise KeyboardInterrupt("stopped before training began; nothing was kept") from None
    run.set_status("interrupted", "stopped at once")
    what = f"{kept[-1]} is kept; go on with: hotloop resume {run.folder}" if kept else f"the metrics in {run.folder} are kept, no checkpoint was made yet"
    raise KeyboardInterrupt(f"stopped at once; {what}") from None


def give_up(run: Run, error: Exception) -> None:
    """Set-up failed, training went wrong, or the disk is full: leave the folder as honest as can be."""
    from hotloop.algos.session import TrainingFault

    if run.is_as_it_was or run.status != "running":
        return
    if not isinstance(error, TrainingFault) and not run.checkpoints() and not run.metrics():
        run.discard()
        return
    try:
        run.set_status("failed", " ".join(str(error).split()))
    except RunError:  # the disk is still full
        pass


@contextmanager
def shown(setup: Setup, run: Run, manner: Manner) -> Iterator[Live]:
    from hotloop.report.live import Live

    budget = {COUNTED[name]: getattr(setup.config, name) for name in BUDGETS}
    mode: Mode = "json" if manner.json else "quiet" if manner.quiet else "live"
    with Live(f"{setup.env_name} · {setup.algo} · {setup.config.device}", budget, mode, folder=run.folder) as live:
        yield live


@contextmanager
def told(live: Live, run: Run, manner: Manner) -> Iterator[Told]:
    from hotloop.records.sinks import SINKS

    sinks = [SINKS[name](run) for name in ("tensorboard", "wandb") if getattr(manner, name)]
    try:
        yield Told(live, sinks)
    finally:
        for sink in sinks:
            sink.close()


def draw(run: Run, display: Told) -> None:
    with display.progress("drawing plots.png"):
        from hotloop.report.plots import plot_run

        plot_run(run, run.folder / "plots.png")


def conclude(run: Run, session: Session) -> None:
    """Where the time went, how it ended, and what to do next."""
    from rich.console import Console

    from hotloop.report.phases import phase_table

    console = Console()
    phases = run.phases()
    console.print()
    console.print(phase_table(phases["seconds"], phases["wall_seconds"], phases["calls"]))
    ended = f"interrupted at step {session.steps}" if session.interrupted else f"finished after {session.why}"
    console.print(f"\n{ended}; kept in {run.folder}", highlight=False, soft_wrap=True)
    rows = (
        ("evaluate", "how good is it? 100 episodes"),
        ("watch", "watch it play; --gif game.gif writes a file"),
        ("resume", "go on" if session.interrupted else f"go on, for example with {more_of(run.config, run.metrics()[-1])}"),
    )
    for verb, about in rows:
        console.print(f"  hotloop {verb:<8} {run.folder}    {about}", highlight=False, soft_wrap=True)


def more_of(config: Mapping[str, Any], spent: Mapping[str, Any]) -> str:
    """A flag that gives a run about twice what it has spent, or had."""
    limited = [name for name in BUDGETS if config.get(name) is not None]
    used = max(limited, key=lambda name: (spent.get(COUNTED[name]) or 0) / config[name])
    most = max(config[used], spent.get(COUNTED[used]) or 0)
    return f"--{used.replace('_', '-')} {in_figures(float(f'{2 * most:.1e}'))}"


def in_figures(number: float) -> str:
    """3000060 and 45.3, never 3.00006e+06."""
    return f"{round(number, 1):.15g}"
