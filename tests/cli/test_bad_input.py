"""Bad input: one line that says what was expected, found and worth trying, status 2, and everything as it was."""

import errno
import json

import numpy as np
import pytest
from tiny import TINY

from hotloop.cli.errors import one_line
from hotloop.cli.training import in_figures
from hotloop.records.run import Run


def complaint(answer, status=2):
    """The one line."""
    assert answer.status == status, answer
    assert answer.err.startswith("hotloop: ") and len(answer.err.splitlines()) == 1 and "Traceback" not in answer.err
    return answer.err


@pytest.mark.parametrize(
    ("words", "found", "attempt"),
    [
        (["train", "dqn", "snak"], "'snak'", "snake"),
        (["train", "dqm", "snake"], "'dqm'", "dqn"),
        (["train", "dqn"], "dqn without a game", "hotloop train dqn snake"),
        (["train"], "neither", "hotloop train dqn snake"),
        (["train", "--max-time", "2", "dqn", "snake"], "--max-time before them", "hotloop train dqn snake"),
        (["train", "--config"], "nothing", "--config runs/"),
        (["train", "--preset", "--quiet"], "nothing", "--preset snake-dqn"),
        (["train", "dqn", "gym:FrozenLake-v1", "--env-slipery", "3"], "'slipery': 3", "leaving out"),
        (["check", "catch", "--targets"], "no machine was named", "--targets python cpu"),
        (["train", "dqn", "snake", "catch"], "'catch'", "--help"),
        (["train", "dqn", "snake", "--batch-sise", "3"], "--batch-sise", "--batch-size"),
        (["train", "dqn", "snake", "--env-features", "flod"], "'flod'", "--env-features flood"),
        (["train", "dqn", "snake", "--env-sise", "3"], "--env-sise", "--env-size"),
        (["train", "dqn", "snake", "--env-size", "1"], "1x1", "try 10"),
        (["train", "dqn", "snake", "--env-size", "1x1"], "1x1", "try 10"),
        (["train", "dqn", "snake", "--num-envs", "0"], "found 0", "--num-envs 1"),
        (["train", "dqn", "snake", "--batch-size", "900", "--replay-capacity", "300"], "900", "--batch-size 300"),
        (["train", "dqn", "snake", "--batch-size", "many"], "'many'", "--batch-size 64"),
        (["train", "dqn", "snake", "--max-time"], "nothing", "--max-time 60"),
        (["train", "dqn", "snake", "--max-steps", "None"], "budget", "--max-steps 1000000"),
        (["train", "dqn", "snake", "--device", "gpu"], "'gpu'", "--device cpu"),
        (["train", "--preset", "snake-dqm"], "'snake-dqm'", "--preset snake-dqn"),
        (["train", "--config", "nowhere.json"], "nothing there", "config.json"),
        (["train", "dqn", "./nowhere.py"], "no such file", ".py file"),
        (["evaluate", "nowhere"], "nothing there", "hotloop train"),
        (["evaluate"], "none", "hotloop evaluate runs/"),
        (["play", "snake"], "pipe", "terminal"),
        (["envs", "snak"], "'snak'", "snake"),
    ],
)
def test_what_cannot_be_is_answered_in_one_line(hotloop, tmp_path, words, found, attempt):
    line = complaint(hotloop(*words))
    assert found in line and attempt in line
    assert list(tmp_path.iterdir()) == []


def test_large_numbers_are_written_in_figures():
    assert [in_figures(number) for number in (3_000_060, 3e6, 45.32, 10**12)] == ["3000060", "3000000", "45.3", "1000000000000"]


