"""Going on from a checkpoint: bit for bit where it fits, one line and nothing changed where it does not."""

import errno
import math
import zipfile

import numpy as np
import pytest

from hotloop.algos import session
from hotloop.algos.dqn import DQNConfig, policy, train
from hotloop.engine.checkpoint import load_checkpoint
from hotloop.engine.evaluate import play_episodes
from hotloop.engine.vecenv import make_envs
from hotloop.envs.catch import catch
from hotloop.envs.snake import snake
from hotloop.records.files import RunError
from hotloop.records.run import Run

SMALL = {"num_envs": 16, "hidden": (8,), "batch_size": 16, "replay_capacity": 400, "learning_starts": 100, "replay_ratio": 1 / 8, "target_interval": 20}


def config(**changes):
    return DQNConfig(**{**SMALL, "max_steps": 800, **changes})


def fresh(env=None, seed=0):
    return make_envs(env or catch(), 16, seed=seed, threads=1)


def a_run(folder, name="run"):
    return Run.create(folder / name, config={}, command=[], name="catch-dqn")


@pytest.fixture
def saved(tmp_path):
    """A run of 800 steps and its checkpoint."""
    return trained(tmp_path)


def trained(folder, env=None, name="saved", **changes):
    run = a_run(folder, name)
    train(fresh(env), config(**changes), run)
    return load_checkpoint(run.latest_checkpoint())


def last(run):
    return load_checkpoint(run.latest_checkpoint())


# ---------------------------------------------------------------- bit for bit


@pytest.mark.parametrize(
    ("first", "whole"),
    [
        ({"max_steps": 1_600}, {"replay_capacity": 160, "learning_starts": 800}),  # the replay never holds as much as learning waits for
        ({"max_updates": 75, "max_steps": None}, {"train_every": 4}),  # the budget cuts a round of eight short
    ],
)
def test_two_sittings_make_the_updates_of_one(tmp_path, first, whole):
    once, twice = a_run(tmp_path, "once"), a_run(tmp_path, "twice")
    train(fresh(), config(**{"max_steps": 3_200, **whole}), once)
    train(fresh(), config(**{**whole, **first}), twice)
    train(fresh(seed=9), config(**{"max_steps": 3_200, **whole}), twice, checkpoint=last(twice))
    (about, one), (other_about, other) = last(once), last(twice)
    assert about["updates"] == other_about["updates"] > 0
    assert [name for name in one if one[name].tobytes() != other[name].tobytes()] == []


def test_without_a_replay_learning_waits_until_there_is_one_again(tmp_path):
    run = a_run(tmp_path)
    train(fresh(), config(save_replay=False), run)
    about, _ = last(run)
    updates = about["updates"]
    assert train(fresh(), config(max_steps=about["steps"] + 96, save_replay=False), run, checkpoint=last(run)).updates == updates
    assert train(fresh(), config(max_steps=about["steps"] + 160, save_replay=False), run, checkpoint=(about, last(run)[1])).updates > updates


@pytest.mark.parametrize("budget", [1, 49, 50])
def test_never_more_updates_than_asked(budget):
    assert train(fresh(), config(max_steps=None, max_updates=budget, train_every=4)).updates == budget


def test_equal_runs_save_equal_bytes(tmp_path):
    """Records have padding, which a copy may leave as the memory was before."""
    games = []
    for name in "ab":
        trained(tmp_path, snake(size=5), name)
        with zipfile.ZipFile(Run.open(tmp_path / name).latest_checkpoint()) as archive:
            games.append(archive.read("envs.games.npy"))
    assert games[0] == games[1]


# ---------------------------------------------------------------- what does not fit


