"""Contract: what `hotloop check` asks of a game, on every machine there is.

    for answer in examine(Trial(env)):
        print(answer.question, answer.target, answer.status, answer.detail)

A check is a function that takes a trial and a target and raises `Broken` with a sentence when the game breaks it; its name is the question. Adding one
is that function and its line in CHECKS.
"""

from __future__ import annotations

import functools
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import psutil
from gymnasium.spaces import Box as GymBox

from hotloop.engine.cuda import NoGpu, numba_cuda
from hotloop.engine.env import NO_LIMIT, Env, parameters
from hotloop.engine.explain import explain
from hotloop.engine.rules import broken_rules, short, uses_maths_library
from hotloop.engine.trial import (
    Broken,
    Row,
    Trial,
    allowed_by_head,
    hold_equal,
    play_strictly,
    random_actions,
    rounding,
    seen,
    side_by_side,
    take,
    watched,
)
from hotloop.engine.vecenv import TARGETS, Outcome, VecEnv, make_envs

Status = Literal["ok", "within", "failed", "skipped"]
LOOKING = ("observe", "mask", "look", "pixel", "score")
PATTERNS = (0, 1)  # what rows and scratch are filled with beforehand: a game that reads them, or leaves them, will differ
KEPT_BYTES = 64 * 1024  # what Python itself may hold on to over a few hundred steps
ALLOCATING_STEPS = 500


class NotAsked(Exception):
    """The question does not arise for this game, or cannot be asked on this machine."""


class Answer(NamedTuple):
    question: str
    target: str
    status: Status
    detail: str = ""
    seconds: float = 0.0


class Check(NamedTuple):
    ask: Callable[[Trial, str], str | None]  # raises Broken; what it returns says how near a game came that does not agree exactly
    targets: tuple[str, ...] = TARGETS
    gate: bool = False  # a game that fails this one could harm the process that goes on asking

    @property
    def question(self) -> str:
        return self.ask.__name__.replace("_", " ")


def examine(trial: Trial) -> Iterator[Answer]:
    """Every question, on every target, in an order in which nothing dangerous runs before it was asked about."""
    for check, target in questions(trial):
        yield answer(trial, check, target)


def questions(trial: Trial) -> list[tuple[Check, str]]:
    """All questions: `python` first, because what is wrong there would be undefined on the others."""
    return [(check, target) for target in TARGETS if target in trial.targets for check in CHECKS if target in check.targets]


def answer(trial: Trial, check: Check, target: str) -> Answer:
    shut = trial.shut.get("python") or trial.shut.get(target)
    if shut:
        return Answer(check.question, target, "skipped", shut)
    started = time.perf_counter()
    status, detail = _asked(trial, check, target)
    if status == "failed" and check.gate:
        trial.shut[target] = f"on {target} the game fails the question above: {check.question}"
    return Answer(check.question, target, status, detail, time.perf_counter() - started)


def _asked(trial: Trial, check: Check, target: str) -> tuple[Status, str]:
    try:
        nearly = check.ask(trial, target)
        return ("within", nearly) if nearly else ("ok", "")
    except NotAsked as reason:
        return "skipped", str(reason)
    except NoGpu as reason:
        trial.shut[target] = str(reason)
        return "skipped", str(reason)
    except Exception as error:  # a game's own: anybody's code runs here
        return "failed", told(error, trial.env)


def told(error: Exception, env: Env) -> str:
    """What is wrong, and at which step of which game where that is known."""
    notes = "; ".join(getattr(error, "__notes__", ()))
    return (str(error) if isinstance(error, Broken) else explain(error, env)) + (f" ({notes})" if notes else "")


# ---------------------------------------------------------------- of the source and the spaces


def its_source_keeps_to_what_games_may_use(trial: Trial, target: str) -> None:
    broken = broken_rules(trial.env)
    if broken:
        raise Broken(f"{broken[0]}{f' (and {len(broken) - 1} more)' if len(broken) > 1 else ''}")


def its_spaces_are_sane(trial: Trial, target: str) -> None:
    for name, box in trial.env.observations.items():
        if not np.all(box.low <= box.high):
            raise Broken(f"observation {name!r} has bounds that no number fits: {box}")
        if not box.contains(box.sample()):
            raise Broken(f"observation {name!r}: {box} does not contain its own samples; try another dtype")
    action = trial.env.action
    if isinstance(action, GymBox) and not np.all(action.low < action.high):
        raise Broken(f"actions {action} leave nothing to choose: low must be below high")


# ---------------------------------------------------------------- what would be undefined on compiled machines


def indices_stay_inside_their_arrays(trial: Trial, target: str) -> None:
    _raises_no(trial, lambda error: isinstance(error, IndexError))


