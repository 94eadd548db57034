"""A run on disk: what is written is read back, and what is not a run is refused in one line."""

import errno
import json
import os
import subprocess
import sys
from datetime import datetime

import pytest

from hotloop.records import Run, RunError, Stopwatch
from hotloop.records.phases import ACT

NOW = datetime(2026, 3, 4, 5, 6, 7)


@pytest.fixture
def run(tmp_path):
    return Run.create(tmp_path / "a-run", config={"seed": 1}, command=["hotloop", "train"], name="snake-dqn", now=NOW)


def block(steps, **more):
    return {"steps": steps, "score_mean": None, **more}


def test_a_run_that_was_created_can_be_opened(run):
    again = Run.open(run.folder)
    assert again.about == {
        "hotloop_run": 1,
        "name": "snake-dqn",
        "created": "2026-03-04T05:06:07",
        "command": ["hotloop", "train"],
        "status": "running",
        "why": None,
    }
    assert again.config == {"seed": 1}
    assert again.machine["python"] == sys.version.split()[0]


def test_a_run_without_a_folder_gets_one_with_its_name_and_time(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = [Run.create(None, config={}, command=[], name="snake/dqn", now=NOW).folder.as_posix() for _ in range(3)]
    first = "runs/snake-dqn-20260304-050607"
    assert folders == [first, f"{first}-2", f"{first}-3"]


def test_an_empty_folder_is_taken_and_a_full_one_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    Run.create(tmp_path / "empty", config={}, command=[], name="a")
    with pytest.raises(RunError, match=r"expected a new or empty folder for the run, found .* in .*empty; try another --output") as error:
        Run.create(tmp_path / "empty", config={}, command=[], name="a")
    assert "\n" not in str(error.value)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="found a file"):
        Run.create(tmp_path / "file", config={}, command=[], name="a")


def test_metrics_are_on_disk_as_soon_as_they_are_logged(run):
    run.log(block(10, endings={"wall": 2}))
    run.log(block(20, loss=float("nan")))
    assert Run.open(run.folder).metrics() == [block(10, endings={"wall": 2}), block(20, loss=None)]


def test_a_run_that_died_while_writing_can_be_read_and_gone_on_with(run):
    run.log(block(10))
    with (run.folder / "metrics.jsonl").open("a") as file:
        file.write('{"steps": 2')
    again = Run.open(run.folder)
    assert again.metrics() == [block(10)]
    again.log(block(20))
    assert again.metrics() == [block(10), block(20)]


def test_a_disk_that_fills_up_costs_nothing_already_written(tmp_path):
    full = False

    def disk(path, mode, **how):
        if full and "r" not in mode:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return path.open(mode, **how)

    run = Run.create(tmp_path / "a-run", config={"seed": 1}, command=[], name="snake-dqn", opener=disk)
    run.log(block(10))
    before = {path.name: path.read_bytes() for path in run.folder.iterdir()}
    full = True
    for write in (lambda: run.log(block(20)), lambda: run.set_status("finished"), run.write_csv, lambda: run.rewind(0), lambda: run.save_phases(Stopwatch())):
        with pytest.raises(RunError, match=r"expected to write .*, found: No space left on device; try freeing space"):
            write()
    assert {path.name: path.read_bytes() for path in run.folder.iterdir()} == before
    assert run.status == "running"


def test_rewinding_forgets_what_came_after_the_checkpoint(run):
    for steps in (10, 20, 30):
        run.log(block(steps))
    run.rewind(20)
    assert run.metrics() == [block(10), block(20)]


def test_the_table_has_a_column_for_every_part(run):
    run.log({"steps": 10, "endings": {"wall": 2}, "phases": {"act": 0.5}})
    run.log({"steps": 20, "endings": {"wall": 0, "self": 3}, "phases": {"act": 0.25}, "loss": None})
    run.set_status("finished", "steps reached")
    assert (run.folder / "metrics.csv").read_text() == (
        "steps,endings.wall,endings.self,phases.act,loss\n"  # `self` was first seen after `act`, yet stands with the endings
        "10,2,,0.5,\n"
        "20,0,3,0.25,\n"
    )


def test_the_status_says_why_a_run_stopped(run):
    run.set_status("interrupted", "Ctrl-C")
    assert Run.open(run.folder).about["why"] == "Ctrl-C"
    assert Run.open(run.folder).status == "interrupted"
    with pytest.raises(ValueError, match="running, finished, interrupted, failed, found 'done'"):
        run.set_status("done")


def test_phases_are_saved_with_the_wall_time_they_add_up_to(run):
    time = iter(range(0, 10 * 10**9, 10**9))
    watch = Stopwatch(lambda: next(time))
    watch.lap(ACT)
    run.save_phases(watch)
    saved = Run.open(run.folder).phases()
    assert (saved["seconds"]["act"], saved["calls"]["act"]) == (1, 1)
    assert sum(saved["seconds"].values()) == saved["wall_seconds"] == 2


def test_checkpoints_are_in_the_order_of_their_steps(run):
    for steps in (1000, 200, 30):
        run.checkpoint_path(steps).write_bytes(b"")
    for other in ("notes.npz", ".snake-dqn_5000.npz.1.tmp", ".snake-dqn_5000.npz"):
        (run.folder / "checkpoints" / other).write_bytes(b"")
    assert [path.name for path in run.checkpoints()] == ["snake-dqn_30.npz", "snake-dqn_200.npz", "snake-dqn_1000.npz"]
    assert run.latest_checkpoint() == run.checkpoint_path(1000)


def test_a_run_without_checkpoints_says_so(run):
    assert run.checkpoints() == []
    with pytest.raises(RunError, match=r"expected a checkpoint in .*checkpoints, found none; try"):
        run.latest_checkpoint()


def foreign(folder):
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"command": "some other program"}))


def newer(folder):
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"hotloop_run": 99, "name": "a"}))


def spoilt(folder):
    folder.mkdir()
    (folder / "run.json").write_text('{"hotloop_run": 1, "na')


def a_folder_inside(folder):
    (folder / "run.json").mkdir(parents=True)


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda folder: None, "found nothing there"),
        (lambda folder: folder.write_text(""), "found a file"),
        (lambda folder: folder.mkdir(), "found a folder without run.json"),
        (foreign, "found a run.json of something else"),
        (newer, "found format 99"),
        (spoilt, "found something else"),
        (a_folder_inside, "found: Is a directory"),
    ],
)
def test_what_is_not_a_run_is_refused_in_one_line(tmp_path, make, found):
    make(tmp_path / "other")
    with pytest.raises(RunError) as error:
        Run.open(tmp_path / "other")
    message = str(error.value)
    assert message.startswith("expected")
    assert found in message
    assert "; try " in message
    assert "\n" not in message


def test_a_mistyped_folder_suggests_the_nearest_run(run):
    Run.create(run.folder.parent / "zebra", config={}, command=[], name="b")
    with pytest.raises(RunError, match=r"try .*a-run$"):
        Run.open(run.folder.parent / "a-rum")


def test_reading_records_needs_neither_torch_nor_numba():
    program = "import sys, hotloop.records, hotloop.records.sinks; print([name for name in ('torch', 'numba', 'numpy') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
