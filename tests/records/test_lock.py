"""One writer a run folder."""

import os
import signal
import subprocess
import sys

import pytest

from hotloop.records.files import RunError
from hotloop.records.lock import sole_writer


def test_a_second_writer_is_told_who_is_at_work(tmp_path):
    with sole_writer(tmp_path):
        with pytest.raises(RunError, match=f"expected a run nobody is training, found process {os.getpid()} at work"), sole_writer(tmp_path):
            pass
        assert (tmp_path / "lock").exists()  # whoever was refused took nothing away
    with sole_writer(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="kills")
def test_a_killed_writer_leaves_no_lock(tmp_path):
    program = "from pathlib import Path; from hotloop.records.lock import sole_writer\nwith sole_writer(Path('.')): print(1, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"1\n"
        with pytest.raises(RunError, match=f"process {writer.pid}"), sole_writer(tmp_path):
            pass
        writer.send_signal(signal.SIGKILL)
    with sole_writer(tmp_path):
        pass