def refused(checkpoint, says, env=None, **changes):
    """Training says no in one line, and the games are as they were."""
    envs = fresh(env)
    envs.reset()
    before = {name: array.tobytes() for name, array in envs.save().items()}
    with pytest.raises(RunError, match=says) as error:
        train(envs, config(**changes), checkpoint=checkpoint)
    assert "\n" not in str(error.value) and "expected" in str(error.value) and "try" in str(error.value)
    assert {name: array.tobytes() for name, array in envs.save().items()} == before


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("replay.actions", 77, "replay.actions of the checkpoint to be numbers from 0 to 2, found a 77"),
        ("replay.actions", -1, "found a -1"),
        ("replay.cut_slot", 10**6, "replay.cut_slot of the checkpoint to be numbers from 0 to"),
        ("replay.at", 26, "replay.at of the checkpoint to be numbers from 0 to 25"),
        ("network", np.nan, "expected finite parameters in the checkpoint, found network"),
        ("adam.second", np.inf, "expected finite parameters"),
        ("adam.updates", -1, "adam.updates of the checkpoint"),
        ("envs.obs_obs", np.nan, "expected finite observations"),
    ],
)
def test_a_value_that_cannot_be_is_refused(saved, name, value, says):
    saved[1][name].flat[0] = value
    refused(saved, says)


def test_a_generator_that_cannot_be_is_refused(saved):
    saved[1]["generator"][:] = 255
    refused(saved, "generator of the checkpoint to be the state of a torch generator")


@pytest.mark.parametrize("name", ["network", "target", "adam.first", "luck", "replay.rewards", "replay.luck", "replay.cut_obs"])
@pytest.mark.parametrize("change", [lambda a: a[:1].repeat(len(a) + 1, 0), lambda a: a.astype(np.float64 if a.dtype != np.float64 else np.int8), None])
def test_an_array_of_another_form_or_none_is_refused(saved, name, change):
    array = saved[1].pop(name)
    if change is not None:
        saved[1][name] = change(array)
    refused(saved, f"expected {name} of the checkpoint to be")


def test_games_of_another_form_are_refused(saved):
    saved[1]["envs.games"] = saved[1]["envs.games"][:5]
    with pytest.raises(ValueError, match="saved games are 5 of another kind of game; expected 16 of catch"):
        train(fresh(), config(), checkpoint=saved)


@pytest.mark.parametrize("name", ["steps", "updates", "seconds", "owed", "watch", "best_score", "algo"])
@pytest.mark.parametrize("value", ["many", [], -math.inf, None])
def test_a_fact_that_is_mistyped_or_missing_is_refused(saved, name, value):
    if value is None:
        del saved[0][name]
    else:
        saved[0][name] = value
    refused(saved, f"expected '{name}' of the checkpoint to be")


@pytest.mark.parametrize(
    ("first", "then", "says"),
    [
        ({"size": "10x10"}, {"size": "10x12"}, "with size 10x12, found one with size 10x10"),
        ({"features": "laptop"}, {"features": "selective"}, "features selective, found one with features laptop"),
        ({"max_steps": 50}, {"max_steps": 60}, "max_steps 60, found one with max_steps 50"),
    ],
)
def test_a_game_with_other_settings_is_refused(tmp_path, first, then, says):
    refused(trained(tmp_path, snake(**first), max_steps=100), says, snake(**then))


def test_another_game_another_network_and_a_game_that_is_none_are_refused(saved):
    about, arrays = saved
    refused(({**about, "game": about["game"] | {"name": "chess"}}, arrays), "expected a checkpoint of catch, found one of chess")
    refused(({**about, "game": 3}, arrays), "a table with settings, found 3")
    refused(saved, "'hidden' of the checkpoint to be .9., found .8.", hidden=(9,))


def test_a_checkpoint_from_before_games_were_named_goes_on(saved):
    about = {name: value for name, value in saved[0].items() if name not in ("game", "hidden", "learning_starts")}
    assert train(fresh(), config(max_steps=1_600), checkpoint=(about, saved[1])).updates > about["updates"]


# ---------------------------------------------------------------- playing


