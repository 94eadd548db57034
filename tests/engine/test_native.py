"""The native form of acting and Q-learning beside the torch form of algos/dqn.py, update by update, and on numbers worked by hand."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
import torch

import hotloop.engine.native as native_form
from hotloop.algos.dqn import DQNConfig, QFunction
from hotloop.engine.env import Box, Discrete, Env, state
from hotloop.engine.native import NATIVE
from hotloop.engine.random import PlainStream, random, streams
from hotloop.engine.replay import Minibatch
from hotloop.engine.threads import maths_threads
from hotloop.engine.vecenv import make_envs

ACTIONS, GAMES = 3, 8
FLOATS, BYTES = Box(-4, 4, (5,)), Box(0, 200, (2, 3), np.uint8)  # the bytes are seen as one flat part, divided by 200
SMALLEST_NORMAL = np.finfo(np.float32).tiny
SETTINGS = DQNConfig(num_envs=GAMES, max_steps=1, hidden=(16, 12), learning_rate=3e-3, target_interval=5)


@pytest.fixture(autouse=True)
def one_maths_thread():
    with maths_threads(1):
        yield


def nothing(s, rng):
    pass


def step(s, action, rng):
    return 0.0, False


def observe(s, obs):
    pass


def mask(s, allowed):
    pass


def learner(native: bool = True, box=FLOATS, masked: bool = False, games: int = GAMES, **changes) -> QFunction:
    """A Q-function for a game that is only ever looked at; equal settings begin with equal parameters."""
    game = Env("looked-at", state(x="i4"), box, Discrete(ACTIONS), nothing, step, observe, mask=mask if masked else None)
    return QFunction(make_envs(game, games, target="python"), replace(SETTINGS, native=native, **changes))


def some_obs(draw: np.random.Generator, shape: tuple[int, ...], box=FLOATS, masked: bool = False) -> dict[str, torch.Tensor]:
    numbers = draw.integers(0, 201, (*shape, *box.shape)) if box is BYTES else draw.uniform(-4, 4, (*shape, *box.shape))
    parts = {"obs": torch.from_numpy(numbers.astype(box.dtype))}
    if masked:
        allowed = draw.random((*shape, ACTIONS)) < 0.5
        allowed[..., 1] |= ~allowed.any(-1)
        parts["allowed"] = torch.from_numpy(allowed)
    return parts


def some_batches(count: int, size: int, box=FLOATS, masked: bool = False, seed: int = 0) -> Minibatch:
    """Rewards are large enough for both sides of Huber's loss."""
    draw = np.random.default_rng(seed)
    obs, next_obs = (some_obs(draw, (count, size), box, masked) for _ in range(2))
    actions = torch.from_numpy(draw.integers(0, ACTIONS, (count, size)).astype(np.int32))
    rewards = torch.from_numpy(draw.normal(0, 2, (count, size)).astype(np.float32))
    return Minibatch(obs, actions, rewards, next_obs, torch.from_numpy(draw.random((count, size)) < 0.3))


def only(batches: Minibatch, k: int) -> Minibatch:
    """The k-th batch as a call for one update takes it."""
    obs, actions, rewards, next_obs, terminated = batches.at(k)
    obs, next_obs = ({name: part[None] for name, part in parts.items()} for parts in (obs, next_obs))
    return Minibatch(obs, actions[None], rewards[None], next_obs, terminated[None])


def assert_equal_within_rounding(one: QFunction, other: QFunction) -> None:
    """Parameters, target network and Adam's state, and what was added up on the way."""
    mine, theirs = one.save(), other.save()
    for name in mine.keys() - {"luck", "generator"}:
        np.testing.assert_allclose(mine[name], theirs[name], rtol=2e-4, atol=3e-6, err_msg=name)
    torch.testing.assert_close(one.sums, other.sums, rtol=1e-4, atol=1e-4)


def learned(**changes) -> list[QFunction]:
    """Both forms after 13 updates on batches of three sizes, in turns."""
    kinds = {name: changes[name] for name in ("box", "masked") if name in changes}
    pair = [learner(native, **changes) for native in (True, False)]
    for q in pair:
        updates = 0
        for seed, (count, size) in enumerate([(3, 32), (4, 1), (2, 7), (4, 32)]):
            q.learn(some_batches(count, size, seed=seed, **kinds), updates)
            updates += count
    return pair


