"""train → resume → evaluate → watch, as a user does it."""

import json
import os
import signal

import numpy as np
import pytest
from PIL import Image
from tiny import TINY

from hotloop.engine.checkpoint import load_checkpoint
from hotloop.records.run import Run


def test_a_run_leaves_everything_behind(trained):
    run = Run.open(trained)
    assert run.status == "finished" and run.about["why"] == "2000 steps"
    assert {path.name for path in trained.iterdir()} == {
        *("run.json", "config.json", "machine.json", "metrics.jsonl", "metrics.csv", "phases.json", "plots.png", "checkpoints")
    }
    assert run.metrics()[-1]["steps"] == 2000
    phases = run.phases()
    assert sum(phases["seconds"].values()) == pytest.approx(phases["wall_seconds"])
    assert (trained / "plots.png").read_bytes().startswith(b"\x89PNG")


def test_it_says_what_happens_and_what_to_do_next(hotloop, tmp_path):
    answer = hotloop("train", "dqn", "catch", *TINY, "--max-steps", 500, "--output", "run")
    assert answer.status == 0 and answer.err == ""
    for part in ("setting up 10 games of catch on cpu", "warming up the network", "where the time went", "finished after 500 steps; kept in run"):
        assert part in answer.out
    for command in ("hotloop evaluate run", "hotloop watch    run", "hotloop resume   run    go on, for example with --max-steps 1000"):
        assert command in answer.out


def test_json_is_one_record_a_line_and_nothing_else(hotloop):
    answer = hotloop("train", "dqn", "catch", *TINY, "--max-steps", 500, "--output", "run", "--json")
    records = [json.loads(line) for line in answer.out.splitlines()]
    assert records[-1]["steps"] == 500


def test_a_resumed_run_equals_the_uninterrupted_one_bit_for_bit(hotloop, trained, tmp_path):
    assert hotloop("train", "dqn", "catch", *TINY, "--max-steps", 4000, "--output", "whole", "--quiet").status == 0
    assert hotloop("resume", trained, "--max-steps", 4000, "--quiet") == (0, "", "")
    (about, resumed), (_, whole) = (load_checkpoint(Run.open(folder).latest_checkpoint()) for folder in (trained, tmp_path / "whole"))
    assert about["steps"] == 4000 and resumed.keys() == whole.keys()
    different = [name for name in whole if not np.array_equal(resumed[name], whole[name], equal_nan=resumed[name].dtype.kind == "f")]
    assert different == []
    assert np.abs(whole["network"]).sum() > 0 and whole["adam.updates"] > 0


def test_resuming_goes_on_in_the_same_folder_and_keeps_the_new_budget(hotloop, trained):
    with (trained / "metrics.jsonl").open("a") as file:
        file.write('{"steps": 2500, "seconds": 1.0}\n')  # of a run that went on after its checkpoint, and crashed
    assert hotloop("resume", trained, "--max-steps", 3000, "--quiet").status == 0
    run = Run.open(trained)
    steps = [record["steps"] for record in run.metrics()]
    assert steps == sorted(steps) and 2500 not in steps and steps[-1] == 3000
    assert run.config["max_steps"] == 3000 and run.status == "finished"


def test_a_spent_budget_is_said_and_changes_nothing(hotloop, trained):
    before = contents(trained)
    answer = hotloop("resume", trained)
    assert answer.status == 2 and "found 2000 of 2000 steps spent; try: hotloop resume" in answer.err and "--max-steps 4000" in answer.err
    assert contents(trained) == before


def test_going_on_from_an_earlier_checkpoint_sets_later_ones_aside(hotloop, trained):
    assert hotloop("resume", trained, "--max-steps", 3000, "--quiet").status == 0
    first, last = Run.open(trained).checkpoints()
    last.write_bytes(b"torn")
    answer = hotloop("resume", trained, "--max-steps", 3500, "--quiet")
    assert answer.status == 2 and "torn" in answer.err and last.exists()
    assert hotloop("resume", trained, "--max-steps", 3500, "--checkpoint", first.name, "--quiet").status == 0
    assert [path.name for path in Run.open(trained).checkpoints()] == ["catch-dqn_2000.npz", "catch-dqn_3500.npz"]
    assert last.with_suffix(".npz.old").read_bytes() == b"torn"


def test_evaluation_as_json_is_the_numbers_alone(hotloop, trained):
    answer = hotloop("evaluate", trained, "--episodes", 20, "--json")
    assert answer.status == 0 and answer.err == ""
    found = json.loads(answer.out)
    assert list(found) == ["episodes", "score", "return", "length", "endings"] and found["episodes"] == 20
    assert all(list(found[measure]) == ["mean", "median", "low", "high"] for measure in ("score", "return", "length"))
    assert sum(found["endings"].values()) == 20 and found["length"]["mean"] == 9
    assert json.loads(hotloop("evaluate", "--json", trained, "--episodes", 20).out) == found  # equal seeds, equal games


