"""The counter stream: each game's own random numbers, the same on every machine.

A stream is a key (from the seed and the game's number) and a counter. Draw n is a hash of the two, so streams never depend on one another, on
the number of threads or on the device. Each draw is written twice: for compiled machines, on an array of two 64-bit words, and for Python, on a
`PlainStream`. The tests hold the two to be equal.
"""

from __future__ import annotations

import numpy as np

from hotloop.engine.binding import compiled

GOLDEN = 0x9E3779B97F4A7C15  # 2**64 / golden ratio: consecutive counters land far apart
MASK = (1 << 64) - 1


def mix(z: int) -> int:
    """Stafford's 13th 64-bit mixer: every input bit reaches every output bit."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class PlainStream:
    """A stream as Python draws from it: writes its counter back into the two words it was given."""

    def __init__(self, words: np.ndarray) -> None:
        self._words = words  # [key, counter] uint64

    def next_bits(self) -> int:
        key, counter = int(self._words[0]), (int(self._words[1]) + 1) & MASK
        self._words[1] = counter
        return mix(((counter * GOLDEN) & MASK) ^ key)


def _next_bits_native(rng):
    rng[1] += np.uint64(1)
    z = (rng[1] * np.uint64(GOLDEN)) ^ rng[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled(machine=_next_bits_native)
def next_bits(rng):
    """64 random bits."""
    return rng.next_bits()


def _randint_native(rng, n):
    return np.int64(((next_bits(rng) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@compiled(machine=_randint_native)
def randint(rng, n):
    """A whole number in 0 … n-1, for n up to 2**31."""
    return ((rng.next_bits() >> 32) * n) >> 32


def _random_native(rng):
    return np.float64(next_bits(rng) >> np.uint64(11)) * (1.0 / (1 << 53))


@compiled(machine=_random_native)
def random(rng):
    """A double in [0, 1), with 53 random bits."""
    return (rng.next_bits() >> 11) * (1.0 / (1 << 53))


def streams(seed: int, count: int, first: int = 0) -> np.ndarray:
    """The streams of games `first … first+count-1`: [count, 2] words of key and counter."""
    words = np.zeros((count, 2), np.uint64)
    base = mix((seed * GOLDEN + 1) & MASK)
    with np.errstate(over="ignore"):
        z = np.arange(first + 1, first + count + 1, dtype=np.uint64) * np.uint64(GOLDEN) ^ np.uint64(base)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        words[:, 0] = z ^ (z >> np.uint64(31))
    return words
