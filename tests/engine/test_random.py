"""The counter stream: the native form equals the plain one, streams do not meet, and draws are uniform."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotloop.engine.binding import bind
from hotloop.engine.random import MASK, PlainStream, mix, next_bits, randint, random, streams


@pytest.fixture(scope="module")
def native():
    jit = numba.njit(error_model="numpy")
    return {function: bind(function.__compiled__, jit) for function in (next_bits, randint, random)}


words = st.integers(0, MASK)


@settings(max_examples=100, deadline=None)
@given(key=words, counter=words, n=st.integers(1, 2**31))
def test_native_draws_equal_plain_ones_bit_for_bit(native, key, counter, n):
    for function, rest in ((next_bits, ()), (randint, (n,)), (random, ())):
        compiled_words, plain_words = np.array([key, counter], np.uint64), np.array([key, counter], np.uint64)
        with np.errstate(over="ignore"):
            assert int(native[function](compiled_words, *rest) == function(PlainStream(plain_words), *rest))
        assert compiled_words.tolist() == plain_words.tolist() == [key, (counter + 1) & MASK]


def test_the_first_draws_of_a_known_stream_never_change():
    """Saved runs go on with them: another generator would need another version of everything."""
    stream = PlainStream(streams(0, 1)[0])
    assert [next_bits(stream) for _ in range(3)] == [mix(((n * 0x9E3779B97F4A7C15) & MASK) ^ int(streams(0, 1)[0, 0])) for n in (1, 2, 3)]
    assert int(streams(0, 1)[0, 0]) == KNOWN_KEY and next_bits(PlainStream(streams(0, 1)[0])) == KNOWN_DRAW


KNOWN_KEY, KNOWN_DRAW = 538020821241227815, 14111765311180910790


def test_more_games_leave_the_first_streams_as_they_were():
    assert (streams(5, 1000)[:10] == streams(5, 10)).all()
    assert (streams(5, 10, first=990) == streams(5, 1000)[990:]).all()


def test_streams_of_many_games_and_seeds_have_different_keys():
    keys = np.concatenate([streams(seed, 5000)[:, 0] for seed in range(8)])
    assert len(np.unique(keys)) == len(keys)


def draws(count: int, games: int, seed: int = 0) -> np.ndarray:
    """[games, count] 64-bit draws, as a vector: the same function as `next_bits`, which a test above holds to it."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        z = np.arange(1, count + 1, dtype=np.uint64)[None, :] * golden ^ streams(seed, games)[:, :1]
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def test_the_vector_form_is_the_stream():
    words = streams(2, 3)
    plain = [[next_bits(stream) for _ in range(4)] for stream in map(PlainStream, words)]
    assert draws(4, 3, seed=2).tolist() == plain


def test_streams_of_thousands_of_games_do_not_overlap():
    drawn = draws(200, 5000)
    assert len(np.unique(drawn)) == drawn.size


def test_draws_are_uniform():
    """Chi-square of the top byte over a million draws: 255 degrees of freedom, so 255 ± 23; five of those are luck no more."""
    counts = np.bincount((draws(200, 5000) >> np.uint64(56)).ravel().astype(int), minlength=256)
    expected = counts.sum() / 256
    assert abs(((counts - expected) ** 2 / expected).sum() - 255) < 5 * 22.6


def test_every_bit_is_set_half_of_the_time():
    drawn = draws(200, 500).ravel()
    for bit in range(64):
        share = float(((drawn >> np.uint64(bit)) & np.uint64(1)).mean())
        assert abs(share - 0.5) < 5 * 0.5 / np.sqrt(drawn.size), bit


def test_neighbouring_games_and_neighbouring_draws_are_not_correlated():
    drawn = (draws(200, 2000) >> np.uint64(11)) * 2.0**-53 - 0.5
    limit = 5 / 12 / np.sqrt(drawn.size)
    assert abs((drawn[1:] * drawn[:-1]).mean()) < limit
    assert abs((drawn[:, 1:] * drawn[:, :-1]).mean()) < limit


@pytest.mark.parametrize("n", [1, 2, 3, 7, 1000])
def test_randint_reaches_every_number_below_n_and_no_other(n):
    stream = PlainStream(streams(1, 1)[0])
    drawn = {randint(stream, n) for _ in range(20 * n)}
    assert drawn == set(range(n)) if n < 1000 else drawn <= set(range(n))


def test_random_stays_below_one():
    stream = PlainStream(streams(1, 1)[0])
    drawn = [random(stream) for _ in range(2000)]
    assert 0.0 <= min(drawn) < 0.01 and 0.99 < max(drawn) < 1.0
    full = type("Full", (), {"next_bits": lambda self: MASK})()
    assert random(full) < 1.0 and randint(full, 2**31) == 2**31 - 1
