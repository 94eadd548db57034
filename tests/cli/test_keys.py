"""Keys as they are typed, and frames as they are shown."""

import numpy as np
import pytest

from hotloop.cli.keys import last_press, meaning
from hotloop.cli.showing import fitted


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("\x1b[A", "up"), ("\x1b[D", "left"), ("w", "up"), ("A", "left"), (" ", "pause"), ("q", "quit"), ("\x1b", "quit"), ("3", "3"), ("", "")],
)
def test_keys(typed, meant):
    assert meaning(last_press(typed)) == meant


def test_of_several_presses_the_last_counts():
    assert meaning(last_press("wwd\x1b[A\x1b[B")) == "down"


@pytest.mark.parametrize(
    ("shape", "room", "expected"),
    [
        ((80, 80), (100, 64), (40, 40)),  # reduced in whole pixels
        ((10, 5), (100, 64), (40, 20)),  # enlarged in whole pixels
        ((10, 5), (100, 26), (20, 10)),
        ((160, 300), (100, 64), (54, 100)),
    ],
)
def test_frames_fit_the_terminal(shape, room, expected):
    assert fitted(np.zeros((*shape, 3), np.uint8), *room).shape == (*expected, 3)