def test_evaluation_on_several_boards(hotloop, trained, tmp_path):
    answer = hotloop("evaluate", trained, "--episodes", 5, "--env-rows", 4, 7, "--markdown", "page.md")
    assert answer.status == 0 and "rows=4 · 5 episodes" in answer.out and "rows=7 · 5 episodes" in answer.out
    page = (tmp_path / "page.md").read_text()
    assert "## rows=4" in page and "| length | 3 | 3 … 3 | 3 |" in page and "| length | 6 | 6 … 6 | 6 |" in page


def test_a_board_the_network_cannot_read_is_said_before_any_is_played(hotloop, tmp_path):
    (tmp_path / "wide.py").write_text(WIDE)
    hotloop("train", "dqn", "./wide.py", *TINY, "--max-steps", 100, "--output", "run", "--quiet")
    answer = hotloop("evaluate", "run", "--env-width", 1, 2)
    assert answer.status == 2 and answer.out == "" and answer.err.startswith("hotloop: width=2: ") and len(answer.err.splitlines()) == 1


WIDE = '''from hotloop import Box, Discrete, Env, state


def wide(width: int = 1) -> Env:
    def reset(s, rng):
        s.n = 0

    def step(s, action, rng):
        return 1.0, True

    def observe(s, obs):
        obs[0] = 0.0

    return Env(name="wide", state=state(n="i4"), observation=Box(0.0, 1.0, (width,)), action=Discrete(2), reset=reset, step=step, observe=observe)
'''


def test_scripted_players_play_for_comparison(hotloop, tmp_path):
    hotloop("train", "dqn", "snake", *TINY, "--env-size", 4, "--max-steps", 100, "--output", "run", "--quiet")
    scores = {}
    for player in ("random", "hamiltonian"):
        scores[player] = json.loads(hotloop("evaluate", "run", "--player", player, "--episodes", 5, "--json").out)["score"]["mean"]
    assert scores["random"] < 5 and scores["hamiltonian"] == 13  # the cycle fills a board of 16, of which 3 were snake


def test_watching_into_a_file(hotloop, trained, tmp_path):
    assert hotloop("watch", trained, "--gif", "game.gif", "--episodes", 2).status == 0
    with Image.open(tmp_path / "game.gif") as film:
        assert film.n_frames == 2 * 9  # the last of each stays for two
        assert film.size == (160, 320)


def test_an_ending_is_told_over_the_picture_before_it_not_over_the_next_game():
    from hotloop.cli.showing import moments, one_game

    def stay(obs, actions):
        actions[:] = 1

    shown = list(moments(one_game("catch", {}, 3, "python"), stay, 2))
    assert [moment.steps for moment in shown] == [*range(10), *range(10)]
    for first, last in ((0, 9), (10, 19)):
        assert shown[last].ending and not shown[last - 1].ending
        assert np.array_equal(shown[last].frame, shown[last - 1].frame) and not np.array_equal(shown[last].frame, shown[first].frame)


def test_one_interrupt_finishes_cleanly(hotloop, monkeypatch):
    interrupt_after_records(monkeypatch, 2)
    answer = hotloop("train", "dqn", "catch", *TINY, "--max-time", 60, "--log-seconds", 0.05, "--output", "run")
    assert answer.status == 0 and "interrupted at step" in answer.out
    run = Run.open("run")
    assert run.status == "interrupted" and run.latest_checkpoint().name == f"catch-dqn_{run.metrics()[-1]['steps']}.npz"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_two_interrupts_stop_at_once_and_say_what_is_kept(hotloop, monkeypatch):
    interrupt_after_records(monkeypatch, 2, times=2)
    answer = hotloop("train", "dqn", "catch", *TINY, "--max-time", 60, "--log-seconds", 0.05, "--checkpoint-steps", 10, "--output", "run", "--quiet")
    assert answer.status == 130 and "hotloop: stopped at once; run/checkpoints/catch-dqn_" in answer.err and "hotloop resume run" in answer.err
    assert Run.open("run").status == "interrupted"


def interrupt_after_records(monkeypatch, count, times=1):
    from hotloop.report.live import Live

    update, seen = Live.update, []

    def update_and_interrupt(self, record):
        update(self, record)
        seen.append(record)
        if len(seen) == count:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Live, "update", update_and_interrupt)


def contents(folder):
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
