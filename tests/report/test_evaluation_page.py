"""Evaluations as a table and as a page."""

import io

from rich.console import Console

from hotloop.report.evaluation import evaluation_markdown, evaluation_table

SUMMARY = {
    "episodes": 4,
    "score": {"mean": 12.5, "median": 12.0, "low": 11.0, "high": 14.0},
    "return": {"mean": -0.25, "median": 0.0, "low": -1.0, "high": 0.5},
    "length": {"mean": 1250.0, "median": 1000.0, "low": 900.0, "high": 1600.0},
    "endings": {"cut off": 1, "wall": 3},
}


def test_the_page():
    assert evaluation_markdown({"snake": SUMMARY}, "Evaluation of snake", {"seed": 7, "episodes": 4}) == (
        "# Evaluation of snake\n\n- seed: 7\n- episodes: 4\n\n"
        "| | mean | 95 % interval | median |\n|---|---:|---:|---:|\n"
        "| score | 12.5 | 11 … 14 | 12 |\n| return | -0.25 | -1 … 0.5 | 0 |\n| length | 1.25 k | 900 … 1.60 k | 1.00 k |\n\n"
        "| ending | episodes | share |\n|---|---:|---:|\n| wall | 3 | 75 % |\n| cut off | 1 | 25 % |\n"
    )


def test_several_evaluations_have_a_heading_each():
    page = evaluation_markdown({"size=8": SUMMARY, "size=12": SUMMARY}, "Evaluation", {})
    assert [line for line in page.splitlines() if line.startswith("##")] == ["## size=8", "## size=12"]


def test_the_table_shows_the_same_numbers():
    console = Console(file=io.StringIO(), width=80)
    console.print(evaluation_table(SUMMARY, "snake · 4 episodes"))
    shown = console.file.getvalue()
    assert [line.split() for line in shown.splitlines()][2] == ["score", "12.5", "11", "…", "14", "12"]
    assert "snake · 4 episodes" in shown and "wall 75 %   cut off 25 %" in shown
