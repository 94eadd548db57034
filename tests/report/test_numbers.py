"""Numbers as people read them."""

import pytest

from hotloop.report.numbers import bar, clock, percent, short, sparkline


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0, "0"),
        (950, "950"),
        (999.4, "999"),
        (999_960, "1.00 M"),
        (1_240_000, "1.24 M"),
        (12_400, "12.4 k"),
        (2.8e9, "2.80 G"),
        (14.23, "14.2"),
        (0.01234, "0.0123"),
        (-1500, "-1.50 k"),
    ],
)
def test_three_digits_and_a_letter(number, text):
    assert short(number) == text


@pytest.mark.parametrize(("seconds", "text"), [(None, "–:––"), (0.4, "0:00"), (59.6, "1:00"), (97, "1:37"), (11220, "3:07:00")])
def test_times_read_as_on_a_clock(seconds, text):
    assert clock(seconds) == text


@pytest.mark.parametrize(("share", "text"), [(0, "0 %"), (0.001, "<1 %"), (0.005, "<1 %"), (0.42, "42 %"), (0.999, ">99 %"), (1, "100 %")])
def test_a_share_is_never_rounded_to_nothing_or_to_all(share, text):
    assert percent(share) == text


def test_a_sparkline_goes_from_lowest_to_highest_and_leaves_out_gaps():
    assert sparkline([0, None, 1, 2, float("nan"), 7], 10) == "▁▂▃█"
    assert sparkline([0, 0, 7, 7], 2) == "▁█"
    assert sparkline([3, 3], 10) == "▁▁"
    assert sparkline([], 10) == sparkline([None], 10) == sparkline([1, 2], 0) == ""


def test_a_bar_is_precise_to_an_eighth():
    assert bar(1, 4) == "████"
    assert bar(0.5, 4) == "██"
    assert bar(3 / 32, 4) == "▍"
    assert bar(0, 4) == ""
    assert bar(9, 4) == "████"
