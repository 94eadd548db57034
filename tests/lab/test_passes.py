"""When counting is done: whole rounds of the loop, and both halves of one that plays long before it learns long. The clock is moved by hand."""

import pytest

from hotloop.lab.inside.passes import Clocks, CountPass


class Loop:
    """A loop that plays and learns, under a count pass."""

    def __init__(self):
        self.now, self.steps, self.updates, self.told = 0.0, 0, 0, []
        self.passes = CountPass(
            self.counting, lambda: {"step": self.steps}, lambda: self.told.append("hold"), lambda: self.told.append("release"), clock=lambda: self.now
        )

    def counting(self):
        loop = self

        class Counting:
            def open(self):
                loop.told.append(("open", loop.steps, loop.updates))

            def close(self):
                loop.told.append(("close", loop.steps, loop.updates))
                return "counted"

        return Counting()

    @property
    def clocks(self):
        return Clocks(2 * self.steps, self.steps, self.updates, 0)

    def step(self, seconds):
        self.now, self.steps = self.now + seconds, self.steps + 1
        self.passes.between_steps(self.clocks)

    def update(self, seconds):
        self.passes.before_update(self.clocks)
        self.now, self.updates = self.now + seconds, self.updates + 1


@pytest.fixture
def loop():
    return Loop()


def test_nothing_is_counted_before_the_loop_is_known(loop):
    for _ in range(100):
        loop.update(0.1)
        loop.step(0.1)
    assert loop.told == []


def test_whole_rounds_are_counted_once(loop):
    loop.passes.settled()
    for _ in range(200):
        loop.update(0.01)
        for _ in range(4):
            loop.step(0.01)
    kinds = [event if isinstance(event, str) else event[0] for event in loop.told]
    assert kinds == ["hold", "open", "close", "release"]
    (_, began, begun), (_, ended, done) = loop.told[1:3]
    assert began % 4 == ended % 4 == 1 and ended - began == 4 * (done - begun)  # just after the first step behind an update
    clocks = {"env_steps": 2 * (ended - began), "vector_steps": ended - began, "updates": done - begun, "episodes": 0}
    assert loop.passes.moments == [{"clocks": clocks, "calls": {"step": ended - began}, "counted": "counted"}]
    assert loop.passes.is_over


def test_a_loop_that_plays_long_and_learns_long_is_counted_in_two_moments(loop):
    loop.update(0.1)
    loop.passes.settled()
    for _ in range(3):
        for _ in range(500):
            loop.step(0.01)
        for _ in range(100):
            loop.update(0.1)
    first, second = loop.passes.moments
    assert first["clocks"]["vector_steps"] >= 50 and first["clocks"]["updates"] == 0
    assert second["clocks"]["vector_steps"] == 0 and second["clocks"]["updates"] >= 8
    assert loop.told.count("hold") == loop.told.count("release") == 2


def test_a_loop_that_does_not_learn_is_counted_by_its_steps(loop):
    loop.passes.settled()
    for _ in range(500):
        loop.step(0.01)
    assert loop.passes.is_over and loop.passes.moments[0]["clocks"]["vector_steps"] >= 50


def test_a_round_without_end_is_left_in_time(loop):
    loop.passes.settled()
    loop.update(0.1)
    for _ in range(30):
        loop.step(1.0)
    assert len(loop.passes.moments) == 1 and not loop.passes.is_open


def test_a_script_that_ends_meanwhile_ends_it(loop):
    loop.passes.settled()
    loop.update(2.0)
    loop.step(0.001)
    assert loop.passes.is_open
    loop.passes.end(loop.clocks)
    assert loop.told[-1] == "release" and loop.passes.is_over and not loop.passes.is_open
