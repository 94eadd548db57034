"""Our games as Gymnasium's: its own checks, equality with the VecEnv inside, and what its vector environments promise."""

import warnings

import gymnasium
import numpy as np
import pytest
from counting import counting
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from hotloop.engine.env import Box, Discrete, Env, state
from hotloop.engine.random import randint
from hotloop.engine.vecenv import make_envs
from hotloop.envs import ENVS, make_env
from hotloop.envs.as_gymnasium import GameEnv, GameVectorEnv
from hotloop.envs.registration import gymnasium_id


def masked() -> Env:
    """A game with two parts of observation, a mask, named rewards and endings."""

    def reset(s, rng):
        s.left = 2 + randint(rng, 4)

    def step(s, action, rng):
        s.left -= 1 + action
        return (1.0, 0.1 * action), 0 if s.left > 0 else 1 + (s.left < 0)

    def observe(s, number, table):
        number[0] = s.left
        for i in range(4):
            table[i] = s.left == i

    def mask(s, allowed):
        for i in range(3):
            allowed[i] = i <= s.left

    return Env(
        name="masked",
        state=state(left="i4"),
        observation={"number": Box(-9, 9, (1,)), "table": Box(0, 1, (4,), np.uint8)},
        action=Discrete(3),
        reset=reset,
        step=step,
        observe=observe,
        mask=mask,
        max_steps=3,
        reward_parts=("each", "bonus"),
        endings=("exactly", "beyond"),
    )


GAMES = [*ENVS, "masked"]


def game(name: str) -> Env:
    return masked() if name == "masked" else make_env(name)


def complaints(env: gymnasium.Env, **settings: bool) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env.unwrapped, **settings)
    return sorted(str(warning.message) for warning in caught)


# Gymnasium's and SB3's own checks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENVS)
def test_gymnasiums_check_has_nothing_to_say(name):
    """… but what it says of Gymnasium's own CartPole, whose infinite bounds ours has on purpose."""
    expected = complaints(gymnasium.make("CartPole-v1"), skip_render_check=True) if name == "cartpole" else []
    assert complaints(gymnasium.make(gymnasium_id(name))) == expected


@pytest.mark.parametrize("name", GAMES)
def test_stable_baselines3s_check_has_nothing_to_say(name):
    from stable_baselines3.common.env_checker import check_env as sb3_check_env

    sb3_check_env(GameEnv(game(name)))


def test_observations_in_parts_pass_the_check():
    check_env(GameEnv(masked()), skip_render_check=True)


@pytest.mark.parametrize("name", ENVS)
def test_a_registered_vector_environment_says_when_it_resets(name):
    envs = gymnasium.make_vec(gymnasium_id(name), num_envs=3, vectorization_mode="vector_entry_point")
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    obs, _ = envs.reset(seed=1)
    assert obs in envs.observation_space
    for _ in range(30):
        obs, *_ = envs.step(envs.action_space.sample())
        assert obs in envs.observation_space


# The same games -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_a_game_plays_as_its_vecenv_does(name):
    env = game(name)
    one, raw = GameEnv(env), make_envs(env, 1)
    rng = np.random.default_rng(0)
    obs, _ = one.reset(seed=7)
    raw.reset(seed=7)
    ends = 0
    for _ in range(400):
        assert data_equivalence(parts(obs), {n: a[0] for n, a in raw.obs.items() if n != "allowed"}, exact=True)
        raw.actions[0] = rng.integers(env.num_choices)
        raw.step(raw.actions)
        obs, reward, terminated, truncated, info = one.step(int(raw.actions[0]))
        assert (reward, terminated, truncated) == tuple(values[0] for values in raw.outcome)
        if terminated or truncated:
            ends += 1
            assert data_equivalence(parts(obs), {n: a[0] for n, a in raw.last.items() if n != "allowed"}, exact=True)
            book = raw.books[0]
            assert (info["score"], info["return"], info["length"]) == (book["score"], book["total"], book["length"])
            assert info["ending"] == ("cut off", *env.endings)[book["ending"]] and truncated == (info["ending"] == "cut off")
            assert sum(info.get("reward_parts", {0: book["total"]}).values()) == pytest.approx(book["total"])
            obs, _ = one.reset()
        else:
            assert info.keys() <= {"action_mask"}
    assert ends > 3


