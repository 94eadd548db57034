"""Scaling: what a run has seen of itself says how long more of it takes; the truth is the same loop run to the end."""

import json

import numpy as np
import pytest
from made_loops import Loop, line, until

from hotloop.lab.drift.ahead import Ahead, Rate, law
from hotloop.lab.drift.scaling import Target, extrapolate, target_of

WHOLE = 300_000  # steps of the run that is not made to the end


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("5000 episodes", Target(5000, "episodes")),
        ("1M steps", Target(1e6, "env_steps")),
        ("2e5 updates", Target(2e5, "updates")),
        ("1 000 000 env steps", Target(1e6, "env_steps")),
        ("12,500 env_steps", Target(12500, "env_steps")),
        ("1.5k Episodes", Target(1500, "episodes")),
        ("1 episode", Target(1, "episodes")),
    ],
)
def test_a_target_is_read(text, target):
    assert target_of(text) == target


@pytest.mark.parametrize("text", ["", "5000", "episodes", "many steps", "5 hours", "-3 steps"])
def test_no_target_is_answered_with_some(text):
    with pytest.raises(ValueError, match=r'expected a number of steps, updates or episodes, found .*; try "5000 episodes"'):
        target_of(text)


# Predictions against the truth ---------------------------------------------------------------------------------------