def the_world_is_never_written(trial: Trial, target: str) -> None:
    if not trial.env.world:
        raise NotAsked("it has no world")
    if target == "python":  # where its arrays are read-only
        return _raises_no(trial, lambda error: isinstance(error, ValueError) and "read-only" in str(error))
    envs = trial.envs(target)
    before = envs.host(envs.world).tobytes()
    for step, _ in trial.play(envs):
        if envs.host(envs.world).tobytes() != before:
            raise Broken(f"the world has changed by step {step}; all games share it and none may change it")
    return None


def _raises_no(trial: Trial, kind: Callable[[Exception], bool]) -> None:
    try:
        play_strictly(trial)
    except Exception as error:  # other kinds are another question's business
        if kind(error):
            raise


def endings_and_rewards_are_those_it_names(trial: Trial, target: str) -> None:
    endings, reward_parts = trial.env.endings, trial.env.reward_parts

    def around(name: str, step: Callable, arguments: tuple) -> Any:
        found = step(*arguments)
        if not isinstance(found, tuple) or len(found) != 2:
            raise Broken(f"{_place(step)}: step returned {found!r}; it must return two things everywhere: reward, ended")
        reward, ending = found
        if isinstance(ending, float) or not 0 <= int(ending) <= len(endings):
            named = ", ".join(f"{k} for {name!r}" for k, name in enumerate(endings, 1))
            raise Broken(f"{_place(step)}: step returned the ending {ending!r}; expected 0 to go on, {named}")
        if reward_parts and (not isinstance(reward, tuple) or len(reward) != len(reward_parts)):
            raise Broken(f"{_place(step)}: step returned the reward {reward!r}; expected a tuple of {len(reward_parts)}: {', '.join(reward_parts)}")
        if not reward_parts and isinstance(reward, tuple):
            raise Broken(f"{_place(step)}: step returned the reward {reward!r}; expected one number, or reward_parts=(…) in the Env that name its parts")
        return found

    play_strictly(trial, watched(trial.env, ("step",), around))


def it_plays_without_an_error(trial: Trial, target: str) -> None:
    if target == "python":
        return play_strictly(trial)
    if target == "cuda":
        numba_cuda()
    for _ in trial.play(trial.envs(target), 10):
        pass
    return None


# ---------------------------------------------------------------- looking


def looking_changes_nothing(trial: Trial, target: str) -> None:
    def around(name: str, look: Callable, arguments: tuple) -> Any:
        record = arguments[0]._record
        before = record.copy()
        found = look(*arguments)
        changed = [f for f in record.dtype.names if record[f].tobytes() != before[f].tobytes()]
        if changed:
            raise Broken(f"{_place(look)}: {name} changes s.{changed[0]}; only reset and step may change the state")
        return found

    play_strictly(trial, watched(trial.env, LOOKING, around))


def pictures_are_rgb_and_change_nothing(trial: Trial, target: str) -> None:
    render = trial.env.render
    if render is None:
        raise NotAsked("it has no render")
    envs = trial.envs("python")
    for step, _ in trial.play(envs, 20):
        before = envs.games.tobytes()
        picture = np.asarray(render(envs.game(0)))
        if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or picture.size == 0:
            raise Broken(f"{_place(render)}: render gives {picture.dtype} of shape {picture.shape}; expected uint8 of (height, width, 3)")
        if envs.games.tobytes() != before:
            raise Broken(f"{_place(render)}: render changes the state at step {step}; only reset and step may")


def observations_are_finite_and_fit_their_box(trial: Trial, target: str) -> None:
    envs = trial.envs(target)
    for step, _ in trial.play(envs):
        row, everyone = seen(envs), np.ones(envs.num_envs, bool)
        for which, games in (("observation", everyone), ("last observation", row["truncated"])):
            for name, box in trial.env.observations.items():
                values = row[f"{which} {name}"][games]
                wrong = np.argwhere(~(np.isfinite(values) & (values >= box.low) & (values <= box.high)))
                if len(wrong):
                    game, *index = wrong[0].tolist()
                    bounds = f"{box.low[tuple(index)]} to {box.high[tuple(index)]}"
                    where = f"at step {step}, game {np.flatnonzero(games)[game]}"
                    raise Broken(f"{where}: {which} {name}{index} is {values[(game, *index)]}, outside its Box of {bounds}")


def observations_are_written_whole(trial: Trial, target: str) -> None:
    envs, histories = trial.envs(target), []
    for pattern in PATTERNS:

        def spoil(pattern: int = pattern) -> None:
            for array in (*envs.obs.values(), *envs.last.values()):
                envs._put(array, np.full_like(envs.host(array), pattern))

        histories.append([_written(row) for row in trial.history(envs, spoil)[1:]])
    hold_equal(histories, "a number was not written (rows are not cleared beforehand; write a 0 where there is nothing)")


