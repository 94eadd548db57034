"""The command line, run in this process."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from tiny import TINY

from hotloop.cli import main


class Answer(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def hotloop(capfd, monkeypatch, tmp_path):
    """Call it as a shell does; runs without --output land in the test's own folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOTLOOP_TRACEBACK", raising=False)

    def call(*words: object) -> Answer:
        capfd.readouterr()
        status = main([str(word) for word in words])
        return Answer(status, *capfd.readouterr())

    return call


@pytest.fixture
def trained(hotloop, tmp_path):
    """The folder of a run of catch, 2000 steps long."""
    folder = tmp_path / "trained"
    answer = hotloop("train", "dqn", "catch", *TINY, "--max-steps", 2000, "--output", folder, "--quiet")
    assert answer == (0, "", ""), answer
    return folder
