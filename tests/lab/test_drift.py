"""Drift: every verdict on a loop in which its cause was planted, and not on its twin in which it was not."""

import json

import numpy as np
import pytest
from made_loops import Loop, constant, line, since, step_at, until

from hotloop.lab.drift.course import course_of
from hotloop.lab.drift.judge import drift
from hotloop.lab.drift.shapes import LEVEL, LINE, SINCE, STEP, UNTIL, change_points, prices, shape, twins
from hotloop.report.drift import drift_lines

STEPS = 100_000
DEAR_ACT, DEAR_RESET = 150e-6, 800e-6

ROLLOUTS = {"train_every": 10_000, "updates_each": 1600, "chunk": 200}

# What was planted → (the loop, the verdict, where). The twin beside it has the same sizes without the drift, or a drift for another reason.
SICK = {
    "learning starts": (Loop(learning_starts=40_000).prices(), "learning-started", "learn"),
    "episodes longer": (Loop(episode=line(20, 300, STEPS)).prices(reset=DEAR_RESET), "episodes-got-longer", None),
    "a step costs more in long games": (Loop(episode=until(20, 300, 40_000)).prices(step=until(40e-6, 200e-6, 40_000)), "episodes-got-longer", "step"),
    "episodes shorter": (Loop(episode=line(300, 10, STEPS)).prices(reset=DEAR_RESET), "episodes-got-shorter", "reset"),
    "fewer random actions": (Loop(calls={"act": until(0.02, 0.95, 60_000)}).prices(act=DEAR_ACT), "epsilon-mix", "act"),
    "fewer random actions, unseen": (Loop().prices(act=until(5e-6, DEAR_ACT, 60_000)), "epsilon-mix", "act"),
    "sampling goes through the buffer": (Loop().prices(sample=line(20e-6, 300e-6, STEPS)), "cost-grows-with-buffer", "sample"),
    "until the buffer is full": (Loop().prices(sample=until(20e-6, 300e-6, 50_000)), "cost-grows-with-buffer", "sample"),
    "within learning": (Loop(learning_starts=2000).prices(learn=line(150e-6, 500e-6, STEPS)), "cost-grows-with-buffer", "learn"),
    "storing copies": (Loop().prices(store=line(5e-6, 400e-6, STEPS)), "cost-grows-with-buffer", "store"),
    "denormals": (Loop().prices(learn=step_at(150e-6, 450e-6, 60_000), act=step_at(30e-6, 60e-6, 60_000)), "denormals", "learn"),
    "denormals, gradually": (Loop().prices(learn=since(150e-6, 600e-6, 50_000, STEPS)), "denormals", "learn"),
    "a log that is appended to": (Loop(calls={"log": constant(1.0)}).prices(log=line(1e-6, 100e-6, STEPS)), "allocation-growth", "log"),
    "rollouts dearer to learn from": (Loop(**ROLLOUTS).prices(learn=line(150e-6, 400e-6, 4e5)), "allocation-growth", "learn"),
    "garbage": (Loop(garbage=line(1e-6, 120e-6, STEPS)).prices(), "garbage", None),
    "something is sudden": (Loop().prices(step=step_at(40e-6, 140e-6, 50_000)), "price-changed", "step"),
    "warming up": (Loop().prices(learn=step_at(10e-3, 150e-6, 500)), "warm-up", "learn"),
    "noise": (Loop(noise=1.5).prices(), "machine-noise", None),
    "a slower machine": (Loop(machine=lambda seconds: 1 + seconds / 25).prices(), "machine-noise", None),
}
WELL = {
    "learning starts": Loop().prices(),
    "episodes longer": Loop(episode=constant(150)).prices(reset=DEAR_RESET),
    "a step costs more in long games": Loop(episode=constant(100)).prices(step=until(40e-6, 200e-6, 40_000)),
    "episodes shorter": Loop(episode=constant(10)).prices(reset=DEAR_RESET),
    "fewer random actions": Loop(calls={"act": constant(0.5)}).prices(act=DEAR_ACT),
    "fewer random actions, unseen": Loop().prices(act=80e-6),
    "sampling goes through the buffer": Loop().prices(sample=160e-6),
    "until the buffer is full": Loop().prices(sample=300e-6),
    "within learning": Loop(learning_starts=2000).prices(learn=300e-6),
    "storing copies": Loop().prices(store=200e-6),
    "denormals": Loop().prices(learn=300e-6, act=60e-6),
    "denormals, gradually": Loop().prices(learn=line(150e-6, 600e-6, STEPS)),
    "a log that is appended to": Loop(calls={"log": constant(1.0)}).prices(log=50e-6),
    "rollouts dearer to learn from": Loop(**ROLLOUTS).prices(learn=250e-6),
    "garbage": Loop(garbage=constant(30e-6)).prices(),
    "something is sudden": Loop().prices(step=100e-6),
    "warming up": Loop().prices(learn=step_at(300e-6, 150e-6, 500)),
    "noise": Loop(noise=0.03).prices(),
    "a slower machine": Loop(machine=constant(1.5)).prices(),
}