def _written(row: Row) -> Row:
    """What must be there after a step: the observations, and those episodes stopped in."""
    stopped = row["terminated"] | row["truncated"]
    lasts = {name: array * stopped.reshape(-1, *[1] * (array.ndim - 1)) for name, array in row.items() if name.startswith("last")}
    return {name: array for name, array in row.items() if name.startswith("observation")} | lasts


def the_mask_allows_at_least_one_action(trial: Trial, target: str) -> None:
    if trial.env.mask is None:
        raise NotAsked("it has no mask")
    envs = trial.envs(target)
    for step, _ in trial.play(envs):
        for allowed in allowed_by_head(envs):
            stuck = np.flatnonzero(~allowed.any(1))
            if len(stuck):
                raise Broken(f"at step {step}, game {stuck[0]}: the mask allows none of {allowed.shape[1]} actions; end the episode instead")


# ---------------------------------------------------------------- playing


def rewards_are_finite(trial: Trial, target: str) -> None:
    envs = trial.envs(target)
    for step, actions in trial.play(envs):
        rewards = envs.host(envs.outcome.rewards)
        wrong = np.flatnonzero(~np.isfinite(rewards))
        if len(wrong):
            raise Broken(f"at step {step}, game {wrong[0]}: after action {actions[wrong[0]]} the reward is {rewards[wrong[0]]}")


def a_step_limit_cuts_off_and_is_no_death(trial: Trial, target: str) -> None:
    limit = min(3, trial.env.max_steps)
    envs = make_envs(replace(trial.env, max_steps=limit), trial.games, target="python")
    for step, _ in trial.play(envs, 30):
        books, (_, terminated, truncated) = envs.books, envs.outcome
        for game in np.flatnonzero((terminated & truncated) | (books["age"] >= limit)):
            raise Broken(f"at step {step}, game {game}: with a limit of {limit}, terminated is {terminated[game]} and truncated {truncated[game]}")
        for game in np.flatnonzero(truncated & ((books["length"] != limit) | (books["ending"] != 0))):
            raise Broken(f"at step {step}, game {game}: cut off after {books['length'][game]} steps, with a limit of {limit}")


def episodes_come_to_an_end(trial: Trial, target: str) -> None:
    if trial.env.max_steps != NO_LIMIT:
        return
    envs, steps = trial.envs(target), max(trial.steps, 5000)
    for _ in trial.play(envs, steps):
        if envs.books["episodes"].any():
            return
    raise Broken(f"no episode of {envs.num_envs} games ended within {steps} random steps, and there is no limit; give the Env max_steps")


def scratch_is_never_read_before_it_is_written(trial: Trial, target: str) -> None:
    if trial.env.scratch is None:
        raise NotAsked("it has no scratch")
    histories = []
    for pattern in PATTERNS:
        if target == "python":  # spoilt between any two calls
            takers = tuple(n for n in ("reset", "step", *LOOKING) if getattr(trial.env, n) and "scratch" in parameters(getattr(trial.env, n)))
            histories.append(trial.history(make_envs(watched(trial.env, takers, functools.partial(_spoil_first, pattern)), trial.games, target="python")))
        else:  # between steps
            envs = trial.envs(target)
            spoilt = np.full(envs.host(envs.scratch).nbytes, pattern, np.uint8).view(trial.env.scratch)
            histories.append(trial.history(envs, functools.partial(envs._put, envs.scratch, spoilt)))
    hold_equal(histories, "what was left in scratch changes the game")


def _spoil_first(pattern: int, name: str, function: Callable, arguments: tuple) -> Any:
    room = arguments[parameters(function).index("scratch")]._record
    for field in room.dtype.names:
        room[field] = pattern
    return function(*arguments)


# ---------------------------------------------------------------- playing the same again


def it_plays_as_on_python(trial: Trial, target: str) -> str | None:
    return _agreement(trial, "python", target)


def it_plays_as_on_cpu(trial: Trial, target: str) -> str | None:
    if "cpu" not in trial.targets or "cpu" in trial.shut:
        raise NotAsked(trial.shut.get("cpu", "cpu was not asked"))
    return _agreement(trial, "cpu", target)


def equal_seeds_play_equal_games(trial: Trial, target: str) -> None:
    envs = trial.envs(target)
    hold_equal([trial.history(envs), trial.history(envs)], "the same seed went differently (is there luck that is not from rng, or memory outside the state?)")


def more_games_leave_the_first_ones_alone(trial: Trial, target: str) -> None:
    envs, more = trial.envs(target), trial.envs(target, trial.games_on(target) + 5)
    side_by_side(trial, envs, more, "with 5 more games", f"among {envs.num_envs}", f"among {more.num_envs}")


