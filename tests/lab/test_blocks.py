"""Blocks: cumulative rows between two steps, never too many. The clock is moved by hand."""

from hotloop.lab.account import account
from hotloop.lab.inside.blocks import COLUMNS, Blocks, Garbage, spent
from hotloop.lab.inside.events import ACT, LEARN, STEP, K, Recorder
from hotloop.lab.inside.passes import Clocks
from hotloop.records.phases import ALL_PHASES, PHASES

SECOND = 1_000_000_000


def row_of(table, number):
    return dict(zip(table["columns"], table["rows"][number], strict=True))


def test_a_row_holds_how_far_everything_had_come():
    recorder = Recorder(clock=lambda: 5 * SECOND)
    recorder.inside[STEP], recorder.calls[STEP], recorder.gaps[ACT * K + STEP] = 3 * SECOND, 7, SECOND
    recorder.gaps[STEP * K + LEARN], recorder.looked = SECOND // 2, SECOND // 4
    blocks = Blocks(began=2 * SECOND)
    blocks.take(5 * SECOND, recorder, Clocks(env_steps=70, vector_steps=7, updates=2, episodes=1))
    row = row_of(blocks.table(), 0)
    assert list(row) == list(COLUMNS) and row["rss_mb"] > 1 and row["heap_blocks"] > 1000
    told = {name: value for name, value in row.items() if value and name not in ("rss_mb", "heap_blocks")}
    assert told == {
        "seconds": 3.0, "env_steps": 70, "vector_steps": 7, "updates": 2, "episodes": 1, "looking_seconds": 0.25,
        "act_seconds": 1.0, "step_seconds": 3.0, "glue_seconds": 0.5, "step_calls": 7,
    }  # fmt: skip


def test_a_block_shares_out_time_as_the_account_does():
    recorder = Recorder(clock=lambda: 0)
    for k in range(K):
        recorder.inside[k], recorder.calls[k] = 10 + k, k
    for k in range(K * K):
        recorder.gaps[k] = 1000 + k
    sums = {**recorder.sums(), "startup": None, "looked": 0, "seconds": 1.0, "vector_steps": 1, "env_steps": 1, "updates": {}, "episodes": 0}
    record = account({**sums, "first_update_at": None, "ended_by": "end"}, command=[], machine={}, exit_status=0)
    told = {phase["name"]: (phase["seconds"], phase["calls"]) for phase in record["phases"]}
    values = spent(recorder)
    seconds, calls = values[: len(ALL_PHASES)], [*values[len(ALL_PHASES) :], 0]  # nobody calls the glue
    mine = dict(zip(ALL_PHASES, zip(seconds, calls, strict=True), strict=True))
    assert {name: (round(s * 1e9), c) for name, (s, c) in mine.items()} == {name: (round(s * 1e9), c) for name, (s, c) in told.items()}
    assert len(PHASES) + len(ALL_PHASES) == len(values)


def test_rows_are_halved_and_the_next_are_twice_as_far_apart():
    recorder, blocks = Recorder(clock=lambda: 0), Blocks(began=0, seconds=1.0, most=4)
    taken = []
    for now in range(0, 20 * SECOND, SECOND // 2):
        if now >= blocks.due:
            blocks.take(now, recorder, Clocks(0, 0, 0, 0))
            taken.append(now // SECOND)
    assert taken == [0, 1, 2, 3, 4, 6, 8, 12, 16]
    assert [row[0] for row in blocks.rows] == [0, 8, 16]


def test_garbage_is_the_time_between_its_two_ends():
    now = iter([1.0, 1.5, 4.0, 4.25])
    garbage = Garbage(clock=lambda: next(now))
    for moment in ("start", "stop", "start", "stop"):
        garbage(moment, {"generation": 0})
    assert garbage.seconds == 0.75
