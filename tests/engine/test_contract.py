"""The contract: every game of ours keeps it, and every check catches a game that does not."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sick_games as games
from sick_games import sick, well

from hotloop.engine import contract
from hotloop.engine.contract import CHECKS, Answer, answer, examine, questions
from hotloop.engine.env import NO_LIMIT, Box, MultiDiscrete
from hotloop.engine.trial import Trial, random_actions, ulps_between
from hotloop.engine.vecenv import VecEnv
from hotloop.envs import ENVS, make_env


def failures(env, targets=("python",), **sizes) -> list[Answer]:
    return [a for a in examine(Trial(env, targets, **{"games": 4, "steps": 40, **sizes})) if a.status == "failed"]


def asked(question: str, env, target: str, **sizes) -> Answer:
    """One question alone: a sick game would be stopped before by others."""
    check = next(c for c in CHECKS if c.question == question)
    return answer(Trial(env, (target,), **{"games": 4, "steps": 40, **sizes}), check, target)


# Well games ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENVS)
def test_every_game_keeps_the_contract_on_python_and_cpu(name):
    answers = list(examine(Trial(make_env(name), ("python", "cpu"), games=4, steps=60)))
    assert [a for a in answers if a.status == "failed"] == []
    assert {a.status for a in answers if a.question == "it plays as on python"} == {"ok"}


ON_CUDA = """
from hotloop.engine.contract import examine
from hotloop.engine.trial import Trial
from hotloop.envs import ENVS, make_env
for name in ENVS:
    for a in examine(Trial(make_env(name), ("python", "cuda"), games=2, steps=8)):
        print(name, a.target, a.status, a.question, a.detail)