def judged(loop, steps=STEPS, seed=0, **more):
    return drift({"blocks": loop.run(steps if not loop.train_every > 1 else 4 * steps, seed=seed), **more})


@pytest.mark.parametrize("planted", SICK)
def test_the_planted_cause_is_the_verdict(planted):
    loop, verdict, where = SICK[planted]
    for seed in (0, 1, 2):
        found = judged(loop, seed=seed)
        assert (found["verdict"], found["where"]) == (verdict, where), found["explanation"]


@pytest.mark.parametrize("planted", SICK)
def test_its_well_twin_is_judged_otherwise(planted):
    verdict = SICK[planted][1]
    for seed in (0, 1, 2):
        found = judged(WELL[planted], seed=seed)
        assert verdict not in [found["verdict"], *(other["verdict"] for other in found["also"])], found["explanation"]


@pytest.mark.parametrize("steps", [STEPS, 20_000])
def test_a_loop_in_which_nothing_changes_is_let_alone_on_a_wobbling_machine(steps):
    for seed in range(10):
        phase = np.random.default_rng(seed).uniform(0, 6.28)
        loop = Loop(learning_starts=1000, machine=lambda seconds, phase=phase: float(np.exp(0.1 * np.sin(0.7 * seconds + phase)))).prices()
        assert judged(loop, steps, seed)["verdict"] in ("none", "machine-noise")


def test_the_explanation_has_the_numbers_that_were_planted():
    found = judged(Loop(noise=0.0, learning_starts=40_000).prices(), clocks={"learning_starts": 40_000})
    assert found["explanation"] == (
        "from step 40 000 on the loop also learns: a step took 80 µs before and 250 µs after, of which learning 170 µs; nothing is wrong"
    )
    assert found["evidence"]["at_step"] == 40_000 and found["evidence"]["seconds_a_step"] == pytest.approx([80e-6, 250e-6])


def test_what_costs_more_comes_before_what_is_merely_more():
    loop = Loop(learning_starts=30_000, episode=line(20, 300, STEPS)).prices(sample=line(20e-6, 400e-6, STEPS))
    found = judged(loop)
    assert found["verdict"] == "cost-grows-with-buffer"
    assert {other["verdict"] for other in found["also"]} == {"learning-started", "episodes-got-longer"}


