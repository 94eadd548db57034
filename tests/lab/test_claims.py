"""Claims: what a script says of its own speed is overheard without changing it, and judged by the formula that explains it."""

import io

import numpy as np
import pytest

from hotloop.lab.inside.claims import MOST, Claims, judge_claims, speeds_in

# Overhearing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "speeds"),
    [
        ("SPS: 1234", [("sps", 1234)]),
        ("|    fps              | 1234        |", [("fps", 1234)]),
        ("|    time/fps         | 877         |", [("fps", 877)]),
        ("charts/SPS=1.2e+03", [("sps", 1200)]),
        (" 12%|█▏       | 120/1000 [00:01<00:10, 99.12it/s]", [("iteration", 99.12)]),
        (" 12%|█▏       | 120/1000 [00:30<03:40,  4.00s/it, loss=0.3]", [("iteration", 0.25)]),
        ("speed: 1,234.5 steps/s", [("step", 1234.5)]),
        ("12.5k steps per second, 3 episodes/sec", [("step", 12500), ("episode", 3)]),
        ("Experiences/sec: 27.3", [("experience", 27.3)]),
        ("env steps per second = 1500", [("step", 1500)]),
        ("episode 10 | 60 FPS", [("fps", 60)]),
        ("batches/s: 7", [("batch", 7)]),
        ("episode 10 FPS: 60", [("fps", 60)]),
        ("step 1000: loss 0.31, took 3 s", []),
        ("see https://spam.example/s?fps", []),
        ("fps: nan", []),
        ("", []),
    ],
)
def test_a_line_tells_these_speeds(line, speeds):
    assert speeds_in(line) == [(unit, pytest.approx(value)) for unit, value in speeds]


class Counter:
    def __init__(self):
        self.env_steps, self.now = 0, 100.0

    def counts(self):
        return self.env_steps, self.env_steps // 4, self.env_steps // 100

    def claims(self):
        return Claims(self.counts, began=100.0, clock=lambda: self.now)


@pytest.fixture
def stream():
    with io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) as stream:
        yield stream


def written(stream):
    return stream.buffer.getvalue().decode()


def test_a_speed_is_kept_with_when_it_was_told(stream):
    counter = Counter()
    claims = counter.claims()
    claims.attach(stream)
    counter.env_steps, counter.now = 400, 102.5
    print("SPS:", 160, file=stream)  # four writes
    assert claims.as_data() == [{"seconds": 2.5, "env_steps": 400, "updates": 100, "episodes": 4, "unit": "sps", "value": 160.0, "text": "SPS: 160"}]


def test_what_is_written_is_not_changed(stream):
    claims, same = Counter().claims(), stream
    claims.attach(stream)
    assert stream is same and stream.write("fps: 60\n") == 8
    stream.writelines(["a\n", "7 it/s\r"])
    print("b", end="", file=stream)
    with pytest.raises(TypeError, match="must be str, not int"):
        stream.write(3)
    assert written(stream) == "fps: 60\na\n7 it/s\rb"
    assert [claim["value"] for claim in claims.as_data()] == [60, 7]


def test_detached_a_stream_is_as_it_was(stream):
    claims = Counter().claims()
    claims.attach(stream)
    claims.detach()
    print("fps: 60", file=stream)
    assert "write" not in vars(stream) and claims.as_data() == [] and written(stream) == "fps: 60\n"


def test_a_stream_that_bears_no_attribute_is_let_alone():
    class Bare:
        __slots__ = ()

        def write(self, text):
            return len(text)

    Counter().claims().attach(None, Bare(), object())


def test_a_mistake_of_ours_is_not_the_scripts(stream):
    def broken():
        raise RuntimeError("no counts")

    claims = Claims(broken, began=0.0, clock=lambda: 0.0)
    claims.attach(stream)
    print("fps: 60", file=stream)
    assert written(stream) == "fps: 60\n" and claims.as_data() == []


def test_a_long_run_is_known_from_end_to_end_in_bounded_room(stream):
    counter = Counter()
    claims = counter.claims()
    claims.attach(stream)
    for step in range(20 * MOST):
        counter.env_steps = step
        print(f"fps: {step + 1}", file=stream)
    kept = [claim["env_steps"] for claim in claims.as_data()]
    assert MOST // 4 < len(kept) < MOST and kept == sorted(kept)
    assert kept[0] < 100 and kept[-1] > 19.9 * MOST and max(np.diff(kept)) == min(np.diff(kept))


def test_a_line_without_end_is_not_kept_forever(stream):
    claims = Counter().claims()
    claims.attach(stream)
    for _ in range(10_000):
        stream.write(".")
    assert all(len(cell.cell_contents) <= 101 for cell in stream.write.__closure__ if isinstance(cell.cell_contents, list))


# Judging -------------------------------------------------------------------------------------------------------------

FRAMES = 4  # a script may count frames where the lab counts steps