"""


def test_every_game_keeps_the_contract_on_simulated_cuda():
    said = in_another_python(ON_CUDA, NUMBA_ENABLE_CUDASIM="1")
    assert [line for line in said if " failed " in line] == []
    assert [line.strip() for line in said if "it plays as on python" in line] == [f"{name} cuda ok it plays as on python" for name in ENVS]


def in_another_python(program: str, **environment: str) -> list[str]:
    answered = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, **environment}, cwd=Path(__file__).parent)
    assert answered.returncode == 0, answered.stderr
    return answered.stdout.splitlines()


@pytest.mark.gpu
@pytest.mark.parametrize("name", ENVS)
def test_every_game_keeps_the_contract_on_a_gpu(name):
    if not has_gpu():
        pytest.skip("there is no GPU")
    answers = list(examine(Trial(make_env(name))))
    assert [a for a in answers if a.status == "failed"] == []
    assert {a.status for a in answers if a.question == "it plays as on python" and a.target == "cuda"} <= {"ok", "within"}


def test_the_well_game_keeps_the_contract_on_python_and_cpu():
    assert failures(well, ("python", "cpu")) == []


@pytest.mark.parametrize(
    "env",
    [
        sick(mask=games.mask_one, step=games.step_where_masked),
        sick(step=games.write_scratch, scratch=games.ROOM),
        sick(step=games.read_world, world=games.TABLE),
        sick(render=games.render_colours),
    ],
    ids=["mask", "scratch", "world", "render"],
)
def test_a_well_game_that_has_more_keeps_the_contract_on_python(env):
    assert failures(env) == []


# Sick games ----------------------------------------------------------------------------------------------------------

SICK = {
    "its source keeps to what games may use": (sick(step=games.step_by_foreign_luck), "sick_games.py:{line}: step draws luck from np.random"),
    "its spaces are sane": (sick(action=Box(1, 1, (1,))), "low must be below high"),
    "indices stay inside their arrays": (sick(step=games.step_beyond_the_end), r"s.cells[5], but its indices are 0 to 4 (at step 3, game 0)"),
    "the world is never written": (sick(step=games.write_world, world=games.TABLE), "writes to the world"),
    "endings and rewards are those it names": (sick(step=games.step_to_an_unnamed_ending), "step returned the ending 3; expected 0 to go on, 1 for 'ended'"),
    "it plays without an error": (sick(step=games.step_by_zero), "divides by zero"),
    "looking changes nothing": (sick(observe=games.observe_and_change), "observe changes s.cells"),
    "pictures are rgb and change nothing": (sick(render=games.render_grey), "render gives uint8 of shape (4, 4)"),
    "observations are finite and fit their box": (sick(observe=games.observe_beyond_its_box), "observation obs[1] is 6.0, outside its Box of -1.0 to 5.0"),
    "observations are written whole": (sick(observe=games.observe_half), "observation obs[1] is 0.0 once, 1.0 the other time"),
    "the mask allows at least one action": (sick(mask=games.mask_everything, step=games.step_where_masked), "the mask allows none of 2 actions"),
    "rewards are finite": (sick(step=games.step_to_nan), "the reward is nan"),
    "scratch is never read before it is written": (sick(step=games.read_scratch, scratch=games.ROOM), "reward is 1.0 once, 2.0 the other time"),
    "equal seeds play equal games": (sick(step=games.step_by_pythons_luck), "the same seed went differently"),
    "more games leave the first ones alone": (sick(step=games.step_that_remembers), "s.x is"),
    "the order of games does not matter": (sick(step=games.step_that_remembers), "played from the last to the first"),
    "saved games go on as they would have": (sick(step=games.step_that_remembers), "saved after 40 steps and put back"),
}


@pytest.mark.parametrize("question", SICK)
@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered")
def test_a_sick_game_is_caught_on_python(question):
    env, sentence = SICK[question]
    games.MEMORY[:] = 0
    found = asked(question, env, "python")
    assert found.status == "failed" and sentence.format(line=line_of(games.step_by_foreign_luck, 1)) in found.detail, found


def line_of(function, offset: int) -> int:
    return function.__code__.co_firstlineno + offset


def test_every_check_has_a_sick_game():
    others = {"it plays as on python", "it plays as on cpu", "episodes come to an end", "stepping allocates nothing", "a step limit cuts off and is no death"}
    assert {c.question for c in CHECKS} == set(SICK) | others


@pytest.mark.parametrize(
    ("env", "question", "sentence"),
    [
        (
            sick(step=games.step_before_the_start),
            "indices stay inside their arrays",
            "its indices are 0 to 4; write 4 if the far end is meant",
        ),
        (sick(score=games.score_and_change), "looking changes nothing", "score changes s.total"),
        (sick(render=games.render_and_change), "pictures are rgb and change nothing", "render changes the state"),
        (sick(step=games.step_too_wide), "it plays without an error", "a number that does not fit"),
        (sick(step=games.step_with_one_part_too_few, reward_parts=("a", "b", "c")), "endings and rewards are those it names", "a tuple of 3: a, b, c"),
        (
            sick(step=games.write_scratch, observe=games.read_scratch_of_step, scratch=games.ROOM),
            "scratch is never read before it is written",
            "observation obs[0]",
        ),
        (sick(step=games.step_with_unsigned_numbers), "its source keeps to what games may use", "reads NARROW, which is uint8"),
    ],
)
def test_other_ways_to_break_a_rule_are_caught_on_python(env, question, sentence):
    found = asked(question, env, "python")
    assert found.status == "failed" and sentence in found.detail, found


@pytest.mark.parametrize(
    ("env", "question", "sentence"),
    [
        (sick(step=games.step_by_foreign_luck), "equal seeds play equal games", "the same seed went differently"),
        (sick(step=games.read_scratch, scratch=games.ROOM), "scratch is never read before it is written", "the other time"),
        (sick(step=games.step_for_ever, max_steps=NO_LIMIT), "episodes come to an end", "give the Env max_steps"),
        (sick(observe=games.observe_half), "observations are written whole", "observation obs[1]"),
    ],
    ids=["luck", "scratch", "end", "whole"],
)
def test_a_sick_game_is_caught_on_cpu(env, question, sentence):
    found = asked(question, env, "cpu")
    assert found.status == "failed" and sentence in found.detail, found


def test_a_world_that_is_written_by_compiled_code_is_noticed():
    found = asked("the world is never written", sick(step=games.write_world, world=games.TABLE), "cpu")
    assert found.status == "failed"


def test_machines_that_differ_are_named_with_step_game_field_and_both_values():
    found = asked("it plays as on python", sick(step=games.step_where_machines_differ), "cpu")
    assert found.detail == "cpu differs from python: at step 3, game 0: s.x is 5 on python, 6 on cpu"


def test_a_game_that_breaks_on_python_is_not_tried_on_machines_where_that_would_be_undefined():
    answers = list(examine(Trial(sick(step=games.step_beyond_the_end), ("python", "cpu"), games=2, steps=10)))
    assert {a.status for a in answers if a.target == "cpu"} == {"skipped"}


def test_a_game_that_does_not_compile_is_asked_nothing_more_on_that_machine():
    def step(s, action, rng):
        return [0.0][0], 0

    answers = list(examine(Trial(sick(step=step), ("python", "cpu"), games=2, steps=5)))
    failed = [a for a in answers if a.status == "failed"]
    assert [(a.question, a.target) for a in failed] == [("its source keeps to what games may use", "python"), ("it plays without an error", "cpu")]
    assert f"{line_of(step, 1)}: step makes a list" in failed[1].detail


# Rounding ------------------------------------------------------------------------------------------------------------


def cpu_that_rounds_differently(units: int):
    """A cpu whose maths library is wrong by some units in the last place of `total`."""

    class Other(VecEnv):
        def step(self, actions, **places):
            outcome = super().step(actions, **places)
            for _ in range(units):
                self.games["total"] = np.nextafter(self.games["total"], 9.0)
            return outcome

    return Other


@pytest.mark.parametrize(("units", "status"), [(1, "within"), (4, "within"), (5, "failed")])
def test_maths_that_rounds_differently_is_held_to_4_units_in_the_last_place(units, status):
    trial = Trial(sick(step=games.step_with_sines), ("cpu",), games=4, steps=30)
    trial._envs["cpu", 128] = cpu_that_rounds_differently(units)(trial.env, 128, threads=1)
    found = answer(trial, next(c for c in CHECKS if c.question == "it plays as on python"), "cpu")
    assert found.status == status and ("s.total" in found.detail), found


def test_a_game_without_maths_gets_no_allowance():
    trial = Trial(well, ("cpu",), games=4, steps=30)
    trial._envs["cpu", 128] = cpu_that_rounds_differently(1)(trial.env, 128, threads=1)
    found = answer(trial, next(c for c in CHECKS if c.question == "it plays as on python"), "cpu")
    assert found.status == "failed" and "at step 1, game 0: s.total is" in found.detail


def test_units_are_those_of_the_largest_value_a_number_came_from():
    one, after = np.array([1.0]), np.nextafter(1.0, 2.0)
    assert ulps_between(one, np.array([after]), one) == 1
    assert ulps_between(np.array([0.0]), np.array([after - 1.0]), one) == 1  # 1 - 1 may leave what was lost at 1
    assert ulps_between(np.array([0.0]), np.array([after - 1.0]), np.array([0.0])) > 1e15
    assert ulps_between(np.array([3]), np.array([4]), np.array([3])) == np.inf  # whole numbers are equal or not


# The engine's own promises, broken -----------------------------------------------------------------------------------


def test_a_death_at_the_limit_is_noticed(monkeypatch):
    def dead_at_the_limit(env, num_envs, **settings):
        class Wrong(VecEnv):
            def step(self, actions, **places):
                outcome = super().step(actions, **places)
                outcome.terminated[outcome.truncated] = True
                return outcome

        return Wrong(env, num_envs, **settings)

    monkeypatch.setattr(contract, "make_envs", dead_at_the_limit)
    assert "terminated is True and truncated True" in asked("a step limit cuts off and is no death", well, "python").detail


def test_a_step_that_keeps_memory_is_noticed():
    class Hoarder(VecEnv):
        kept: list = []

        def step(self, actions, **places):
            self.kept.append(bytes(1000))
            return super().step(actions, **places)

    trial = Trial(well, ("cpu",), games=4, steps=5)
    trial._envs["cpu", 128] = Hoarder(well, 128, threads=1)
    found = answer(trial, next(c for c in CHECKS if c.question == "stepping allocates nothing"), "cpu")
    assert found.status == "failed" and "nothing may be allocated while stepping" in found.detail


# How games are played ------------------------------------------------------------------------------------------------


def test_random_actions_keep_to_the_space_and_the_mask_and_do_not_depend_on_how_many_games_there_are():
    masked = sick(mask=games.mask_one, step=games.step_where_masked)
    few, many = Trial(masked, games=3).envs("python"), Trial(masked, games=9).envs("python")
    few.reset(), many.reset()
    for step in range(50):
        assert (random_actions(few, 7, step) == random_actions(many, 7, step)[:3]).all()
        assert many.obs["allowed"][np.arange(9), random_actions(many, 7, step)].all()


def test_random_actions_reach_every_choice_of_every_head():
    def one_step(s, action, rng):
        return float(action[0] * 10 + action[1]), 0

    envs = Trial(sick(action=MultiDiscrete([2, 3]), step=one_step), games=4).envs("python")
    drawn = np.concatenate([random_actions(envs, 0, step) for step in range(50)])
    assert {tuple(a) for a in drawn.tolist()} == {(a, b) for a in range(2) for b in range(3)}


def test_questions_are_sentences_and_python_comes_first():
    trial = Trial(well)
    targets = [target for _, target in questions(trial)]
    assert targets == sorted(targets, key=["python", "cpu", "cuda"].index)
    assert all(len(c.question.split()) >= 3 for c in CHECKS)


@functools.cache
def has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def test_a_machine_that_is_not_here_is_skipped_with_the_reason():
    if has_gpu():
        pytest.skip("it is here")
    answers = list(examine(Trial(well, ("cuda",), games=1, steps=1)))
    assert {a.status for a in answers} == {"skipped"}
    assert "needs an NVIDIA GPU" in answers[0].detail


@pytest.mark.parametrize(("settings", "sentence"), [({"targets": ("tpu",)}, "unknown target 'tpu'"), ({"games": 0}, "at least one game")])
def test_a_trial_that_cannot_be_held_says_why(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        Trial(well, **settings)
