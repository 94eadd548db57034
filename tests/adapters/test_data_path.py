"""From a game's step to a learner's batch: every observation, reward and end is where it belongs, in every autoreset mode."""

from functools import partial

import numpy as np
import pytest
from counting import LIMIT, Counting, check, counting, learn_from
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from hotloop.engine.replay import Replay
from hotloop.engine.vecenv import make_envs
from hotloop.envs.gymnasium import GymnasiumVecEnv

GAMES = 6
MODES = list(AutoresetMode)


def theirs(mode, **settings):
    return GymnasiumVecEnv(SyncVectorEnv([partial(Counting, i) for i in range(GAMES)], autoreset_mode=mode), max_steps=LIMIT, **settings)


def ours():
    envs = make_envs(counting(), GAMES, target="python")
    envs.games["game"] = np.arange(GAMES)
    return envs


@pytest.mark.parametrize("make", [*(partial(theirs, mode) for mode in MODES), ours], ids=[*(mode.name for mode in MODES), "ours"])
def test_every_batch_holds_what_was_played(make):
    assert learn_from(make()) == 60 * 64


def call_cut_offs_deaths(envs, row):
    row.outcome.terminated[...] |= row.outcome.truncated
    row.outcome.truncated[...] = False


def lose_the_final_observations(envs, row):
    envs.last["obs"][...] = row.next_obs["obs"]


def play_the_resets(envs, row):
    envs.played[:] = True


@pytest.mark.parametrize(
    ("mode", "sabotage", "complaint"),
    [
        (AutoresetMode.SAME_STEP, call_cut_offs_deaths, "terminated is not where"),
        (AutoresetMode.NEXT_STEP, call_cut_offs_deaths, "terminated is not where"),
        (AutoresetMode.SAME_STEP, lose_the_final_observations, "what follows is not what followed"),
        (AutoresetMode.DISABLED, lose_the_final_observations, "what follows is not what followed"),
        (AutoresetMode.NEXT_STEP, play_the_resets, "acted on where an episode had ended"),
    ],
)
def test_sabotage_is_noticed(mode, sabotage, complaint):
    with pytest.raises(AssertionError, match=complaint):
        learn_from(theirs(mode), tamper=sabotage)


def test_a_next_step_environment_said_to_be_a_same_step_one_is_noticed():
    envs = SyncVectorEnv([partial(Counting, i) for i in range(GAMES)])
    envs.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
    with pytest.raises(ValueError, match="without infos\\['final_obs'\\]"):
        learn_from(GymnasiumVecEnv(envs, max_steps=LIMIT))


def test_an_episode_cut_off_before_its_limit_is_noticed():
    """Else its final observation would take the room of another's, which is still remembered."""
    with pytest.raises(ValueError, match=r"cut off after 4 steps, before its limit of 9.*max_steps=1"):
        learn_from(GymnasiumVecEnv(SyncVectorEnv([partial(Counting, 1)], autoreset_mode=AutoresetMode.SAME_STEP), max_steps=9))


def test_without_a_known_limit_there_is_room_for_any_cut_off():
    envs = GymnasiumVecEnv(SyncVectorEnv([partial(Counting, 1)], autoreset_mode=AutoresetMode.SAME_STEP))
    assert envs.env.max_steps == 1
    learn_from(envs)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_no_transition_crosses_the_gap_of_a_resumed_run(mode):
    """The games themselves could not be saved: new episodes begin, and the step that shows them is not played."""
    before, after = theirs(mode), theirs(mode)
    memory = Replay(12 * GAMES, before)
    before.reset(obs=memory.row().obs)

    def step(envs):
        row = memory.row()
        envs.step(row.actions, into=row.outcome, obs=row.next_obs)
        memory.advance(envs.last, envs.played)

    for _ in range(7):
        step(before)
    after.reset()
    after.obs = memory.row().obs
    after.restore(before.save())
    assert after.tally() == before.tally() and after.tally()["episodes"] > 0

    step(after)
    assert not after.played.any() and after.num_played == 0 and after.tally() == before.tally()
    for _ in range(9):
        step(after)
        check(memory.sample(256))
    with pytest.raises(ValueError, match="another kind of game"):
        GymnasiumVecEnv(SyncVectorEnv([partial(Counting, 0)])).restore(before.save())