def tellings(speed, count=60, noise=0.05, seed=0, begins=5.0):
    """(seconds, env steps) at every telling of a loop whose speed is a function of the share of the run that is over."""
    rng = np.random.default_rng(seed)
    took = rng.uniform(0.8, 1.2, count) * np.exp(rng.normal(0, noise, count))
    return begins + np.cumsum(took), np.cumsum([took[n] * speed(n / count) for n in range(count)]).round()


def told(seconds, steps, values, unit="sps"):
    told = []
    for at, n, value in zip(seconds, steps, values, strict=True):
        counts = {"seconds": float(at), "env_steps": int(n), "updates": 0, "episodes": int(n // 100)}
        told.append({**counts, "unit": unit, "value": float(value), "text": ""})
    return told


def moving(seconds, steps, window=1):
    before = np.maximum(np.arange(len(seconds)) - window, -1)
    began, had = np.where(before < 0, 5.0, seconds[before]), np.where(before < 0, 0, steps[before])
    return (steps - had) / (seconds - began)


def mean(seconds, steps, start=5.0):
    return steps / (seconds - start)


def ramp(seconds, steps, window=1):
    """All experiences so far over the time of the last tellings."""
    return steps / (seconds - np.concatenate([[5.0] * window, seconds[:-window]]))


def slowing(share):
    return 4000.0 if share < 0.3 else 1000.0


def steady(share):
    return 1000.0


@pytest.mark.parametrize(
    ("speed", "formula", "verdict"),
    [
        (slowing, moving, "right"),
        (slowing, lambda *s: moving(*s, window=10), "right"),
        (slowing, lambda *s: FRAMES * moving(*s), "right"),
        (steady, moving, "right"),
        (steady, mean, "right"),  # at a constant speed a mean is as good
        (slowing, mean, "cumulative"),
        (slowing, lambda *s: mean(*s, start=0.0), "cumulative"),
        (slowing, lambda *s: mean(*s, start=2.0), "cumulative"),  # the script's own clock
        (steady, lambda *s: mean(*s, start=0.0), "cumulative"),  # start-up counted in: it seems to get faster
        (steady, ramp, "trimmed"),
        (slowing, ramp, "trimmed"),
        (steady, lambda *s: ramp(*s, window=5), "trimmed"),
        (steady, lambda seconds, steps: np.random.default_rng(1).uniform(1, 1000, len(seconds)), "unclear"),
    ],
)
def test_told_numbers_are_known_by_their_formula(speed, formula, verdict):
    for seed in range(5):
        seconds, steps = tellings(speed, seed=seed)
        judged = judge_claims(told(seconds, steps, formula(seconds, steps)), None)
        assert judged["verdict"] == verdict, (seed, judged)


def test_rounded_numbers_are_known_too():
    seconds, steps = tellings(slowing)
    assert judge_claims(told(seconds, steps, mean(seconds, steps).astype(int)), None)["verdict"] == "cumulative"


def test_the_fifty_five_fold_speed_up_that_was_none():
    """A constant 1000 experiences a second, told as 1000 at first and as 55 000 at the end."""
    seconds, steps = 5.0 + np.arange(1.0, 56.0), 1000.0 * np.arange(1, 56)
    judged = judge_claims(told(seconds, steps, ramp(seconds, steps), unit="experience"), None)
    assert judged["verdict"] == "trimmed" and judged["unit"] == "experience" and judged["counts"] == "env_steps"
    assert judged["change_true"] == pytest.approx(1) and judged["change_told"] == pytest.approx(52.5 / 3.5)  # medians of the first and the last six
    assert judged["explanation"] == (
        "the script told 1 000 experiences a second at first and 55 000 at the end: it is all work so far over the time of the last moments alone, which rises "
        "for ever at a constant speed; the speed between tellings went from 1 000 to 1 000 env steps a second"
    )


def test_the_first_step_is_looked_up_in_the_blocks():
    seconds, steps = tellings(slowing, begins=30.0)
    blocks = {"columns": ["seconds", "env_steps"], "rows": [[1.0, 0], [30.0, 1], [31.0, 4000]]}
    judged = judge_claims(told(seconds, steps, mean(seconds, steps, start=30.0)), blocks)
    assert (judged["verdict"], judged["formula"]) == ("cumulative", "since the first step")


def test_too_few_numbers_are_not_judged():
    seconds, steps = tellings(slowing)
    assert judge_claims([], None)["verdict"] == "none"
    few = judge_claims(told(seconds[:5], steps[:5], ramp(seconds, steps)[:5]), None)
    assert (few["verdict"], few["explanation"]) == ("unclear", "the script told sps only 5 times, too few to judge")


def test_the_unit_told_most_often_is_judged():
    seconds, steps = tellings(slowing)
    claims = told(seconds, steps, moving(seconds, steps)) + told(seconds[::4], steps[::4], ramp(seconds, steps)[::4], unit="iteration")
    assert judge_claims(claims, None)["unit"] == "sps"
