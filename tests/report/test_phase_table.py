"""Where the time went: a table that adds up."""

import io

from rich.console import Console

from hotloop.report import phase_table

SECONDS = {"learn": 6.0, "act": 2.5, "save": 0.0, "glue": 0.5}
CALLS = {"learn": 1234567, "act": 10, "save": 0, "glue": 0}


def test_phases_stand_in_their_order_and_close_with_the_wall_time():
    assert str(phase_table(SECONDS, 9.0, CALLS)) == (
        "phase            seconds  of wall        calls\n"
        "act                 2.50    27.8%           10\n"
        "learn               6.00    66.7%    1 234 567\n"
        "glue                0.50     5.6%            0\n"
        "sum of phases 9.00 s = wall time 9.00 s"
    )


def test_time_that_no_phase_accounts_for_is_shown_and_not_hidden():
    rows = {row.name: row.seconds for row in phase_table(SECONDS, 10.0).rows}
    assert rows == {"act": 2.5, "learn": 6.0, "glue": 0.5, "unattributed": 1.0}
    claimed_twice = phase_table(SECONDS, 8.0).rows[-1]
    assert (claimed_twice.name, claimed_twice.seconds) == ("unattributed", -1.0)


def test_no_time_at_all_is_a_table_too():
    assert str(phase_table({}, 0.0)).endswith("sum of phases 0.00 s = wall time 0.00 s")


def test_the_terminal_shows_the_same_numbers():
    console = Console(file=io.StringIO(), width=80)
    console.print(phase_table(SECONDS, 9.0, CALLS))
    shown = console.file.getvalue().split()
    assert all(word in shown for word in ("act", "2.50", "27.8%", "10", "9.00"))