def test_rollouts_are_not_a_beginning_of_learning_again_and_again():
    for rollout in (2000, 10_000):
        assert judged(Loop(train_every=rollout, updates_each=rollout // 6, chunk=200).prices())["verdict"] == "none"


# Memory --------------------------------------------------------------------------------------------------------------

NOTHING_STORED = {"store": 0.0, "sample": 0.0}


@pytest.mark.parametrize(
    ("loop", "why"),
    [
        (Loop(resident=line(500, 900, STEPS)).prices(**NOTHING_STORED), "though nothing is being stored"),
        (Loop(resident=line(500, 500 + 0.3 * STEPS, STEPS)).prices(), "more than any transition takes"),
        (Loop(resident=lambda n: 500 + 0.02 * min(n, 30_000) + 0.003 * n).prices(), "after a first part in which it grew faster"),
        (Loop(resident=line(500, 900, STEPS)).prices(sample=until(20e-6, 26e-6, 40_000)), "the memory seems full since step"),
        (Loop(**ROLLOUTS, resident=line(500, 900, 4 * STEPS)).prices(), "each rollout takes the place of the one before"),
    ],
)
def test_memory_that_grows_where_nothing_needs_it_is_a_leak(loop, why):
    if why.startswith("though nothing"):
        loop.calls = {"store": constant(0.0), "sample": constant(0.0)}
    found = judged(loop)
    assert found["verdict"] == "memory-leak" and why in found["explanation"]


@pytest.mark.parametrize(
    "resident",
    [line(500, 900, STEPS), until(500, 900, 50_000), line(500, 510, STEPS), lambda n: 500 + 60 * np.log1p(n / 1000)],
    ids=["a replay that is filling", "a replay that is full", "the allocator", "growing ever slower"],
)
def test_memory_that_may_be_needed_is_no_leak(resident):
    assert judged(Loop(resident=resident).prices())["verdict"] == "none"


# The script's own figures --------------------------------------------------------------------------------------------


def claims_of(blocks, formula, every=4):
    """What a script would have told at every fourth row, by a formula of (seconds, steps, seconds at the telling before, steps then)."""
    rows = blocks["rows"][::every]
    told = []
    for before, row in zip(rows, rows[1:]):
        counts = {"seconds": row[0], "env_steps": row[1], "updates": row[3], "episodes": row[4]}
        told.append({**counts, "unit": "sps", "value": formula(row[0], row[1], before[0], before[1]), "text": ""})
    return told


def trimmed(seconds, steps, seconds_before, steps_before):
    return steps / (seconds - seconds_before)


def windowed(seconds, steps, seconds_before, steps_before):
    return (steps - steps_before) / (seconds - seconds_before)


def test_a_figure_that_rises_at_constant_speed_is_an_artifact():
    """All experiences ever, divided by the time of the last window."""
    blocks = Loop().prices().run(STEPS)
    found = drift({"blocks": blocks, "claims": claims_of(blocks, trimmed)})
    assert found["verdict"] == "metric-artifact" and "rises for ever" in found["explanation"]
    assert drift({"blocks": blocks, "claims": claims_of(blocks, windowed)})["verdict"] == "none"


def test_a_mean_that_lags_behind_a_real_change_is_told_beside_it():
    blocks = Loop(learning_starts=40_000).prices().run(STEPS)
    found = drift({"blocks": blocks, "claims": claims_of(blocks, lambda seconds, steps, *_: steps / seconds)})
    assert found["verdict"] == "learning-started" and [other["verdict"] for other in found["also"]] == ["metric-artifact"]


# The record ----------------------------------------------------------------------------------------------------------


NEVER_STEPPED = {"columns": ["seconds", "env_steps", "updates"], "rows": [[1, 0, 0]] * 50}


@pytest.mark.parametrize("blocks", [None, [], {}, {"columns": ["seconds"], "rows": []}, NEVER_STEPPED])
def test_a_record_without_a_course_is_inconclusive(blocks):
    found = drift({"blocks": blocks})
    assert (found["verdict"], found["where"], found["blocks"], found["also"]) == ("inconclusive", None, [], [])


def test_a_short_run_is_inconclusive_and_says_what_to_try():
    found = judged(Loop().prices(), steps=8000)
    assert found["verdict"] == "inconclusive" and found["explanation"].endswith("found 7; try a longer --budget")


def test_a_run_that_learns_only_after_its_last_step_is_borne():
    columns = ["seconds", "env_steps", "updates", "learn_seconds", "act_calls"]
    rows = [[3 + 0.25 * n, min(1000 * n, 30_000), max(0, n - 30), 0, 0] for n in range(1, 60)]
    assert drift({"blocks": {"columns": columns, "rows": rows}})["verdict"] == "inconclusive"


def test_too_few_rollouts_are_inconclusive():
    found = judged(Loop(train_every=50_000, updates_each=8000, chunk=200).prices(), steps=100_000)
    assert found["explanation"] == "too short to say: expected a dozen rollouts that are learned from, found 7; try a longer --budget"


def test_phases_need_not_be_known():
    columns = ["seconds", "env_steps", "updates"]
    rows = [[3 + 0.25 * n, 1000 * n, 0] for n in range(1, 60)]
    assert drift({"blocks": {"columns": columns, "rows": rows}})["verdict"] == "none"
    slower = [[3 + 0.25 * n + 0.01 * n**2, 1000 * n, 0] for n in range(1, 60)]
    assert drift({"blocks": {"columns": columns, "rows": slower}})["verdict"] == "price-changed"


def test_a_judgement_is_plain_data():
    found = judged(Loop(learning_starts=40_000).prices())
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_unknown_values_in_a_row_are_borne():
    blocks = Loop().prices().run(STEPS)
    place = blocks["columns"].index("rss_mb")
    blocks["rows"] = [[None if column == place else value for column, value in enumerate(row)] for row in blocks["rows"]]
    assert drift({"blocks": blocks})["verdict"] == "none"


# The course of a run -------------------------------------------------------------------------------------------------


def course(rows, columns=("seconds", "env_steps", "updates", "looking_seconds", "learn_seconds")):
    return course_of({"blocks": {"columns": list(columns), "rows": rows}})


def test_the_course_begins_at_the_first_step():
    found = course([[1, 0, 0, 0, 0], [5, 10, 0, 0, 0], [6, 20, 0, 0, 0], [7, 40, 5, 0, 0.5]])
    assert list(found.sums["seconds"]) == [0, 1, 2] and list(found.sums["env_steps"]) == [0, 10, 30] and list(found.clock) == [5, 6, 7]


def test_the_time_the_lab_took_is_not_the_loops():
    found = course([[0, 10, 0, 0, 0], [1, 20, 0, 0.01, 0], [2, 30, 0, 0.02, 0], [3, 40, 0, 0.03, 0]])
    assert list(found.sums["seconds"]) == pytest.approx([0, 0.99, 1.98, 2.97])


def test_work_done_while_the_lab_looked_at_every_call_is_left_out_however_long_it_looked():
    """A look of 1.5 seconds, booked at its end: both moments it reaches over are dropped, with their steps."""
    found = course([[0, 10, 0, 0, 0], [1, 20, 0, 0, 0], [2, 21, 0, 0, 9], [3, 25, 0, 1.5, 0], [4, 35, 0, 1.5, 0], [5, 45, 0, 1.5, 0]])
    assert list(found.sums["seconds"]) == [0, 1, 2, 3] and list(found.sums["env_steps"]) == [0, 10, 20, 30]
    assert list(found.env_steps) == [10, 20, 35, 45] and found.sums["learn_seconds"][-1] == 0


def test_blocks_of_equal_steps_and_of_equal_updates():
    """Two seconds without learning, then three with two updates each: by hand."""
    found = course([[0, 10, 0, 0, 0], [1, 20, 0, 0, 0], [2, 30, 0, 0, 0], [3, 34, 2, 0, 0], [4, 38, 4, 0, 0], [5, 42, 6, 0, 0]])
    by_steps = found.cut("env_steps", 2)
    assert list(by_steps.sums["env_steps"]) == pytest.approx([16, 16]) and list(by_steps.sums["seconds"]) == pytest.approx([1.6, 3.4])
    by_updates = found.part(found.learning_from()).cut("updates", 2)
    assert list(by_updates.sums["updates"]) == pytest.approx([2, 2]) and list(by_updates.per("seconds", "updates")) == pytest.approx([0.5, 0.5])


# Shapes and prices ---------------------------------------------------------------------------------------------------

AT = np.arange(40.0)
COURSES = {
    LEVEL: constant(2.0),
    STEP: step_at(1.0, 2.0, 25),
    LINE: line(1.0, 2.0, 39),
    UNTIL: until(1.0, 2.0, 20),
    SINCE: since(1.0, 3.0, 20, 39),
}


@pytest.mark.parametrize("kind", COURSES)
def test_a_shape_is_known_through_noise(kind):
    truth = np.array([COURSES[kind](n) for n in AT])
    for seed in range(10):
        found = shape(AT, truth * np.exp(np.random.default_rng(seed).normal(0, 0.03, 40)))
        assert found.kind == kind and found.factor == pytest.approx(truth[-1] / truth[0], rel=0.1)
        assert found.at is None or abs(found.at - {STEP: 25, UNTIL: 20, SINCE: 20}[kind]) <= 4


def test_a_single_slow_block_is_no_shape():
    values = np.exp(np.random.default_rng(0).normal(0, 0.03, 40))
    values[17] *= 4
    assert shape(AT, values).kind == LEVEL


def test_change_points_are_where_the_level_changes():
    levels = np.repeat([1.0, 2.0, 1.5], [10, 15, 15])
    for seed in range(10):
        assert change_points(levels * np.exp(np.random.default_rng(seed).normal(0, 0.03, 40))) == [10, 25]
    assert change_points(np.exp(np.random.default_rng(0).normal(0, 0.03, 40))) == []


def test_prices_are_told_from_the_mix_of_work():
    """A step 100 µs, an update 300 µs, and now more of the one, now of the other."""
    rng = np.random.default_rng(0)
    rows, seconds, steps, updates = [], 0.0, 1, 0
    for _ in range(80):
        more = rng.integers(1000, 2000), rng.integers(0, 1000)
        steps, updates, seconds = steps + more[0], updates + more[1], seconds + (100e-6 * more[0] + 300e-6 * more[1])
        rows.append([seconds, steps, updates, 0, 0])
    found = prices(course(rows).cut("env_steps", 30), ["env_steps", "updates", "episodes"])
    assert found.each == pytest.approx({"env_steps": 100e-6, "updates": 300e-6}, rel=1e-6) and found.explained == pytest.approx(1)


def test_work_that_grows_with_what_is_stored_has_a_price_of_its_own():
    """20 µs a sample and 2.8 ns for each transition stored, as planted."""
    regression = judged(Loop(noise=0.0).prices(sample=line(20e-6, 300e-6, STEPS)))["evidence"]["regression"]
    assert regression["seconds_each"]["samples_x_stored"] == pytest.approx(2.8e-9, rel=0.02) and regression["explained"] > 0.99
    assert judged(Loop(noise=0.0).prices())["evidence"]["regression"]["seconds_each"]["samples_x_stored"] == pytest.approx(0, abs=1e-11)


def test_a_run_differs_from_itself_by_chance_only():
    intervals = [twins(np.exp(np.random.default_rng(seed).normal(0, 0.1, 40)), np.random.default_rng(1)) for seed in range(40)]
    assert sum(found["low"] < 1 < found["high"] for found in intervals) >= 34
    assert all(found["high"] / found["low"] < 1.2 for found in intervals)


# Told to people ------------------------------------------------------------------------------------------------------


def test_lines_for_a_terminal():
    blocks = [
        {"to_step": 1000.0 * n, "steps_per_second": speed, "updates": 10.0, "episodes": 2.0, "rss_mb": 512.0}
        for n, speed in enumerate((4000.0, 4000.0, 1000.0), start=1)
    ]
    found = {"verdict": "cost-grows-with-buffer", "where": "sample", "explanation": "sample took more", "blocks": blocks}
    found["evidence"] = {"change_points": [2000.0]}
    found["also"] = [{"verdict": "learning-started", "where": "learn", "explanation": "it learns"}]
    assert drift_lines({"drift": found}) == [
        "drift: cost-grows-with-buffer in sample · sample took more",
        "also learning-started: it learns",
        "steps/s ██▁ 1.00 k to 4.00 k, by blocks of equal work",
        "it changed at step 2.00 k",
        "   to step   steps/s   updates  episodes       MB",
        "    1.00 k    4.00 k        10         2      512",
        "    2.00 k    4.00 k        10         2      512",
        "    3.00 k    1.00 k        10         2      512",
    ]


def test_no_lines_where_nothing_was_judged():
    assert drift_lines({}) == [] and drift_lines({"drift": None}) == []
    assert len(drift_lines({"drift": drift({})})) == 1