def seen_and_whole(loop, share, seed=0):
    """The record of a run stopped early, and the columns of the same run made to the end."""
    blocks = loop.run(WHOLE, seed=seed, most=10**6)
    rows = np.array(blocks["rows"])
    columns = {name: rows[:, place] for place, name in enumerate(blocks["columns"])}
    early = [row for row in blocks["rows"] if row[1] <= share * WHOLE]
    return {"blocks": {"columns": blocks["columns"], "rows": early[:: 1 + len(early) // 400]}}, columns


LEVEL = Loop(learning_starts=1000).prices()
LONGER = Loop(learning_starts=1000, episode=line(20, 300, WHOLE)).prices()
DEARER = Loop(learning_starts=1000).prices(sample=line(20e-6, 500e-6, WHOLE))
FULL = Loop(learning_starts=1000).prices(sample=until(20e-6, 500e-6, 40_000))
LOOPS = {
    "level": (LEVEL, 0.2, "neither"),
    "longer": (LONGER, 0.2, "steps per episode"),
    "dearer": (DEARER, 0.2, "seconds per step"),
    "dearer until full": (FULL, 0.3, "seconds per step"),
}


def targets(columns):
    """All of them three quarters on the way, and what the whole run says of them."""
    at = 0.75
    for clock, name in (("env_steps", "steps"), ("updates", "updates"), ("episodes", "episodes")):
        amount = int(at * columns[clock][-1])
        yield f"{amount} {name}", float(np.interp(amount, columns[clock], columns["seconds"]))


@pytest.mark.parametrize("name", LOOPS)
def test_the_truth_lies_in_the_interval(name):
    loop, share, grew = LOOPS[name]
    for seed in range(4):
        record, columns = seen_and_whole(loop, share, seed)
        for target, truth in targets(columns):
            found = extrapolate(record, target)
            assert found["verdict"] == "predicted" and found["grew"] == grew
            assert found["seconds"]["low"] <= truth <= found["seconds"]["high"], (target, truth, found["seconds"])


def test_the_interval_is_narrow_where_nothing_grew():
    record, _ = seen_and_whole(LEVEL, 0.2)
    seconds = extrapolate(record, "300000 steps")["seconds"]
    assert seconds["high"] / seconds["low"] < 1.05


def test_in_proportion_the_same_truth_is_missed():
    """The saboteur of the test above: five times the episodes, five times the time."""
    record, columns = seen_and_whole(LONGER, 0.2)
    target, truth = list(targets(columns))[2]
    found = extrapolate(record, target)
    proportional = found["now"]["seconds"] * found["target"]["amount"] / found["now"]["amount"]
    assert proportional < 0.75 * truth and proportional < found["seconds"]["low"]


def test_only_one_of_the_two_laws_is_bent_by_longer_episodes():
    record, _ = seen_and_whole(LONGER, 0.5)
    laws = extrapolate(record, "300000 steps")["laws"]
    assert laws["env_steps"]["exponent"]["low"] < 1.02 and laws["env_steps"]["exponent"]["high"] < 1.1
    assert laws["episodes"]["exponent"]["low"] > 1.2


def test_the_same_chance_gives_the_same_prediction():
    record, _ = seen_and_whole(LONGER, 0.2)
    once, again, other = (extrapolate(record, "5000 episodes", np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert once == again and once["seconds"] != other["seconds"]


def test_a_prediction_is_tried_on_the_run_itself():
    record, _ = seen_and_whole(DEARER, 0.5)
    tried = extrapolate(record, "300000 steps")["tried_on_itself"]
    assert tried["covered"] and abs(tried["error"]) < 0.2 and tried["took"] == pytest.approx(record["blocks"]["rows"][-1][0])


def test_the_explanation_says_which_of_the_two_grew():
    record, _ = seen_and_whole(LONGER, 0.2)
    said = extrapolate(record, "2000 episodes")["explanation"]
    assert said.startswith("2 000 episodes will take ") and "the steps of an episode grew from 2" in said and "a step's cost grew" not in said


# What is not said ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "target", "why"),
    [
        (0, "1M steps", "expected blocks of a run that steps an environment"),
        (3000, "1M steps", "moments at which the run was seen"),
        (60_000, "1G steps", "expected a target up to 100 times what was seen"),
    ],
)
def test_what_cannot_be_known_is_inconclusive(steps, target, why):
    blocks = LEVEL.run(steps) if steps else None
    found = extrapolate({"blocks": blocks}, target)
    assert found["verdict"] == "inconclusive" and found["seconds"] is None
    assert why in found["explanation"] and found["explanation"].endswith("try a longer --budget")


def test_too_few_episodes_say_nothing_of_episodes_but_enough_of_steps():
    record = {"blocks": Loop(learning_starts=1000, episode=lambda n: 9000.0).prices().run(60_000)}
    assert "expected at least 16 episodes in the run, found 6" in extrapolate(record, "50 episodes")["explanation"]
    assert extrapolate(record, "1M steps")["verdict"] == "predicted"


def test_what_was_reached_is_looked_up():
    record, columns = seen_and_whole(LEVEL, 0.5)
    found = extrapolate(record, "50000 steps")
    truth = float(np.interp(50_000, columns["env_steps"], columns["seconds"]))
    assert found["verdict"] == "reached" and found["seconds"] == dict.fromkeys(("low", "mid", "high"), pytest.approx(truth, rel=0.01))


def test_an_answer_is_plain_data():
    record, _ = seen_and_whole(LEVEL, 0.2)
    for target in ("300000 steps", "10 steps", "1G steps"):
        found = extrapolate(record, target)
        assert json.loads(json.dumps(found, allow_nan=False)) == found


# By hand -------------------------------------------------------------------------------------------------------------


def test_what_comes_is_added_up():
    assert Ahead(2.0, 0.0).added_up(10) == 20
    assert Ahead(2.0, 0.5).added_up(10) == 2 * 10 + 0.5 * 0.5 * 100
    assert Ahead(10.0, -1.0).added_up(20) == pytest.approx(10 * 8 - 0.5 * 64 + 2 * 12)  # down to a fifth after 8, then level


def test_what_grows_with_what_was_paid_grows_exponentially_but_not_beyond_tenfold():
    assert Ahead(2.0, 0.0).compounded(10) == 20
    assert Ahead(2.0, 0.1).compounded(10) == pytest.approx(2 * (np.e - 1) / 0.1)
    assert Ahead(1.0, 1.0).compounded(100) == pytest.approx(9 + 10 * (100 - np.log(10)))


def test_a_power_law_is_found_with_an_interval_that_holds_it():
    at = np.arange(1.0, 41.0)
    for seed in range(5):
        each = 3 * at**0.5 * np.exp(np.random.default_rng(seed).normal(0, 0.05, 40))
        exponent = law(Rate(at, each, 40.5), np.random.default_rng(seed))["exponent"]
        assert exponent["low"] < exponent["mid"] < exponent["high"] and exponent["mid"] == pytest.approx(1.5, abs=0.05)
        assert exponent["high"] - exponent["low"] < 0.1