def test_a_policy_plays_on_another_board_but_not_what_means_something_else(tmp_path):
    about, arrays = trained(tmp_path, snake(size=6, features="laptop"), max_steps=100)
    play = policy(snake(size=8, features="laptop", max_steps=20, rewards="plain"), config(), arrays, "cpu", about)
    assert len(play_episodes(make_envs(snake(size=8, features="laptop", max_steps=20), 4, threads=1), play).scores) == 4
    with pytest.raises(RunError, match="features selective, found one with features laptop"):
        policy(snake(size=6, features="selective"), config(), arrays, "cpu", about)
    policy(snake(size=6, features="selective"), config(), arrays, "cpu")  # who does not say what it was cannot be asked


def test_a_policy_of_what_is_not_a_number_is_refused(saved):
    saved[1]["network"][3] = np.nan
    with pytest.raises(RunError, match="expected finite parameters"):
        policy(catch(), config(), saved[1], "cpu", saved[0])


# ---------------------------------------------------------------- what is kept


class Heard:
    def __init__(self):
        self.notes = []

    def update(self, record):
        pass

    def note(self, text):
        self.notes.append(text)

    def progress(self, text):
        from contextlib import nullcontext

        return nullcontext()


def test_the_newest_checkpoints_and_the_best_are_kept(tmp_path):
    run = a_run(tmp_path)
    stranger = run.checkpoint_path(0).with_name("mine_1.npz")
    stranger.write_bytes(b"")
    run.checkpoint_path(9_000).write_bytes(b"")  # of another past, which must not push out what is new
    train(fresh(), config(checkpoint_steps=16, log_seconds=1e-6), run)
    names = {path.name for path in stranger.parent.iterdir()}
    assert names == {"mine_1.npz", "catch-dqn_9000.npz", "best.npz", "catch-dqn_768.npz", "catch-dqn_784.npz", "catch-dqn_800.npz"}


def test_best_is_the_best_block_of_the_run_however_short(tmp_path):
    run = a_run(tmp_path)
    train(fresh(), config(log_seconds=1e-6), run)
    best = max((record for record in run.metrics() if record["score_mean"] is not None), key=lambda record: record["score_mean"])
    about, arrays = load_checkpoint(run.folder / "checkpoints" / "best.npz")
    assert (about["steps"], about["best_score"]) == (best["steps"], best["score_mean"]) and "envs.books" not in arrays
    assert best["steps"] < 800 and last(run)[0]["best_score"] == best["score_mean"]


def fill_disk(monkeypatch, room):
    """Whatever has more than so many arrays finds no room."""
    write = session.save_checkpoint

    def save(path, about, arrays):
        if len(arrays) > room:
            raise RunError(f"expected to write {path}, found: No space left on device") from OSError(errno.ENOSPC, "No space left on device")
        write(path, about, arrays)

    monkeypatch.setattr(session, "save_checkpoint", save)


def test_where_there_is_no_room_for_the_replay_the_rest_is_saved(tmp_path, monkeypatch):
    run, heard = a_run(tmp_path), Heard()
    fill_disk(monkeypatch, 12)
    train(fresh(), config(), run, heard)
    about, arrays = last(run)
    assert about["steps"] == 800 and "envs.games" in arrays and "replay.at" not in arrays
    assert [note for note in heard.notes if "no room for the replay" in note]


def test_where_there_is_no_room_at_all_that_is_said(tmp_path, monkeypatch):
    run = a_run(tmp_path)
    fill_disk(monkeypatch, 0)
    with pytest.raises(RunError, match="No space left"):
        train(fresh(), config(), run)
    assert run.checkpoints() == []


def test_the_last_checkpoint_is_time_spent_saving(tmp_path, monkeypatch):
    spent, write = [], session.save_checkpoint
    monkeypatch.setattr(session, "save_checkpoint", lambda *given: (write(*given), spent.append(given[0].name)))
    done = train(fresh(), config(log_seconds=60), a_run(tmp_path))
    assert len(spent) == 2 and done.watch.calls()["save"] == 2  # the last and the best