def test_no_gpu(hotloop, monkeypatch, tmp_path):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert "try --device cpu" in complaint(hotloop("train", "dqn", "snake", "--device", "cuda"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.json", '{"algo": "dqn", "env": "catch", "batch_sise": 3}', "found 'batch_sise'; try 'batch_size'"),
        ("a.json", '{"algo": "dqn", "env": "catch", "env_settings": {"row": 3}}', "found 'row'; try 'rows'"),
        ("a.json", '{"algo": "dqn", "env": "catch", "env_settings": 3}', "expected env_settings in a.json to be a table"),
        ("a.json", '{"algo": 3, "env": "catch"}', "expected algo in a.json to be a name, found 3; try 'dqn'"),
        ("a.json", '{"algo": "dqn", "env": "catch", "batch_size": "many"}', "in a.json: expected a whole number for --batch-size, found 'many'"),
        ("a.json", '{"algo": "dqn", ', "expected JSON in a.json"),
        ("a.json", "[1]", "expected a table of settings in a.json, found a list"),
        ("a.toml", "algo = dqn", "expected TOML in a.toml"),
        ("a.yaml", "algo: dqn", "ends in .json or .toml"),
        ("a.json", '{"algo": "dqn"}', "expected an algorithm and a game, found dqn without a game"),
        ("a.json", '{"algo": "dqn", "env": "catch", "batch_size": [1, 2]}', "in a.json: expected a whole number for --batch-size, found [1, 2]; try"),
        ("a.json", '{"algo": "dqn", "env": "catch", "batch_size": true}', "expected a whole number for --batch-size, found True"),
        ("a.json", '{"algo": "dqn", "env": "catch", "save_replay": "no"}', "expected true or false for --save-replay, found 'no'; try leaving it out"),
    ],
)
def test_a_config_file_with_a_mistake(hotloop, tmp_path, name, text, expected):
    (tmp_path / name).write_text(text)
    assert expected in complaint(hotloop("train", "--config", name))
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("game = Env", "raise SystemExit(3)\ngame = Env"), "found a file that exits (3)"),
        (("game = Env(", "def game() -> Env:\n    Env("), "to return an Env, found NoneType"),
        (("step=step", "step=step, max_steps=10.0"), "to be a whole number, found 10.0"),
    ],
)
def test_a_game_whose_author_forgot_something(hotloop, tmp_path, change, expected):
    (tmp_path / "mine.py").write_text(GAME.replace(*change))
    for words in (["train", "dqn", "./mine.py"], ["check", "./mine.py"]):
        assert expected in complaint(hotloop(*words))
    assert not (tmp_path / "runs").exists()


def test_a_flag_that_is_near_to_none_is_answered_with_those_there_are(hotloop, trained):
    assert "found --seed; try one of --device, --max-steps, --max-episodes," in complaint(hotloop("resume", trained, "--seed", 4))
    assert "found --device; try one of --episodes, --checkpoint," in complaint(hotloop("evaluate", trained, "--device", "cpu"))


def test_a_budget_that_is_spent_is_answered_with_one_that_is_not(hotloop):
    words = ("train", "dqn", "catch", *TINY, "--num-envs", 256, "--max-steps", 1, "--output", "run")
    assert "for example with --max-steps 510" in hotloop(*words).out  # 256 steps were played
    line = complaint(hotloop("resume", "run", "--max-steps", 10))
    assert "found 256 of 10 steps spent; try: hotloop resume run --max-steps 510" in line
    assert hotloop("resume", "run", "--max-steps", 510, "--quiet").status == 0


def test_no_gpu_to_ask(hotloop, monkeypatch):
    def none():
        raise NoGpu("the cuda target needs one; try --device cpu")

    from hotloop.engine.cuda import NoGpu

    monkeypatch.setattr("hotloop.engine.contract.numba_cuda", none)
    assert complaint(hotloop("check", "catch", "--targets", "cuda")).count("; try") == 1


def test_a_folder_that_is_no_run_of_ours(hotloop, trained, tmp_path):
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "run.json").write_text('{"runner": "somebody else"}')
    for verb in ("evaluate", "watch", "resume"):
        assert complaint(hotloop(verb, "foreign")).endswith("found a run.json of something else; try trained\n")
        assert "found nothing there; try trained" in complaint(hotloop(verb, "traned"))


def test_a_truncated_checkpoint(hotloop, trained):
    path = Run.open(trained).latest_checkpoint()
    path.write_bytes(path.read_bytes()[:3000])
    for words in (["evaluate", trained], ["watch", trained, "--gif", "a.gif"], ["resume", trained, "--max-steps", 9000]):
        assert "found a torn or foreign file" in complaint(hotloop(*words))
    assert Run.open(trained).status == "finished" and path.stat().st_size == 3000


@pytest.mark.parametrize(("spoil", "sentence"), [("steps", "'steps' of the checkpoint to be a whole number"), ("books", "found books of the type float64")])
def test_a_checkpoint_that_lacks_what_going_on_needs(hotloop, trained, spoil, sentence):
    from hotloop.engine.checkpoint import load_checkpoint, save_checkpoint

    path = Run.open(trained).latest_checkpoint()
    about, arrays = load_checkpoint(path)
    if spoil == "steps":
        del about["steps"]
    else:
        arrays["envs.books"] = np.zeros(3)
    save_checkpoint(path, about, arrays)
    assert sentence in complaint(hotloop("resume", trained, "--max-steps", 3000))


