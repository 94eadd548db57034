"""The live display, on a terminal of the test's own."""

import io
import json
import re

import pytest
from rich.console import Console

from hotloop.report import Live
from hotloop.report.progress import HISTORY, WINDOW, Progress
from hotloop.report.screen import Screen


def record(block, **more):
    """A block of half a second, of a run at 1000 steps a second."""
    value = {
        "steps": 500 * block,
        "updates": 50 * block,
        "episodes": 5 * block,
        "seconds": 0.5 * block,
        "steps_per_second": 1000.0,
        "updates_per_second": 100.0,
        "score_mean": float(block),
        "best_score": 2 * block,
        "endings": {"wall": 3, "self": 1},
        "epsilon": 0.25,
        "loss": 0.0123,
        "memory_mb": 412.3,
        "phases": {"act": 0.1, "step": 0.25, "learn": 0.1, "save": 0.0, "glue": 0.05},
    }
    return value | more


class Clock:
    """Seconds that pass only when told to."""

    seconds = 0.0

    def __call__(self):
        return self.seconds


def terminal(width=100, height=40):
    return Console(file=io.StringIO(), force_terminal=True, width=width, height=height, color_system=None, legacy_windows=False)


def log():
    return Console(file=io.StringIO(), force_terminal=False, width=200)


def drawn(screen, width=100, height=40):
    return ["".join(segment.text for segment in line).rstrip() for line in screen.lines(width, height)]


def test_the_screen_says_all_there_is_to_say():
    progress = Progress({"steps": 2000})
    for block in (1, 2):
        progress.add(record(block))
    assert drawn(Screen("snake · dqn · cpu", "runs/a", progress), width=81) == [
        "  snake · dqn · cpu" + " " * 55 + "runs/a",
        "  " + "━" * 26 + "─" * 27 + "   50 %   0:01   ETA 0:01",
        "",
        "  score     2       ▁█  best 4",
        "  endings   wall 75 %   self 25 %",
        "",
        "  steps     1.00 k   1.00 k/s         episodes  10            ε         0.25",
        "  updates   100      100/s            memory    412 MB        loss      0.0123",
        "",
        "  act       ████████████▎ 20 %",
        "  step      ██████████████████████████████▌ 50 %",
        "  learn     ████████████▎ 20 %",
        "  glue      ██████▏ 10 %",
    ]


def test_a_low_terminal_keeps_the_largest_phases_and_a_narrow_one_every_number():
    progress = Progress({"steps": 2000})
    progress.add(record(1))
    low = drawn(Screen("", "", progress), height=13)
    assert [line.split()[0] for line in low[9:]] == ["act", "step"]
    narrow = drawn(Screen("", "", progress), width=60)
    assert any("ε" in line and "loss" in line for line in narrow)


def test_before_any_episode_has_ended_nothing_is_made_up():
    progress = Progress({})
    progress.add(record(1, score_mean=None, best_score=None, endings={}, loss=None, epsilon=None, memory_mb=None))
    lines = drawn(Screen("t", "", progress))
    assert lines[3] == "  score     –         best –"
    assert lines[4] == "  endings   no episode has ended yet"


def test_a_terminal_is_redrawn_in_place_and_notes_stay_above():
    console = terminal()
    with Live("snake · dqn", {"steps": 2000}, console=console, folder="runs/a") as live:
        with live.progress("compiling snake for cpu"):
            pass
        live.update(record(1))
        live.note("a [note] that is not markup")
        live.update(record(2))
    output = console.file.getvalue()
    assert re.search(r"compiling snake for cpu … 0\.\d s", output)
    assert "a [note] that is not markup" in output
    assert output.count("snake · dqn") >= 3
    assert "\x1b[1A" in output  # the cursor goes up, to draw over the last frame
    assert output.endswith("\x1b[?25h")  # and is visible again at the end


def test_without_a_terminal_there_is_a_line_every_few_seconds_and_one_for_the_end():
    clock, console = Clock(), log()
    with Live("snake", {"steps": 10_000}, console=console, now=clock) as live:
        assert live.mode == "plain"
        for block in range(1, 13):
            live.update(record(block))
            clock.seconds += 0.5
    lines = console.file.getvalue().splitlines()
    assert [line.split("  ")[0] for line in lines] == ["0:00", "0:06", "0:06"]
    assert lines[1] == ("0:06  55 %  steps 5.50 k (1.00 k/s)  updates 550 (100/s)  score 11 (best 22)  epsilon 0.25  loss 0.0123  ETA 0:04")


def test_long_work_in_a_log_is_announced_before_it_is_done_and_ends_with_its_time():
    clock, console = Clock(), log()
    with Live("snake", {}, "plain", console, now=clock) as live:
        with live.progress("compiling") as advance:
            assert console.file.getvalue() == "compiling … "
            advance(0.5)
            clock.seconds = 2.1
        with live.progress("loading"):
            live.note("a note in between")
    assert console.file.getvalue() == "compiling … 2.1 s\nloading … \na note in between\nloading … 0.0 s\n"


def test_json_is_alone_on_standard_output(capsys):
    with Live("snake", {}, "json", Console()) as live:
        with live.progress("compiling"):
            pass
        live.update(record(1, loss=float("nan")))
        live.note("a note")
    captured = capsys.readouterr()
    assert [json.loads(line) for line in captured.out.splitlines()] == [record(1, loss=None)]
    assert captured.err.endswith("a note\n")


def test_quiet_prints_nothing(capsys):
    with Live("snake", {}, "quiet") as live, live.progress("compiling") as advance:
        advance(0.5)
        live.update(record(1))
        live.note("a note")
    assert capsys.readouterr() == ("", "")


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="mode must be one of live, quiet, json, plain, found 'loud'"):
        Live("snake", {}, "loud")


def test_a_log_without_greek_letters_is_no_error():
    console = Console(file=io.TextIOWrapper(io.BytesIO(), encoding="ascii"), force_terminal=True)
    with Live("snake", {"steps": 10}, console=console) as live:
        live.update(record(1, score_mean=None))
    console.file.seek(0)
    assert console.file.read().startswith("0:00  100 %")


def test_the_time_left_follows_the_recent_pace():
    progress = Progress({"steps": 100_000})
    for block in range(1, 41):  # 1000 steps a second
        progress.add(record(block))
    for block in range(1, WINDOW + 1):  # then 4000
        progress.add(record(block, steps=20_000 + 2000 * block, seconds=20 + 0.5 * block))
    assert progress.fraction == 0.6
    assert progress.seconds_left == pytest.approx(10)


def test_the_nearest_limit_of_a_budget_counts():
    progress = Progress({"steps": 10_000, "seconds": 1.0, "episodes": None})
    progress.add(record(1))
    assert progress.fraction == 0.5


def test_a_long_history_keeps_its_shape_in_little_room():
    progress = Progress({})
    for block in range(100_000):
        progress.add({"score_mean": float(block)})
    assert HISTORY / 2 <= len(progress.scores) <= HISTORY
    steps = [after - before for before, after in zip(progress.scores, progress.scores[1:])]
    assert min(steps) == max(steps) == 256
