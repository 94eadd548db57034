"""`hotloop profile` on whole scripts, unchanged: known shares within three points, exact clocks, the same trajectory, the same end."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hotloop.lab import launch
from hotloop.lab.inside.become import Witness
from hotloop.lab.inside.events import Recorder
from hotloop.lab.inside.probes import Probes

SCRIPTS = Path(__file__).parent / "scripts"
POINTS, ATTEMPTS = 0.03, 3


def bare(*words, **options):
    return subprocess.run([sys.executable, *words], cwd=SCRIPTS, capture_output=True, text=True, timeout=120, **options)


def profiled(folder, *words, flags=(), **options):
    command = ["-W", "ignore", "-m", "hotloop", "profile", "--output", str(folder), *flags, *words]
    return bare(*command, **options)


def truth_of(ran):
    assert ran.returncode == 0, ran.stderr[-3000:]
    line = next(line for line in ran.stdout.splitlines() if line.startswith("TRUTH"))
    return json.loads(line.removeprefix("TRUTH"))


def report_of(folder):
    return json.loads((folder / "report.json").read_text())


def shares_of(record):
    loop = sum(phase["seconds"] for phase in record["phases"])
    shares = {phase["name"]: phase["seconds"] / loop for phase in record["phases"]}
    return shares | {"learn and sample": shares["learn"] + shares["sample"]}


WHOLE = {
    "hand-written": ("hand_written.py", "6000"),
    "single file": ("single_file_dqn.py", "6000"),
    "sb3 dqn": ("sb3_offpolicy.py", "dqn", "5000"),
    "sb3 sac": ("sb3_offpolicy.py", "sac", "1000"),
    "sb3 ppo": ("sb3_ppo.py", "dummy", "8192"),
    "sb3 ppo, workers": ("sb3_ppo.py", "workers", "8192"),
}


@pytest.mark.slow
@pytest.mark.parametrize("words", WHOLE.values(), ids=WHOLE.keys())
def test_shares_clocks_and_trajectory_are_the_scripts_own(words, tmp_path):
    for attempt in range(ATTEMPTS):  # a busy machine may stop the one clock between two looks at the other
        folder = tmp_path / str(attempt)
        truth, record = truth_of(profiled(folder, *words)), report_of(folder)
        shares = shares_of(record)
        off = {phase: shares.get(phase, 0.0) - share for phase, share in truth["shares"].items() if abs(shares.get(phase, 0.0) - share) > POINTS}
        if not off:
            break
    assert not off, f"off by {off}: {shares}, truly {truth['shares']}"
    assert {name: record["clocks"][name] for name in ("env_steps", "updates", "episodes")} == {
        name: truth[name] for name in ("env_steps", "updates", "episodes")
    }
    assert record["unattributed_share"] <= 0.05 and record["mistakes"] == []
    if "workers" not in words:  # who finishes first differs from run to run
        assert truth_of(bare(*words))["trajectory"] == truth["trajectory"]


@pytest.mark.parametrize(("how", "status"), [("raise", 1), ("exit", 7), ("message", 1), ("_exit", 9)])
def test_a_script_ends_as_it_would_have_and_what_was_measured_is_kept(how, status, tmp_path):
    alone, measured = bare("ways_to_end.py", how), profiled(tmp_path, "ways_to_end.py", how)
    assert alone.returncode == measured.returncode == status
    assert measured.stderr == alone.stderr
    assert report_of(tmp_path)["clocks"]["env_steps"] == 300 and report_of(tmp_path)["exit_status"] == status


def test_a_script_hears_what_it_is_given_and_is_who_it_would_have_been(tmp_path):
    words = ("ways_to_end.py", "stdin", "--budget", "3", "-o")
    alone, measured = bare(*words, input="hello"), profiled(tmp_path, *words, input="hello")
    assert alone.stdout and alone.stdout.splitlines()[0] == measured.stdout.splitlines()[0]


def test_a_budget_ends_what_would_never_end(tmp_path):
    began = time.monotonic()
    ran = profiled(tmp_path, "ways_to_end.py", "forever", flags=("--budget", "3s"))
    assert ran.returncode == 0 and "Traceback" not in ran.stderr and time.monotonic() - began < 60
    record = report_of(tmp_path)
    assert record["ended_by"] == "budget" and record["clocks"]["env_steps"] > 1000


def test_ctrl_c_ends_the_script_and_the_report_is_written(tmp_path):
    command = [sys.executable, "-m", "hotloop", "profile", "--output", str(tmp_path), "ways_to_end.py", "forever"]
    process = subprocess.Popen(command, cwd=SCRIPTS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while not steps_written(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and "KeyboardInterrupt" in errors
    assert report_of(tmp_path)["clocks"]["env_steps"] > 100


def steps_written(folder):
    """Env steps in what was written down so far: every two seconds."""
    written = folder / "measured.json"
    return json.loads(written.read_text())["env_steps"] if written.exists() else 0


def test_a_budget_also_ends_a_script_that_waits(tmp_path):
    ran = profiled(tmp_path, "ways_to_end.py", "sleep", flags=("--budget", "1"))
    assert ran.returncode == 0 and report_of(tmp_path)["ended_by"] == "budget" and report_of(tmp_path)["wall_seconds"] < 60


def test_a_budget_also_ends_a_script_that_will_not_hear(tmp_path, monkeypatch):
    monkeypatch.setattr(launch, "LATE_SECONDS", 2.0)
    deaf = tmp_path / "deaf.py"
    deaf.write_text("import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True:\n    time.sleep(1)\n")
    record = launch.profile(str(deaf), [], tmp_path, budget=0.5)
    assert record["exit_status"] == 0 and record["ended_by"] == "budget"


def test_a_script_that_crashes_tells_the_signal_as_a_shell_would(tmp_path):
    crash = tmp_path / "crash.py"
    crash.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    assert profiled(tmp_path / "out", str(crash)).returncode == 128 + signal.SIGSEGV


def test_a_file_in_the_current_folder_is_not_taken_for_a_module_of_ours(tmp_path):
    (tmp_path / "json.py").write_text("raise ImportError('the wrong one')\n")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "script.py").write_text("print('heard')\n")
    command = Path(sys.executable).with_name("hotloop")
    words = [str(command), "profile", "--output", str(tmp_path / "out"), "below/script.py"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0 and ran.stdout.startswith("heard\n"), ran.stderr


def test_a_profile_is_kept_before_it_is_shown(tmp_path, monkeypatch):
    from hotloop.cli import main

    def closed(record):
        raise BrokenPipeError

    monkeypatch.setattr("hotloop.report.profile_terminal.print_profile", closed)
    main(["profile", "--output", str(tmp_path), str(SCRIPTS / "no_loop.py")])
    assert {"report.json", "report.md", "report.html"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_who_ends_us_ends_the_script_and_gets_a_report(tmp_path):
    command = [sys.executable, "-m", "hotloop", "profile", "--output", str(tmp_path), "ways_to_end.py", "forever"]
    process = subprocess.Popen(command, cwd=SCRIPTS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not steps_written(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.1)
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    finally:
        process.kill()
    assert report_of(tmp_path)["clocks"]["env_steps"] > 100 and report_of(tmp_path)["exit_status"] == 128 + signal.SIGTERM


def test_a_forked_child_is_nobody_we_measure(tmp_path):
    ran = profiled(tmp_path, "ways_to_end.py", "fork")
    assert ran.returncode == 0 and report_of(tmp_path)["clocks"]["env_steps"] == 300


def test_a_mistake_of_ours_is_not_the_scripts(tmp_path):
    sabotage = "from hotloop.lab.inside import probes\ndef fails(*_):\n    raise RuntimeError('ours')\nprobes.stack_of = fails\n"
    script = tmp_path / "script.py"
    script.write_text(sabotage + (SCRIPTS / "ways_to_end.py").read_text())
    ran = profiled(tmp_path / "out", str(script), "exit")
    assert ran.returncode == 7 and "Traceback" not in ran.stderr
    assert report_of(tmp_path / "out")["mistakes"] == ["look: RuntimeError: ours"] and "a mistake of the lab's" in ran.stdout


def test_a_script_that_leaves_at_once_leaves_though_nothing_can_be_written(tmp_path):
    witness, left = Witness(Probes(Recorder()), {"output": str(tmp_path / "nowhere" / "measured.json")}), []
    witness._exit = left.append
    witness.exit_at_once(9)
    assert left == [9] and witness.mistakes[0].startswith("writing: FileNotFoundError")


def test_a_script_without_a_loop_is_told_so(tmp_path):
    ran = profiled(tmp_path, "no_loop.py")
    assert ran.returncode == 0 and "nothing to see" in ran.stdout and "there is no training loop to see" in ran.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("missing.py",), "expected a Python script at missing.py, found nothing there"),
        ((".",), "found a folder"),
        ((), "expected a script to run, found none"),
        (("broken.py",), "expected Python in"),
    ],
)
def test_what_cannot_be_run_is_answered_in_a_line(words, sentence, tmp_path):
    if words == ("broken.py",):
        (tmp_path / "broken.py").write_text("for while")
        words = (str(tmp_path / "broken.py"),)
    ran = profiled(tmp_path / "out", *words)
    assert ran.returncode == 2 and sentence in ran.stderr and len(ran.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()