# ---------------------------------------------------------------- learning


@pytest.mark.parametrize("double", [False, True], ids=["single", "double"])
@pytest.mark.parametrize("masked", [False, True], ids=["free", "masked"])
@pytest.mark.parametrize("max_grad_norm", [0.0, 0.05, 1e6], ids=["unclipped", "clipped", "clipped too late"])
@pytest.mark.parametrize("box", [FLOATS, BYTES], ids=["floats", "bytes"])
def test_thirteen_native_updates_are_the_torch_updates(box, max_grad_norm, masked, double):
    native, plain = learned(box=box, masked=masked, max_grad_norm=max_grad_norm, double=double)
    assert native.native is not None and plain.native is None
    assert_equal_within_rounding(native, plain)
    assert native.adam.updates.item() == 13 and native.sums[2] == 13


@pytest.mark.parametrize("hidden", [(1, 7), (5, 4, 3)])
def test_networks_of_other_depths_and_odd_widths_agree_too(hidden):
    assert_equal_within_rounding(*learned(hidden=hidden))


@pytest.mark.parametrize(
    "wrong",
    [{"discount": 0.9}, {"double": False}, {"learning_rate": 3.1e-3}, {"max_grad_norm": 0.0}, {"target_interval": 6}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_each_setting_matters_to_the_comparison(wrong):
    """One form with one setting changed: the check above must be able to fail. So clipping, too, was active."""
    settings = {"discount": 0.99, "double": True, "learning_rate": 3e-3, "max_grad_norm": 0.05, "target_interval": 5}
    native, plain = learned(**settings)[0], learned(**{**settings, **wrong})[1]
    with pytest.raises(AssertionError):
        assert_equal_within_rounding(native, plain)


def without(batch: Minibatch, what: str) -> Minibatch:
    """The same batch with one thing forgotten."""
    if what == "terminated":
        return batch._replace(terminated=torch.zeros_like(batch.terminated))
    if what == "mask":
        return batch._replace(next_obs={**batch.next_obs, "allowed": torch.ones_like(batch.next_obs["allowed"])})
    return batch._replace(actions=torch.zeros_like(batch.actions))


@pytest.mark.parametrize("what", ["terminated", "mask", "actions"])
def test_each_part_of_a_batch_matters_to_the_comparison(what):
    native, plain = (learner(native, masked=True) for native in (True, False))
    batch = some_batches(4, 32, masked=True)
    native.learn(batch, 0)
    plain.learn(without(batch, what), 0)
    with pytest.raises(AssertionError):
        assert_equal_within_rounding(native, plain)


@pytest.mark.parametrize("native", [True, False])
def test_the_target_network_is_copied_after_every_fifth_update_of_the_run(native):
    """Three updates were made before, so it follows after the 2nd, 7th and 12th; between copies it stays as it is."""
    q, copied, kept = learner(native), [], []
    batches = some_batches(13, 16)
    for k in range(13):
        before = q.target.arena.data.clone()
        q.learn(only(batches, k), 3 + k)
        copied += [k + 1] if torch.equal(q.target.arena.data, q.network.arena.data) else []
        kept += [k + 1] if torch.equal(q.target.arena.data, before) else []
    assert copied == [2, 7, 12] and kept == [1, 3, 4, 5, 6, 8, 9, 10, 11, 13]


def test_updates_in_one_call_are_the_updates_in_many():
    """Also across copies to the target network, of which a call of thirteen sees three."""
    one, many = learner(), learner()
    batches = some_batches(13, 16)
    one.learn(batches, 3)
    for k in range(13):
        many.learn(only(batches, k), 3 + k)
    assert {name: array.tobytes() for name, array in one.save().items()} == {name: array.tobytes() for name, array in many.save().items()}


def test_the_two_forms_can_take_turns():
    """What one leaves is all the other needs: eight updates in turns are eight of either."""
    turns, plain = learner(), learner(native=False)
    native = turns.native
    for k in range(8):
        turns.native = native if k % 2 else None
        for q in (turns, plain):
            q.learn(some_batches(1, 32, seed=k), k)
    assert_equal_within_rounding(turns, plain)


# ---------------------------------------------------------------- what is not a number


def spoilt(where: str, value: float) -> Minibatch:
    """One value of one transition; the fourth was not terminated, or was."""
    batch = some_batches(1, 32)
    batch.terminated[0, 3] = where == "what follows a death"
    {"obs": batch.obs["obs"], "rewards": batch.rewards[..., None]}.get(where, batch.next_obs["obs"])[0, 3, 0] = value
    return batch


@pytest.mark.parametrize("max_grad_norm", [0.0, 10.0])
@pytest.mark.parametrize("where", ["obs", "rewards", "next_obs"])
def test_nan_reaches_the_loss_the_parameters_and_the_moments(where, max_grad_norm):
    """Assuming that there is none, a compiler may drop it; a training that goes on unharmed would hide what is wrong with the game."""
    for native in (True, False):
        q = learner(native, max_grad_norm=max_grad_norm)
        q.learn(spoilt(where, np.nan), 0)
        assert np.isnan(q.results()["loss"])
        assert all(array.isnan().any() for array in (q.network.arena.data, q.adam.first, q.adam.second))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_follows_a_death_is_not_looked_at_whatever_it_is(value):
    native, plain = (learner(native) for native in (True, False))
    for q in (native, plain):
        q.learn(spoilt("what follows a death", value), 0)
    assert native.sums.isfinite().all()
    assert_equal_within_rounding(native, plain)


def test_an_infinite_reward_is_an_infinite_loss_with_a_slope_of_one():
    native, plain = (learner(native) for native in (True, False))
    for q in (native, plain):
        q.learn(spoilt("rewards", np.inf), 0)
    assert native.sums[0] == plain.sums[0] == np.inf
    native.sums[0] = plain.sums[0] = 0
    assert_equal_within_rounding(native, plain)


def test_the_compiler_is_never_told_that_there_is_no_nan_or_infinity():
    """What it would do with that differs from machine to machine, so the tests above alone would not do."""
    assert isinstance(NATIVE["fastmath"], set) and not NATIVE["fastmath"] & {"fast", "nnan", "ninf"}


def keys_of(text: str) -> set[str]:
    """What compiled code is kept under, were this the text of native.py."""
    module = {"__name__": native_form.__name__}
    exec(compile(text, native_form.__file__, "exec"), module)
    return {module[name]._cache._key for name in ("act", "q_learn")}


@pytest.mark.parametrize("edit", [('"nsz", ', ""), ("1e-30", "1e-31"), ("size < 1.0", "size < 2.0")], ids=["a flag", "a constant", "a line"])
def test_machine_code_of_another_text_is_not_taken_for_this_ones(edit):
    text = inspect.getsource(native_form)
    assert keys_of(text) == keys_of(text) != keys_of(text.replace(*edit))


def denormals(*arrays) -> int:
    return sum(int(((array != 0) & (np.abs(array) < SMALLEST_NORMAL)).sum()) for array in map(np.asarray, arrays))


def test_the_moments_of_dead_units_become_zero_and_never_denormal():
    """Both hidden layers are dead, so all gradients but the last biases' are zero, and moments only decay: a first of 1e-29, a second just above 1e-30."""
    q, zeros = learner(), []
    for layer in (0, 2):
        q.network.mlp[layer].bias.data.fill_(-1e3)
    q.adam.first.fill_(-1e-29)
    q.adam.second.fill_(1e-30 / 0.9993)
    for k in range(40):
        q.learn(some_batches(1, 8, seed=k), k)
        first, second = (moment[:-ACTIONS].numpy() for moment in (q.adam.first, q.adam.second))
        assert denormals(first, second, q.network.arena.data) == 0
        zeros.append((not first.any(), not second.any()))
    assert zeros.index((False, True)) == 0 and zeros.index((True, True)) == 21  # the 22nd: 0.9 ** 21 = 0.109, 0.9 ** 22 = 0.098
    assert q.adam.first[-ACTIONS:].all()


def test_the_search_for_denormals_finds_one():
    moment = np.full(3, 1e-37, np.float32)
    for _ in range(30):
        moment *= np.float32(0.9)
    assert denormals(np.zeros(3), moment, np.ones(3)) == 3


# ---------------------------------------------------------------- acting


def acted(q: QFunction, obs: dict[str, torch.Tensor], epsilon: float) -> np.ndarray:
    actions = np.full(q.luck.shape[0], -1, np.int32)
    q.act({name: part.numpy() for name, part in obs.items()}, epsilon, actions)
    return actions


def valuing(values: list[float], **settings) -> QFunction:
    """A network that values the actions like this, whatever it sees."""
    q = learner(**settings)
    q.network.arena.data.zero_()
    q.network.arena.data[-ACTIONS:] = torch.tensor(values)
    return q


@pytest.mark.parametrize("box", [FLOATS, BYTES], ids=["floats", "bytes"])
@pytest.mark.parametrize("masked", [False, True], ids=["free", "masked"])
def test_greedy_actions_are_those_of_the_torch_form(box, masked):
    obs = some_obs(np.random.default_rng(5), (500,), box, masked)
    native, plain = (learner(native, box, masked, games=500) for native in (True, False))
    with torch.inference_mode():
        usual = plain.network(obs).mean(0)
    for q in (native, plain):
        q.network.arena.data[-ACTIONS:] -= usual  # so that every action is the best in some row
    chosen = acted(native, obs, 0.0)
    assert chosen.tolist() == acted(plain, obs, 0.0).tolist() and set(chosen) == {0, 1, 2}


@pytest.mark.parametrize("native", [True, False])
def test_the_highest_of_the_allowed_is_chosen_and_the_first_of_equals(native):
    obs = some_obs(np.random.default_rng(0), (4,))
    allowed = torch.tensor([[True, True, True], [True, False, True], [False, False, True], [True, True, False]])
    q = valuing([2.0, 3.0, 2.0], native=native, masked=True, games=4)
    assert acted(q, {**obs, "allowed": allowed}, 0.0).tolist() == [1, 0, 2, 1]
    assert acted(valuing([-3.0, -1.0, -1.0], native=native, games=4), obs, 0.0).tolist() == [1] * 4


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_each_game_explores_with_its_own_stream(epsilon):
    """The slow twin: a draw whether, and if so a draw where to, for every game apart; 20 rows in a row."""
    q = valuing([0.0, 1.0, 0.0])
    own = [PlainStream(words) for words in streams(SETTINGS.seed, GAMES, first=2 << 40)]
    assert (q.luck == [stream._words for stream in own]).all()
    for _ in range(20):
        expected = [int(random(stream) * ACTIONS) if random(stream) < epsilon else 1 for stream in own]
        assert acted(q, some_obs(np.random.default_rng(0), (GAMES,)), epsilon).tolist() == expected


def test_more_games_leave_the_exploration_of_the_first_as_it_was():
    few, many = learner(games=4), learner(games=40)
    for _ in range(10):
        obs = some_obs(np.random.default_rng(0), (40,))
        some = acted(few, {"obs": obs["obs"][:4]}, 0.5)
        all_of_them = acted(many, obs, 0.5)
        assert some.tolist() == all_of_them[:4].tolist()
    assert len({tuple(words) for words in many.luck}) == 40


def test_without_exploration_nothing_is_drawn():
    q = learner()
    before = q.luck.copy()
    acted(q, some_obs(np.random.default_rng(0), (GAMES,)), 0.0)
    assert (q.luck == before).all()
    acted(q, some_obs(np.random.default_rng(0), (GAMES,)), 1e-9)
    assert (q.luck[:, 1] == before[:, 1] + 1).all()


@pytest.mark.parametrize(("mask", "shares"), [(None, [0.2, 0.6, 0.2]), ([True, True, False], [0.3, 0.7, 0.0]), ([True, False, True], [0.3, 0.0, 0.7])])
def test_exploration_is_uniform_over_what_is_allowed(mask, shares):
    """Epsilon 0.6, values 0 2 1: of 20 000 games 0.4 are greedy, and 0.6 are shared out equally. Four standard errors are 0.014."""
    games = 20_000
    q = valuing([0.0, 2.0, 1.0], masked=mask is not None, games=games)
    obs = {"obs": torch.zeros(games, *FLOATS.shape)}
    if mask is not None:
        obs["allowed"] = torch.tensor([mask]).repeat(games, 1)
    counts = np.bincount(acted(q, obs, 0.6), minlength=ACTIONS)
    np.testing.assert_allclose(counts / games, shares, atol=0.014)
    assert (counts[np.array(shares) == 0] == 0).all()