def test_a_checkpoint_of_another_game(hotloop, trained, tmp_path):
    hotloop("train", "dqn", "cartpole", *TINY, "--max-steps", 100, "--output", "other", "--quiet")
    other = Run.open("other").latest_checkpoint()
    assert "parameters" in complaint(hotloop("evaluate", trained, "--checkpoint", other))
    before = (trained / "metrics.jsonl").read_bytes()
    assert "parameters" in complaint(hotloop("resume", trained, "--checkpoint", other, "--max-steps", 9000))
    assert (trained / "metrics.jsonl").read_bytes() == before and Run.open(trained).config["max_steps"] == 2000


def test_a_folder_in_use(hotloop, trained):
    before = (trained / "config.json").read_bytes()
    assert "try another --output, or `hotloop resume`" in complaint(hotloop("train", "dqn", "catch", "--output", trained))
    assert (trained / "config.json").read_bytes() == before


def test_a_game_that_does_not_compile_leaves_no_folder(hotloop, tmp_path):
    (tmp_path / "bad.py").write_text(GAME.replace("s.n += 1", "s.n += {1: 2}[1]"))
    line = complaint(hotloop("train", "dqn", "./bad.py", "--output", "run", "--quiet"))
    assert "bad.py:9" in line
    assert not (tmp_path / "run").exists()


def test_a_game_that_shows_what_is_not_a_number(hotloop, tmp_path):
    (tmp_path / "nan.py").write_text(GAME.replace("obs[0] = s.n", "obs[0] = s.n if s.n < 15 else math.nan"))
    line = complaint(hotloop("train", "dqn", "./nan.py", *TINY, "--max-steps", 2000, "--output", "run", "--quiet"))
    assert "found observation 'obs' has a value that is not a number" in line and "hotloop check" in line
    run = Run.open("run")
    assert run.status == "failed" and "not a number" in run.about["why"] and run.checkpoints() == []


def test_no_space_for_a_checkpoint_leaves_the_earlier_ones_whole(hotloop, trained, monkeypatch):
    kept = Run.open(trained).latest_checkpoint()
    before = kept.read_bytes()
    import hotloop.engine.checkpoint as checkpoint
    from hotloop.records.files import cannot_write

    def full(path, data):
        raise cannot_write(path, OSError(errno.ENOSPC, "No space left on device"))

    monkeypatch.setattr(checkpoint, "write_atomically", full)
    assert "No space left on device; try freeing space" in complaint(hotloop("resume", trained, "--max-steps", 4000, "--quiet"))
    monkeypatch.undo()
    assert kept.read_bytes() == before and Run.open(trained).status == "failed"
    assert hotloop("resume", trained, "--quiet").status == 0  # the new budget was kept
    assert json.loads((trained / "config.json").read_text())["max_steps"] == 4000


@pytest.mark.parametrize("message", ["Unable to allocate 373. GiB for an array", "can't allocate memory: you tried to allocate 120000000003072 bytes. Error"])
def test_how_much_memory_was_wanted_is_said_in_whole_words(message):
    assert f"({message[message.rindex('allocate'):].replace(' for an array', '').replace('. Error', '')})" in one_line(MemoryError(message))


def test_more_memory_than_there_is(hotloop, tmp_path):
    assert "try smaller --replay-capacity" in complaint(hotloop("train", "dqn", "catch", "--replay-capacity", 10**13, "--output", "run", "--quiet"))
    assert not (tmp_path / "run").exists()


def test_a_sink_that_is_not_installed_leaves_no_folder(hotloop, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "wandb", None)
    assert "pip install 'hotloop[wandb]'" in complaint(hotloop("train", "dqn", "catch", "--wandb", "--output", "run", "--quiet"))
    assert not (tmp_path / "run").exists()


def test_a_mistake_of_ours_is_one_line_too_and_can_be_traced(hotloop, monkeypatch):
    monkeypatch.setattr("hotloop.cli.presets.presets", lambda arguments: 1 / 0)
    assert "ZeroDivisionError nobody foresaw" in complaint(hotloop("presets"), status=1)
    monkeypatch.setenv("HOTLOOP_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        hotloop("presets")


GAME = '''import math

from hotloop import Box, Discrete, Env, state


def reset(s, rng):
    s.n = 0
def step(s, action, rng):
    s.n += 1
    return 1.0, s.n > 20
def observe(s, obs):
    obs[0] = s.n


game = Env(name="game", state=state(n="i4"), observation=Box(0.0, 99.0, (1,)), action=Discrete(2), reset=reset, step=step, observe=observe)
'''
