"""CartPole: step by step equal to Gymnasium's CartPole-v1, from the same state each time.

Both compute in doubles in the same order; only sine and cosine come from different libraries (ours from C's, theirs from NumPy's), so a step may differ by
a few units in the last place.
"""

import gymnasium
import numpy as np
import pytest

from hotloop.engine.vecenv import make_envs
from hotloop.envs.cartpole import cartpole

ULPS = 4  # of the largest term of a sum: where it cancels, more of the result's own


def state_of(envs, i):
    return np.array(list(envs.games[i].tolist()))


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_step_is_gymnasiums_step(target):
    envs = make_envs(cartpole(), 4, target=target, threads=1)
    theirs = gymnasium.make("CartPole-v1").unwrapped
    theirs.reset(seed=0)
    envs.reset()
    rng = np.random.default_rng(0)
    ended = []
    for _ in range(300):
        before = [state_of(envs, i) for i in range(4)]
        actions = rng.integers(0, 2, 4).astype(np.int32)
        rewards, terminated, _ = envs.step(actions)
        for i in range(4):
            theirs.state, theirs.steps_beyond_terminated = before[i], None
            obs, reward, over, _, _ = theirs.step(int(actions[i]))
            ours = envs.last["obs"][i] if terminated[i] else envs.obs["obs"][i]
            np.testing.assert_array_almost_equal_nulp(ours, obs, nulp=1)
            assert (rewards[i], terminated[i]) == (reward, over)
            ended.append(over)
            if not over:
                allowed = ULPS * np.spacing(np.maximum(np.abs(before[i]), 1.0))
                assert (np.abs(state_of(envs, i) - theirs.state) <= allowed).all()
    assert 10 < sum(ended) < 100


def test_the_spaces_are_gymnasiums():
    env, theirs = cartpole(), gymnasium.make("CartPole-v1")
    assert env.observation == theirs.observation_space and env.action == theirs.action_space
    assert env.max_steps == theirs.spec.max_episode_steps


def test_every_start_is_small_and_different():
    envs = make_envs(cartpole(), 100, target="python")
    starts = envs.reset()["obs"]
    assert (np.abs(starts) <= 0.05).all() and len(np.unique(starts)) == 400


@pytest.mark.parametrize(("field", "value", "ending"), [("x", 2.39999, "position"), ("angle", -0.20943, "angle")])
def test_an_end_has_a_name(field, value, ending):
    envs = make_envs(cartpole(), 1, target="python")
    envs.reset()
    setattr(envs.game(0), field, value)
    setattr(envs.game(0), {"x": "speed", "angle": "turning"}[field], np.sign(value))
    envs.step(np.array([1], np.int32))
    assert envs.tally()["endings"] == {"cut off": 0, "position": 0, "angle": 0} | {ending: 1}


def test_the_picture_moves_with_the_cart():
    envs = make_envs(cartpole(), 1, target="python")
    envs.reset()
    middle = envs.env.render(envs.game(0))
    envs.game(0).x = 1.0
    right = envs.env.render(envs.game(0))
    assert middle.shape == right.shape == (160, 300, 3) and middle.dtype == np.uint8
    assert np.argwhere(right[125] != right[140, 0])[:, 0].mean() > np.argwhere(middle[125] != middle[140, 0])[:, 0].mean() + 50
