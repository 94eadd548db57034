"""A profile's pages: what they show is what was recorded, what was not recorded leaves no gap, and no name breaks out of its place."""

import copy
import json
import re
from html.parser import HTMLParser

import pytest
from profile_records import MACHINE, plain_record, rich_record, tiny_samples

from hotloop.report.blocks import blocks_of
from hotloop.report.pages import write_pages
from hotloop.report.palette import PHASE_COLOURS
from hotloop.report.profile_html import profile_html
from hotloop.report.profile_markdown import code, profile_markdown, text
from hotloop.report.profile_memory import memory_rows
from hotloop.report.profile_rows import count_rows, drift_rows, phase_rows, roof_rows, span

SAMPLED = plain_record() | {"samples": tiny_samples()}
LATER = ("blocks", "samples", "timeline", "counts", "work", "drift", "memory")
VOID = {"meta", "input", "br", "hr", "link", "img"}
SVG = {"rect", "path"}


class Page(HTMLParser):
    """A page as a browser reads it: tags that close, scripts, links, text, tables."""

    def __init__(self, html):
        super().__init__()
        self.open, self.unclosed, self.scripts, self.ids, self.links, self.loads, self.words, self.tables = [], [], [], [], [], [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        self.loads += [given[name] for name in ("src", "srcset", "data", "action", "poster") if name in given]
        if tag not in VOID:
            self.open.append(tag)
        self.scripts += [""] if tag == "script" else []
        self.tables += [[]] if tag == "table" else []
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if self.open[-1:] == [tag]:
            self.open.pop()
        else:
            self.unclosed.append(tag)

    def handle_data(self, data):
        if "script" in self.open:
            self.scripts[-1] += data
        elif "style" not in self.open:
            self.words.append(data)
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def headings(page):
    return re.findall(r"<h2>(.*?)</h2>", page)


# Markdown ------------------------------------------------------------------------------------------------------------

PLAIN_PAGE = """\
# train.py --env Cart\\<Pole\\>-v1 · stopped by the budget after 60.0 s

| phase | seconds | of wall | calls | µs a call | µs a step | where |
|---|---:|---:|---:|---:|---:|---|
| learn | 27.00 | 45.0% | 9 000 | 3 000.0 | 168.8 | `Agent.learn (train.py:88) and 1 more` |
| act | 11.00 | 18.3% | 40 000 | 275.0 | 68.8 | `Agent.act.<lambda> (train.py:61)` |
| step | 6.00 | 10.0% | 40 000 | 150.0 | 37.5 | `SyncVectorEnv.step (sync_vector_env.py:201)` |
| sample | 5.00 | 8.3% | 9 000 | 555.6 | 31.2 |  |
| glue | 3.00 | 5.0% |  |  | 18.8 |  |
| log | 1.00 | 1.7% | 310 | 3 225.8 | 6.2 |  |
| store | 0.50 ? | 0.8% | 40 000 | 12.5 | 3.1 |  |
| reset | 0.25 | 0.4% | 310 | 806.5 | 1.6 |  |
| start-up | 4.00 | 6.7% |  |  |  |  |
| looking | 1.00 | 1.7% |  |  |  |  |
| unattributed | 1.25 | 2.1% |  |  |  |  |
"""


def test_the_page_of_markdown_begins_with_the_terminals_table():
    assert profile_markdown(plain_record()).replace("\u202f", " ").startswith(PLAIN_PAGE)


def test_what_was_not_measured_has_no_section():
    titles = re.findall(r"^## (.*)", profile_markdown(plain_record()), re.MULTILINE)
    assert titles == ["Clocks", "Machine"]
    titles = re.findall(r"^## (.*)", profile_markdown(rich_record()), re.MULTILINE)
    assert titles == ["Clocks", "Hot lines", "Over the run", "Counts", "Memory", "Machine"]


def test_every_row_of_a_table_of_markdown_has_as_many_cells_as_its_title():
    lines = profile_markdown(rich_record()).split("\n## Counts")[1].split("##")[0].splitlines()
    widths = [len(re.findall(r"(?<!\\)\|", line)) for line in lines if "|" in line]
    assert len(widths) == 8 and set(widths) == {7}


@pytest.mark.parametrize(
    ("words", "shown"),
    [("a_b <c> *d*", "a_b \\<c\\> \\*d\\*"), ("_x_", "\\_x\\_"), ("a|b", "a\\|b"), ("two\nlines", "two lines"), ("[x](y)", "\\[x\\](y)")],
)
def test_nothing_in_a_text_means_anything_to_markdown(words, shown):
    assert text(words) == shown


@pytest.mark.parametrize(("name", "shown"), [("<lambda>", "`<lambda>`"), ("a|b", "`a\\|b`"), ("a`b", "`` a`b ``"), ("", "")])
def test_a_name_is_code_whatever_is_in_it(name, shown):
    assert code(name) == shown


# HTML ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", [plain_record(), SAMPLED, rich_record()], ids=["plain", "sampled", "rich"])
def test_every_tag_is_closed(record):
    page = Page(profile_html(record))
    assert (page.open, page.unclosed) == ([], []) and len(page.ids) == len(set(page.ids))


def test_a_tag_that_is_not_closed_would_be_noticed():
    assert Page("<div><p></div>").unclosed == ["div"]


def test_the_page_fetches_nothing():
    html = profile_html(rich_record())
    page = Page(html)
    assert page.loads == [] and all(link.startswith("#") and link[1:] in page.ids for link in page.links) and len(page.links) == 8
    assert not re.search(r"@import|url\(|https?:|//cdn", html)
    assert "default-src 'none'" in html


def test_sections_are_those_of_what_was_measured():
    assert headings(profile_html(plain_record())) == ["Where the time went", "Clocks", "Machine"]
    assert headings(profile_html(rich_record())) == [
        *("Where the time went", "Hot lines", "Flame graph", "Over the run", "Moments", "Roofs", "Counts"),
        *("Clocks", "Memory", "Machine"),
    ]


@pytest.mark.parametrize("missing", [*LATER, "where", "roof"])
@pytest.mark.parametrize("empty", [None, {}, []], ids=["null", "object", "array"])
def test_any_part_may_be_missing(missing, empty):
    record = copy.deepcopy(rich_record())
    for phase in record["phases"]:
        phase["roof"] = None if missing == "roof" else phase["roof"]
    record |= {missing: empty if missing in LATER else []}
    whole = headings(profile_html(rich_record()))
    assert set(headings(profile_html(record))) <= set(whole) and profile_markdown(record).startswith("# train.py")


def test_blocks_as_they_once_were_are_left_out():
    assert blocks_of(plain_record() | {"blocks": [[0.5, 0, 0, 0], [1.0, 10, 3, 0]]}) is None


def test_names_stay_in_their_places():
    html = profile_html(rich_record())
    page = Page(html)
    assert len(page.scripts) == 2 and "alert" not in page.scripts[1] and html.count("</script>") == 2
    data = json.loads(page.scripts[0])
    assert '</script><script>alert("x")</script>' in [function for function, _, _ in data["frames"]]
    assert {file for _, file, _ in data["frames"]} >= {"/home/me/it's mine/train.py"}
    assert "train.py --env Cart<Pole>-v1" in page.text and "Agent.act.<lambda>" in page.text


def test_a_name_that_breaks_out_would_be_noticed():
    broken = profile_html(rich_record()).replace("\\u003c/script\\u003e\\u003cscript\\u003e", "</script><script>", 1)
    assert len(Page(broken).scripts) == 3


def test_both_pages_show_the_same_table():
    record = rich_record()
    rows = [row for row in Page(profile_html(record)).tables[0][1:] if len(row) > 1]
    assert [[cell.strip() for cell in row] for row in rows] == [list(row[:6]) + [row.roof] for row in phase_rows(record)]


def test_every_phase_has_the_colour_it_has_everywhere():
    html = profile_html(plain_record())
    assert all(f".{phase} {{ --colour: {colour} }}" in html for phase, colour in PHASE_COLOURS.items())


def test_the_device_has_a_column_where_there_is_one():
    record = plain_record()
    assert "device s" not in profile_html(record) and "device s" not in profile_markdown(record)
    record["phases"][5]["device_seconds"] = 21.5
    assert record["phases"][5]["name"] == "learn"
    assert "<td>21.50</td>" in profile_html(record) and "| 21.50 |" in profile_markdown(record)


def test_a_loop_that_never_stepped_is_a_page_too():
    record = plain_record() | {"phases": [], "startup_seconds": 59.0, "unattributed_share": 0.0}
    record["clocks"] |= {"env_steps": 0, "vector_steps": 0, "updates": 0, "episodes": 0, "batch_size": None, "replay_ratio": None, "learning_starts": None}
    assert "59.00" in Page(profile_html(record)).text and "| start-up | 59.00 |" in profile_markdown(record)


def test_pages_are_written_beside_the_record(tmp_path):
    paths = write_pages(rich_record(), tmp_path)
    assert [path.name for path in paths] == ["report.md", "report.html"] == sorted((path.name for path in tmp_path.iterdir()), reverse=True)
    assert paths[1].read_text(encoding="utf-8") == profile_html(rich_record())


# Rows ----------------------------------------------------------------------------------------------------------------


def test_a_roof_is_told_as_the_share_of_the_time_it_asks_for():
    rows = {row.name: row.roof for row in phase_rows(rich_record()) if row.roof}
    assert rows == {"learn": "dispatch 31 %", "act": "dispatch 12 %", "step": "interpreter 64 %", "sample": "copy 5 %", "store": "beyond interpreter ?"}


def test_a_time_below_its_roof_is_a_measurement_error():
    rows = {row.phase: (row.words, row.beyond) for row in roof_rows(rich_record())}
    assert rows["learn"] == ("3.2 × its roof", False)
    assert rows["store"] == ("faster than its roof allows: one of the two is measured wrongly", True)


def test_what_is_counted_most_often_comes_first_and_details_last():
    rows = count_rows(rich_record())
    assert [row.what for row in rows] == ["item", "numpy", "FloatTensor", "deepcopy", "len", "Replay.push"]  # the last two are details of the others
    assert rows[0] == ("item", "12", "vector step", "3 × num_envs", "act", "train.py:66 Agent.act.<lambda>")
    assert rows[2].place == "train.py:92 Agent.act.<lambda> through Batch.stack"


def test_hundreds_of_counts_are_cut_and_the_rest_is_told():
    record = plain_record() | {"counts": rich_record()["counts"] * 10}
    assert len(count_rows(record)) == 40
    assert "and 20 more in report.json" in profile_markdown(record) and "and 20 more in report.json" in profile_html(record)


def test_drift_is_a_verdict_and_a_sentence():
    assert drift_rows(rich_record())[0].verdict == "cost grows with buffer in sample"
    none = {"drift": {"verdict": "none", "where": None, "explanation": "nothing changed: a step took 80 µs"}}
    assert drift_rows(none) == [("", "nothing changed: a step took 80 µs")]
    assert "\n\nnothing changed: a step took 80 µs\n" in profile_markdown(plain_record() | none)


def test_memory_is_told_in_words_and_what_is_unknown_is_left_out():
    assert memory_rows(rich_record()) == [
        ("held at first, MB", "430"),
        ("held in the end, MB", "812"),
        ("growth per 1000 transitions, MB", "2.31"),
        ("of that, the replay filling up, MB", "2"),
        ("of that, unexplained, MB", "0.31"),
        ("the replay", "2\u202f019 of 100\u202f000 transitions in a deque, 113\u202f024 bytes each"),
        ("a transition", "obs: float64 84×84, 56\u202f448 bytes, would fit uint8 / 255 · action: int, 28 bytes"),
        ("kept twice", "next_obs of a transition is obs of the next, as a copy, 98 % of the time"),
    ]


def test_variables_keep_their_names():
    assert "environment: OMP_NUM_THREADS 2" in profile_markdown(plain_record()) and "OMP_NUM_THREADS" in MACHINE["environment"]


SPANS = {7200.0: "7 200 s", 60.0: "60 s", 8.37: "8.37 s", 0.9999: "1.00 s", 0.25: "250 ms", 0.0032: "3.20 ms", 45e-6: "45 µs", 4e-8: "0.04 µs", 0.0: "0 s"}


@pytest.mark.parametrize(("seconds", "shown"), SPANS.items())
def test_a_span_of_time(seconds, shown):
    assert span(seconds).replace("\u202f", " ") == shown
