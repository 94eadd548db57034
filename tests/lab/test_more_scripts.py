"""`hotloop profile` on more kinds of scripts: other people's libraries, other threads and processes, loops that mark themselves, and our own."""

import importlib.util
import json
import subprocess
import sys

import pytest
from test_profile import ATTEMPTS, POINTS, bare, profiled, report_of, truth_of

from hotloop.lab.inside import marks
from hotloop.lab.inside.events import ACT, KINDS, STEP, Recorder
from hotloop.lab.inside.marks import Mark, Nothing, phase
from hotloop.lab.inside.trampoline import Detour

WHOLE = {
    "single file ppo": ("single_file_ppo.py", "40"),
    "torchrl": ("torchrl_dqn.py", "3000"),
    "tianshou": ("tianshou_dqn.py", "6000"),
    "dm_env": ("other_envs.py", "dm", "4000"),
    "pettingzoo, all at once": ("other_envs.py", "parallel", "4000"),
    "pettingzoo, in turn": ("other_envs.py", "in_turn", "4000"),
    "gym 0.21": ("other_envs.py", "old_gym", "3000"),
    "in a thread": ("elsewhere.py", "thread", "3000"),
    "spawned workers": ("elsewhere.py", "workers", "3000"),
    "marked": ("elsewhere.py", "marked", "3000"),
}
NEEDS = {"torchrl": "torchrl", "tianshou": "tianshou", "dm_env": "dm_env", "pettingzoo, all at once": "pettingzoo", "pettingzoo, in turn": "pettingzoo"}


def shares_of(record):
    loop = sum(phase["seconds"] for phase in record["phases"])
    shares = {phase["name"]: phase["seconds"] / loop for phase in record["phases"]}
    return shares | {"learn and sample": shares.get("learn", 0.0) + shares.get("sample", 0.0)}


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_shares_clocks_and_trajectory_are_the_scripts_own(name, tmp_path):
    if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    for attempt in range(ATTEMPTS):  # a busy machine may stop the one clock between two looks at the other
        folder = tmp_path / str(attempt)
        truth, record = truth_of(profiled(folder, *WHOLE[name])), report_of(folder)
        shares = shares_of(record)
        off = {phase: shares.get(phase, 0.0) - share for phase, share in truth["shares"].items() if abs(shares.get(phase, 0.0) - share) > POINTS}
        if not off:
            break
    assert not off, f"off by {off}: {shares}, truly {truth['shares']}"
    clocks = ("env_steps", "updates", "episodes")
    assert {clock: record["clocks"][clock] for clock in clocks} == {clock: truth[clock] for clock in clocks}
    assert abs(record["unattributed_share"]) <= 0.05 and record["mistakes"] == []
    assert truth_of(bare(*WHOLE[name]))["trajectory"] == truth["trajectory"]


@pytest.mark.slow
def test_a_loop_of_ours_is_told_by_its_own_stopwatch(tmp_path):
    """The run's folder is the truth: what the stopwatch shared out, and how often everything happened."""
    run = tmp_path / "run"
    words = ("-m", "hotloop", "train", "--preset", "catch-dqn", "--max-steps", "400000", "--quiet", "--output", str(run))
    assert profiled(tmp_path / "profile", *words).returncode == 0
    record, told = report_of(tmp_path / "profile"), json.loads((run / "phases.json").read_text())
    last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    seconds = {phase["name"]: phase["seconds"] for phase in record["phases"] if phase["name"] != "glue"}
    phases = ("act", "step", "learn")
    assert {name: seconds.get(name, 0.0) for name in phases} == pytest.approx({name: told["seconds"][name] for name in phases})
    assert {name: record["clocks"][name] for name in ("env_steps", "updates", "episodes")} == {
        name: last[key] for name, key in (("env_steps", "steps"), ("updates", "updates"), ("episodes", "episodes"))
    }
    assert record["clocks"]["vector_steps"] == told["calls"]["step"] and record["clocks"]["updates_by_optimiser"] == {"DQN": last["updates"]}
    assert record["clocks"]["learning_starts"] > 1000 and abs(record["unattributed_share"]) <= 0.05 and record["mistakes"] == []


# Marks ---------------------------------------------------------------------------------------------------------------


def test_without_the_lab_a_mark_is_nothing_and_a_marked_function_is_itself():
    def choose():
        return 3

    assert isinstance(phase("act"), Nothing) and phase("act")(choose) is choose
    with phase("step"):
        pass


def test_a_mark_that_is_none_of_the_ten_is_refused():
    with pytest.raises(ValueError, match="expected one of reset, act, step, .* found 'collect'; try"):
        phase("collect")


def test_a_mark_loads_neither_torch_nor_numba():
    code = "import hotloop.lab.inside.marks, sys; sys.exit(bool({'torch', 'numba', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.fixture
def loop(monkeypatch):
    """A recorder whose clock is moved by hand, and a function that is known to be acting."""

    class Loop:
        now = 0

        def passes(self, nanoseconds):
            self.now += nanoseconds

    loop = Loop()
    loop.recorder = Recorder(clock=lambda: loop.now)
    monkeypatch.setattr(marks, "recorder", loop.recorder)

    def acts(nanoseconds):
        loop.passes(nanoseconds)

    Detour(acts, loop.recorder.probe(ACT))
    loop.acts = acts
    return loop


def test_a_mark_wins_over_what_is_known_inside_it_and_nothing_wins_after_it(loop):
    with phase("step"):
        loop.passes(1)
        loop.acts(10)
    loop.acts(100)
    assert loop.recorder.sums() == {"inside": {"step": 11, "act": 100}, "calls": {"step": 1, "act": 1}, "gaps": {}}


def test_a_mark_within_a_mark_is_taken_out_of_it(loop):
    with phase("step"):
        loop.passes(1)
        with phase("log"):
            loop.acts(10)
        loop.passes(4)
    assert loop.recorder.sums()["inside"] == {"step": 5, "log": 10}


def test_a_marked_function_that_fails_is_over_all_the_same(loop):
    @phase("learn")
    def fails():
        loop.passes(7)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    loop.acts(10)
    assert fails.__name__ == "fails" and loop.recorder.sums()["inside"] == {"learn": 7, "act": 10}


def test_a_generator_is_left_as_it_is(loop):
    def plays():
        yield 1

    assert phase("step")(plays) is plays


def test_steps_within_a_mark_are_counted_whatever_it_says(loop):
    counted = []

    def step():
        return None

    Detour(step, loop.recorder.probe_step())
    loop.recorder.on_step = lambda result, env: counted.append(result)
    for name in ("step", "act", "evaluate"):
        with phase(name):
            step()
    assert len(counted) == 2  # evaluating is no training


def test_a_mark_of_another_thread_than_the_loops_is_not_heard(loop):
    loop.recorder.thread = -1
    with Mark("step", loop.recorder):
        loop.passes(5)
    assert loop.recorder.sums()["inside"] == {} and KINDS[STEP] == "step"