@pytest.mark.parametrize("name", GAMES)
def test_games_side_by_side_are_gymnasiums_own_vector_of_single_ones(name):
    """Observations, rewards, ends and every key of the infos, final ones and masks included."""
    env, seeds = game(name), [11, 12, 13, 14]
    ours = GameVectorEnv(env, num_envs=4)
    theirs = SyncVectorEnv([lambda: GameEnv(env)] * 4, autoreset_mode=AutoresetMode.SAME_STEP)
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    assert_same(ours.reset(seed=seeds), theirs.reset(seed=seeds))
    rng, ends = np.random.default_rng(0), 0
    for k in range(300):
        actions = rng.integers(0, env.num_choices, 4)
        left, right = ours.step(actions), theirs.step(actions)
        assert_same(left, right)
        ends += "final_obs" in right[-1]
        if k % 50 == 20:
            mask = np.array([True, False, k % 100 == 20, False])
            again = [None, None, 99, None]
            assert_same(ours.reset(seed=again, options={"reset_mask": mask}), theirs.reset(seed=again, options={"reset_mask": mask.copy()}))
    assert ends > 3


def assert_same(ours, theirs) -> None:
    assert data_equivalence(parts(ours[0]), parts(theirs[0]), exact=True)
    assert [values.tolist() for values in ours[1:-1]] == [values.tolist() for values in theirs[1:-1]]
    assert data_equivalence(ours[-1], theirs[-1], exact=True), (ours[-1], theirs[-1])


def parts(obs) -> dict:
    return dict(obs) if isinstance(obs, dict) else {"obs": obs}


def test_one_seed_for_all_is_the_seed_of_a_vecenv():
    envs, raw = GameVectorEnv("snake", num_envs=5, size=6), make_envs(make_env("snake", size=6), 5)
    obs, _ = envs.reset(seed=3)
    assert np.array_equal(obs, raw.reset(seed=3)["obs"])


def test_games_without_a_seed_differ_and_go_on():
    firsts = [GameEnv("snake", features="board").reset()[0] for _ in range(6)]
    assert len({first.tobytes() for first in firsts}) > 1
    env = GameEnv("snake", features="board")
    env.reset(seed=1)
    assert len({env.reset()[0].tobytes() for _ in range(6)}) > 1


# What the API promises ------------------------------------------------------------------------------------------------


def test_arrays_returned_belong_to_the_caller_unless_told_otherwise():
    for copy in (True, False):
        envs = GameVectorEnv(counting(), num_envs=2, copy=copy, target="python")
        first, _ = envs.reset(seed=0)
        kept = first.copy()
        second, *_ = envs.step(np.zeros(2, int))
        assert np.array_equal(first, kept) == copy and (first is second) != copy


def test_the_last_picture_of_an_episode_is_of_where_it_ended():
    env = GameEnv(counting(), render_mode="rgb_array", target="python")
    env.reset(seed=0)
    pictures = [env.render()]
    ended = False
    while not ended:
        *_, terminated, truncated, _ = env.step(0)
        ended = terminated or truncated
        pictures.append(env.render())
    assert [int(picture[0, 0, 0]) for picture in pictures] == list(range(len(pictures))) and len(pictures) > 2
    env.reset()
    assert env.render()[0, 0, 0] == 0


@pytest.mark.parametrize("action", [-1, 3])
def test_an_action_there_is_not_is_refused(action):
    env, envs = GameEnv("snake"), GameVectorEnv("snake", num_envs=2)
    env.reset(seed=0), envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"actions must be in 0 … 2, found"):
        env.step(action)
    with pytest.raises(ValueError, match=r"actions must be in 0 … 2, found"):
        envs.step(np.array([0, action]))


def test_a_step_outside_an_episode_is_refused():
    env = GameEnv(counting(), target="python")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    while not any(env.step(0)[2:4]):
        pass
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


def test_a_limit_of_gymnasiums_is_a_limit_of_the_games():
    envs = gymnasium.make_vec("hotloop/CartPole-v0", num_envs=2, max_episode_steps=3)
    envs.reset(seed=0)
    ends = [envs.step(np.array([k % 2] * 2))[3].tolist() for k in range(6)]
    assert ends == [[False] * 2, [False] * 2, [True] * 2] * 2


def test_bad_requests_are_answered():
    with pytest.raises(ValueError, match="size"):
        GameEnv("snake", sise=4)
    with pytest.raises(ValueError, match="render_mode of snake must be None or rgb_array, found 'human'"):
        GameVectorEnv("snake", render_mode="human")
    with pytest.raises(ValueError, match="cpu or python, found target 'cuda'"):
        GameEnv("snake", target="cuda")
    with pytest.raises(ValueError, match="one for each of the 2 games, found 3"):
        GameVectorEnv("snake", num_envs=2).reset(seed=[1, 2, 3])
    with pytest.raises(ValueError, match="reset_mask"):
        GameVectorEnv("snake", num_envs=2).reset(options={"reset_mask": [True, False]})
