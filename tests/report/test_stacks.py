"""Stacks: what samples saw, summed up. Three stacks, counted by hand: learning has 27 s and nine looks, the glue 3 s and one."""

from profile_records import SCRIPT, plain_record, rich_record, tiny_samples

from hotloop.report.profile_rows import line_rows
from hotloop.report.stacks import Frame, by_function, hot_lines, seconds_a_tick, stacks_of, tree, walk, without_imports

SAMPLED = plain_record() | {"samples": tiny_samples()}


def test_a_phases_samples_share_out_the_time_it_was_measured_to_take():
    """Nine looks at learning, one at the glue; had each been worth the same, the glue would have a tenth of 30 s, not a quarter of 36 s."""
    phases = [phase | {"seconds": {"learn": 27.0, "glue": 9.0}.get(phase["name"], phase["seconds"])} for phase in SAMPLED["phases"]]
    assert seconds_a_tick(SAMPLED | {"phases": phases}) == {"learn": 3.0, "glue": 9.0}
    assert [stack.seconds for stack in stacks_of(SAMPLED | {"phases": phases})] == [18.0, 9.0, 9.0]


def test_a_phase_that_was_not_measured_is_worth_its_looks():
    assert seconds_a_tick(SAMPLED | {"phases": []}) == {"learn": 6.0, "glue": 6.0}


def test_the_tree_lays_stacks_on_top_of_each_other():
    nodes = [(depth, node.frame.function, node.seconds, node.own, sorted(node.phases)) for depth, node in walk(tree(stacks_of(SAMPLED)))]
    assert nodes == [
        (0, "all", 30, 0, ["glue", "learn"]),
        (1, "main", 30, 3, ["glue", "learn"]),
        (2, "learn", 27, 9, ["learn"]),
        (3, "learn", 18, 0, ["learn"]),
        (4, "backward", 18, 18, ["learn"]),
    ]


def test_a_function_belongs_to_the_phase_that_has_nine_tenths_of_it():
    """main: 27 of 30 s are learning. With a second more of glue they are less than nine tenths."""
    assert [node.phase for _, node in walk(tree(stacks_of(SAMPLED)))] == ["learn"] * 5
    phases = [phase | {"seconds": 4.0 if phase["name"] == "glue" else phase["seconds"]} for phase in SAMPLED["phases"]]
    assert [node.phase for _, node in walk(tree(stacks_of(SAMPLED | {"phases": phases})))] == [None, None, "learn", "learn", "learn"]


def test_what_is_too_small_to_be_seen_is_not_drawn():
    assert [node.frame.function for _, node in walk(tree(stacks_of(SAMPLED)), least=0.7)] == ["all", "main", "learn"]


def test_a_stack_deeper_than_python_may_recurse_is_walked():
    deep = {"phase": "learn", "stack": [[0, 3]] + [[1, 12]] * 5000, "ticks": 2}
    record = plain_record() | {"samples": tiny_samples() | {"stacks": [deep]}}
    assert max(depth for depth, _ in walk(tree(stacks_of(record)))) == 5001


def test_pythons_way_of_importing_is_left_out_and_what_is_imported_stays():
    found = [without_imports(stack) for stack in stacks_of(rich_record()) if stack.phase == "start-up"]
    assert {frame for stack in found for frame in stack.frames} == {Frame("<module>", SCRIPT, 1), Frame("<module>", found[0].frames[-1].file, 1)}
    assert "torch" in found[0].frames[-1].file and all(len(stack.frames) == len(stack.lines) == 2 for stack in found)


def test_hot_lines_are_ones_own_with_what_they_call():
    assert hot_lines(stacks_of(SAMPLED)) == [
        ("learn", "/me/a.py", 13, "learn", "backward", 18.0, 6 / 9),
        ("learn", "/me/a.py", 12, "learn", "", 9.0, 3 / 9),
        ("glue", "/me/a.py", 4, "main", "", 3.0, 1.0),
    ]
    rows = [(row.place, row.seconds, row.share) for row in line_rows(SAMPLED)]
    assert rows == [("a.py:13", "18.00", "67 %"), ("a.py:12", "9.00", "33 %"), ("a.py:4", "3.00", "100 %")]


def test_a_thin_phase_has_no_hot_lines():
    phases = [phase | {"seconds": 0.3 if phase["name"] == "glue" else phase["seconds"]} for phase in SAMPLED["phases"]]
    assert {line.phase for line in hot_lines(stacks_of(SAMPLED | {"phases": phases}))} == {"learn"}


def test_a_function_on_a_stack_twice_is_counted_once():
    functions, callers = by_function(stacks_of(SAMPLED))
    assert {frame.function: tuple(of) for frame, of in functions.items()} == {"main": (3, 30, 10), "learn": (9, 27, 9), "backward": (18, 18, 6)}
    assert {frame.function: {caller.function: tuple(of) for caller, of in found.items()} for frame, found in callers.items()} == {
        "learn": {"main": (9, 27, 9), "learn": (0, 18, 6)},
        "backward": {"learn": (18, 18, 6)},
    }
