"""The stopwatch, held against a clock the test moves by hand: whole seconds, so that sums are exact."""

import random

from hotloop.records.phases import ACT, ALL_PHASES, GLUE, LEARN, PHASES, STEP, Stopwatch


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.nanoseconds = 7_000_000_000

    def __call__(self):
        return self.nanoseconds

    def move(self, seconds):
        self.nanoseconds += seconds * 10**9


def only(**seconds):
    """Seconds for every phase: those given, and zero for the others."""
    return dict.fromkeys(ALL_PHASES, 0) | seconds


def test_a_lap_gives_the_time_since_the_last_one_to_its_phase():
    clock = Clock()
    watch = Stopwatch(clock)
    watch.start()
    for phase, seconds in [(ACT, 1), (STEP, 2), (ACT, 4), (GLUE, 8)]:
        clock.move(seconds)
        watch.lap(phase)
    assert watch.seconds() == only(act=5, step=2, glue=8)
    assert watch.calls() == only(act=2, step=1, glue=1)


def test_the_constants_and_the_names_agree():
    assert [ALL_PHASES[phase] for phase in (ACT, STEP, LEARN, GLUE)] == ["act", "step", "learn", "glue"]
    assert ALL_PHASES[:-1] == PHASES


def test_phases_add_up_to_the_wall_time_whatever_is_called_in_between():
    clock, luck = Clock(), random.Random(0)
    watch = Stopwatch(clock)
    clock.move(99)  # before the start: counts for nothing
    watch.start()
    began, blocks = clock.nanoseconds, []
    for _ in range(500):
        clock.move(luck.randrange(5))
        act = luck.choice([watch.lap, watch.lap, watch.seconds, watch.take_block, watch.calls])
        answer = act(luck.randrange(len(ALL_PHASES))) if act == watch.lap else act()
        if act == watch.take_block:
            blocks.append(answer)
        wall = (clock.nanoseconds - began) // 10**9
        assert sum(watch.seconds().values()) == wall == watch.wall_seconds()
    blocks.append(watch.take_block())
    assert {name: sum(block[name] for block in blocks) for name in ALL_PHASES} == watch.seconds()


def test_time_that_nothing_has_claimed_yet_reads_as_glue_and_can_still_be_claimed():
    clock = Clock()
    watch = Stopwatch(clock)
    clock.move(3)
    assert watch.seconds() == only(glue=3)
    watch.lap(LEARN)
    assert watch.seconds() == only(learn=3)


def test_a_block_holds_only_what_came_since_the_last_block():
    clock = Clock()
    watch = Stopwatch(clock)
    clock.move(1)
    watch.lap(ACT)
    assert watch.take_block() == only(act=1)
    clock.move(2)
    watch.lap(ACT)
    clock.move(4)
    assert watch.take_block() == only(act=2, glue=4)
    assert watch.take_block() == only()


def test_a_restored_stopwatch_goes_on_where_the_saved_one_stood():
    clock = Clock()
    watch = Stopwatch(clock)
    clock.move(1)
    watch.lap(ACT)
    watch.take_block()
    clock.move(2)
    watch.lap(STEP)
    clock.move(4)
    state = watch.state()

    clock.move(1000)  # the machine was off
    resumed = Stopwatch(clock)
    clock.move(1)  # setting up again
    resumed.restore(state)
    clock.move(8)
    resumed.lap(ACT)
    assert resumed.seconds() == only(act=9, step=2, glue=4)
    assert resumed.calls() == only(act=2, step=1)
    assert resumed.take_block() == only(act=8, step=2, glue=4)


def test_a_state_saved_before_a_phase_existed_can_be_restored():
    watch = Stopwatch(Clock())
    watch.restore({"nanoseconds": {"act": 10**9}, "calls": {"act": 1}, "taken": {}})
    assert watch.seconds() == only(act=1)
