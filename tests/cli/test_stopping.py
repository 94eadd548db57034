"""Stopping, at any moment: what was begun is whole, what was refused is as it was."""

import os
import signal
import subprocess
import sys

import pytest
from test_bad_input import complaint
from test_round_trip import contents
from tiny import TINY

from hotloop.records.lock import sole_writer
from hotloop.records.run import Run
from hotloop.records.sinks import SINKS

HOTLOOP = [sys.executable, "-c", "import sys; from hotloop.cli import main; sys.exit(main())"]


def ctrl_c(*_, **__):
    os.kill(os.getpid(), signal.SIGINT)


class Sink:
    """One that writes as soon as it is made."""

    def __init__(self, run):
        (run.folder / "tensorboard").mkdir()

    def close(self): ...


def test_a_checkpoint_of_another_number_of_games_changes_nothing(hotloop, trained):
    hotloop("train", "dqn", "catch", *TINY, "--num-envs", 1, "--max-steps", 300, "--output", "other", "--quiet")
    before = contents(trained)
    words = ("resume", trained, "--max-steps", 500_000, "--checkpoint", Run.open("other").latest_checkpoint(), "--quiet")
    complaint(hotloop(*words))
    assert contents(trained) == before


@pytest.mark.parametrize("moment", ["hotloop.cli.training.make_games", "hotloop.algos.dqn.QFunction.warm_up", "hotloop.algos.dqn.QFunction.restore"])
def test_ctrl_c_before_training_goes_on_changes_nothing(hotloop, trained, monkeypatch, moment):
    first = Run.open(trained).latest_checkpoint().name
    assert hotloop("resume", trained, "--max-steps", 3000, "--quiet").status == 0
    before = contents(trained)
    monkeypatch.setattr(moment, ctrl_c)
    answer = hotloop("resume", trained, "--max-steps", 9000, "--checkpoint", first, "--quiet")
    assert answer == (130, "", f"hotloop: stopped before training went on; {trained} is as it was\n")
    assert contents(trained) == before


def test_what_fails_while_restoring_changes_nothing(hotloop, trained, monkeypatch):
    before = contents(trained)
    monkeypatch.setattr("hotloop.algos.dqn._restore_games", lambda *_: 1 / 0)
    assert hotloop("resume", trained, "--max-steps", 9000, "--quiet").status == 1
    assert contents(trained) == before and Run.open(trained).status == "finished"


def test_a_run_that_somebody_trains_is_left_alone(hotloop, trained):
    with sole_writer(trained):
        before = contents(trained)
        assert f"found process {os.getpid()} at work in {trained}; try again" in complaint(hotloop("resume", trained, "--max-steps", 9000))
        assert contents(trained) == before
        assert hotloop("evaluate", trained, "--episodes", 2, "--json").status == 0


@pytest.mark.parametrize("moment", ["hotloop.records.run.machine", "hotloop.cli.training.told", "hotloop.cli.training.make_games"])
def test_ctrl_c_before_training_began_leaves_no_folder(hotloop, tmp_path, monkeypatch, moment):
    monkeypatch.setattr(moment, ctrl_c)
    monkeypatch.setitem(SINKS, "tensorboard", Sink)
    answer = hotloop("train", "dqn", "catch", *TINY, "--tensorboard", "--output", "run", "--quiet")
    assert answer.status == 130 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("flags", "lines"), [(["--json"], 2), ([], 1)])
def test_when_nobody_reads_on_training_stops_as_after_one_ctrl_c(tmp_path, flags, lines):
    words = ["train", "dqn", "catch", *TINY, "--max-time", "60", "--log-seconds", "0.05", "--output", "run", *flags]
    with subprocess.Popen([*HOTLOOP, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as program:
        for _ in range(lines):
            assert program.stdout.readline()
        program.stdout.close()
        said = program.stderr.read().decode()
        assert program.wait() == 0 and "Traceback" not in said
    run = Run.open(tmp_path / "run")
    assert run.status == "interrupted" and run.latest_checkpoint().name == f"catch-dqn_{run.metrics()[-1]['steps']}.npz"
    assert run.metrics()[-1]["seconds"] < 30 and not (run.folder / "lock").exists()


def test_an_output_of_few_letters_is_no_error(trained, tmp_path):
    environment = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    for words in (["--help"], ["train", "--help"], ["envs", "catch"], ["evaluate", str(trained), "--episodes", "2"]):
        done = subprocess.run([*HOTLOOP, *words], capture_output=True, env=environment, cwd=tmp_path, check=False)
        assert done.returncode == 0 and done.stdout.isascii() and b"Unicode" not in done.stderr, done
