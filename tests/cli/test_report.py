"""hotloop report: pages and files from a record, and one line about what is no record."""

import json
import marshal

import pytest

from hotloop.lab.account import account

SECOND = 10**9
MEASURED = {
    "seconds": 20.0,
    "ended_by": "end",
    "inside": {"step": 4 * SECOND, "learn": 11 * SECOND},
    "calls": {"step": 1000, "learn": 250},
    "gaps": {"start>step": 5 * SECOND},
    "startup": {"inside": {}, "calls": {}, "gaps": {"start>step": 5 * SECOND}},
    "env_steps": 1000,
    "vector_steps": 1000,
    "episodes": 7,
    "updates": {"Adam 1": 250},
    "first_update_at": 500,
}
FRAMES = [{"function": "main", "file": "/me/a.py", "line": 1}, {"function": "learn", "file": "/me/a.py", "line": 10}]
STACKS = [{"phase": "learn", "stack": [[0, 3], [1, 12]], "ticks": 6}, {"phase": "step", "stack": [[0, 4]], "ticks": 2}]
EVENTS = [["learn", 6.0, 0.5, 0], ["sample", 6.1, 0.2, 1]]
LATER = {
    "samples": {"ticks": 8, "seconds_each": 2.5, "frames": FRAMES, "stacks": STACKS},
    "timeline": {"windows": [{"start_seconds": 6.0, "events": EVENTS}]},
    "blocks": None,
}


@pytest.fixture
def folder(tmp_path):
    """The folder of a profile."""
    return written(tmp_path / "a profile", account(MEASURED, command=["train.py"], machine={"cpu": "Z80"}, exit_status=0) | LATER)


def written(folder, record):
    folder.mkdir()
    (folder / "report.json").write_text(record if isinstance(record, str) else json.dumps(record))
    return folder


def test_without_flags_the_table_is_printed_and_the_pages_are_written(hotloop, folder):
    answer = hotloop("report", folder)
    assert answer.status == 0 and answer.err == ""
    assert answer.out.startswith("train.py · ran to its end after 20.0 s\n")
    assert answer.out.endswith(f"\nwrote {folder / 'report.md'}\nwrote {folder / 'report.html'}\n")
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "report.json", "report.md"]
    assert (folder / "report.md").read_text().startswith("# train.py · ran to its end after 20.0 s\n")
    assert (folder / "report.html").read_text().startswith("<!doctype html>")


def test_each_file_asked_for_is_written_where_it_was_asked_for_and_no_other(hotloop, folder, tmp_path):
    names = {"html": "new/a.html", "markdown": "a.md", "speedscope": "a.json", "perfetto": "b.json", "pstats": "a.pstats", "collapsed": "a.txt"}
    answer = hotloop("report", folder, *(word for flag, name in names.items() for word in (f"--{flag}", name)))
    assert answer == (0, "".join(f"wrote {name}\n" for name in names.values()), "")
    assert [path.name for path in folder.iterdir()] == ["report.json"]
    files = {flag: (tmp_path / name).read_bytes() for flag, name in names.items()}
    assert files["html"].startswith(b"<!doctype html>") and files["markdown"].startswith(b"# train.py")
    assert json.loads(files["speedscope"])["profiles"][0]["weights"] == [4.0, 11.0]
    assert [event["name"] for event in json.loads(files["perfetto"])["traceEvents"] if event["ph"] == "X"] == ["learn", "sample"]
    assert marshal.loads(files["pstats"])["/me/a.py", 10, "learn"][:4] == (6, 6, 11.0, 11.0)
    assert files["collapsed"] == b"learn;main (a.py:1);learn (a.py:10) 6\nstep;main (a.py:1) 2\n"


def test_the_record_is_printed_for_programs(hotloop, folder):
    answer = hotloop("report", "--json", folder)
    assert json.loads(answer.out) == json.loads((folder / "report.json").read_text()) and answer.err == ""
    assert [path.name for path in folder.iterdir()] == ["report.json"]


def test_the_record_is_never_changed(hotloop, folder):
    before = (folder / "report.json").read_bytes()
    hotloop("report", folder)
    hotloop("report", folder, "--html", folder / "report.html")
    assert (folder / "report.json").read_bytes() == before


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ('{"version": 1, ', "expected JSON in a/report.json, found something else"),
        ("[1]", "expected a JSON object in a/report.json, found a list"),
        ({"version": 2}, "expected a record of version 1 in a/report.json, found 2; try the hotloop that wrote it"),
        ({}, "expected a record of version 1 in a/report.json, found none; try"),
        ({"version": 1, "command": []}, "expected a whole record in a/report.json, found one without exit_status, ended_by,"),
    ],
    ids=["torn", "a list", "of another version", "of no version", "half"],
)
def test_what_is_no_record_is_told_in_one_line(hotloop, tmp_path, record, sentence):
    written(tmp_path / "a", record)
    answer = hotloop("report", "a")
    assert answer.status == 2 and answer.out == "" and len(answer.err.splitlines()) == 1
    assert answer.err.startswith(f"hotloop: {sentence}") and "; try" in answer.err
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["report.json"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "expected the folder of a profile, found none; try: hotloop report profiles/…"),
        (["nowhere"], "expected the folder of a profile at nowhere, found nothing there; try: hotloop profile train.py"),
        (["a file"], "expected the folder of a profile at a file, found a file; try: hotloop profile train.py"),
        (["empty"], "expected report.json in empty, found none; try another folder, or: hotloop profile -o empty train.py"),
        (["empty", "--htlm", "x"], "expected a flag this command has, found --htlm; try --html, or --help for all"),
        (["empty", "--html"], "expected a path for --html, found nothing; try --html PATH"),
        (["empty", "other"], "expected only flags and their values, found 'other'; try --help"),
    ],
)
def test_a_folder_that_is_none_is_told_in_one_line(hotloop, tmp_path, words, sentence):
    (tmp_path / "empty").mkdir()
    (tmp_path / "a file").write_text("")
    answer = hotloop("report", *words)
    assert (answer.status, answer.out, answer.err) == (2, "", f"hotloop: {sentence}\n")


def test_a_file_that_cannot_be_made_leaves_none_of_the_others(hotloop, tmp_path):
    """A record without samples: the page could be written, the stacks could not."""
    written(tmp_path / "a", account(MEASURED, command=["train.py"], machine={}, exit_status=0) | {"blocks": None})
    answer = hotloop("report", "a", "--html", "a.html", "--collapsed", "a.txt")
    assert answer == (2, "", "hotloop: expected samples in the record, found none; try profiling the script again, for some seconds at least\n")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