def the_order_of_games_does_not_matter(trial: Trial, target: str) -> None:
    envs = trial.envs(target)
    side_by_side(trial, envs, InReverse(trial.env, envs.num_envs, target=target, threads=1), "played from the last to the first", "in order", "in reverse")
    if target == "cpu":
        with_threads = make_envs(trial.env, envs.num_envs, target="cpu", threads=min(3, envs.num_envs))
        try:
            side_by_side(trial, envs, with_threads, "with three threads", "with one", "with three")
        finally:
            with_threads.close()


class InReverse(VecEnv):
    """Games stepped from the last to the first."""

    def step(self, actions: Any, *, into: Outcome | None = None, obs: Any = None) -> Outcome:
        args = self._arguments(actions, self.outcome, self.obs)
        for i in reversed(range(self.num_envs)):
            self._advance(i, i + 1, 0, *args)
        return self.outcome


def saved_games_go_on_as_they_would_have(trial: Trial, target: str) -> None:
    envs, histories = trial.envs(target), []
    half = max(step for step, _ in trial.play(envs, min(trial.steps, 100)))
    saved = envs.save()
    for _ in range(2):
        envs.restore(saved)
        history = []
        for step in range(half + 1, 2 * half + 1):
            take(envs, random_actions(envs, trial.seed, step))
            history.append({name: array.copy() for name, array in seen(envs).items() if not name.startswith("last")})
        histories.append(history)
    hold_equal(histories, f"saved after {half} steps and put back, games went on differently (is there memory outside the state?)")


def stepping_allocates_nothing(trial: Trial, target: str) -> None:
    envs, process = trial.envs(target), psutil.Process()
    for _ in trial.play(envs, 10):
        pass
    tracemalloc.start()
    try:
        envs.step(envs.actions)
        resident, traced = process.memory_info().rss, tracemalloc.get_traced_memory()[0]
        for _ in range(ALLOCATING_STEPS):
            envs.step(envs.actions)
        kept = tracemalloc.get_traced_memory()[0] - traced
        grown = process.memory_info().rss - resident
    finally:
        tracemalloc.stop()
    if kept > KEPT_BYTES or grown > ALLOCATING_STEPS * envs.num_envs * 8 + 64 * KEPT_BYTES:
        raise Broken(f"{ALLOCATING_STEPS} steps of {envs.num_envs} games kept {max(kept, grown) >> 10} KiB; nothing may be allocated while stepping")


def _agreement(trial: Trial, reference: str, target: str) -> str | None:
    """Bit for bit; or, in a game that asks a maths library, within a few units in the last place after every single step."""
    left, right = trial.envs(reference), trial.envs(target)
    try:
        side_by_side(trial, left, right, f"{target} differs from {reference}", f"on {reference}", f"on {target}")
        return None
    except Broken:
        if not uses_maths_library(trial.env):
            raise
    units, step, where = rounding(trial, left, right)
    if where is None:
        return None
    if units > trial.ulps:
        raise Broken(
            f"{target} differs from {reference} after one step from equal states, by {units:.0f} units in the last place where {trial.ulps} are allowed: "
            f"at step {step}, {where.told(f'on {reference}', f'on {target}')}"
        )
    return f"within {max(1, round(units))} ulps of {reference} after every step from equal states (most in {where.name})"


def _place(function: Callable) -> str:
    code = function.__code__
    return f"{short(code.co_filename)}:{code.co_firstlineno}"


PYTHON, COMPILED = ("python",), ("cpu", "cuda")
CHECKS = (
    Check(its_source_keeps_to_what_games_may_use, PYTHON),
    Check(its_spaces_are_sane, PYTHON),
    Check(indices_stay_inside_their_arrays, PYTHON, gate=True),
    Check(the_world_is_never_written, PYTHON, gate=True),
    Check(endings_and_rewards_are_those_it_names, PYTHON, gate=True),
    Check(it_plays_without_an_error, gate=True),
    Check(the_world_is_never_written, COMPILED, gate=True),
    Check(looking_changes_nothing, PYTHON),
    Check(pictures_are_rgb_and_change_nothing, PYTHON),
    Check(it_plays_as_on_python, COMPILED),
    Check(it_plays_as_on_cpu, ("cuda",)),
    Check(observations_are_finite_and_fit_their_box),
    Check(observations_are_written_whole),
    Check(the_mask_allows_at_least_one_action),
    Check(rewards_are_finite),
    Check(a_step_limit_cuts_off_and_is_no_death, PYTHON),
    Check(episodes_come_to_an_end, ("cpu",)),
    Check(scratch_is_never_read_before_it_is_written),
    Check(equal_seeds_play_equal_games),
    Check(more_games_leave_the_first_ones_alone, ("python", "cpu")),
    Check(the_order_of_games_does_not_matter, ("python", "cpu")),
    Check(saved_games_go_on_as_they_would_have),
    Check(stepping_allocates_nothing, ("cpu",)),
)
