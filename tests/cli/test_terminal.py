"""Playing and watching in a terminal: a real one, made for the test."""

import os
import select
import sys

import pytest

pty = pytest.importorskip("pty", reason="terminals of this kind are Unix's")

PATIENCE_SECONDS = 20.0


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, *words: object) -> None:
        import subprocess

        self.ours, theirs = pty.openpty()
        import termios

        self.theirs, self.before = theirs, termios.tcgetattr(theirs)
        program = [sys.executable, "-c", "import sys; from hotloop.cli import main; sys.exit(main())", *map(str, words)]
        self.process = subprocess.Popen(program, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, preexec_fn=self._take)
        self.text = self.typed = ""

    def _take(self) -> None:
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def until(self, wanted: str) -> None:
        """Read on until the text is there that was not there before. A key that comes to nothing is pressed again, as a person would, twice at most."""
        self.text, presses = "", 1
        while wanted not in self.text:
            if select.select([self.ours], [], [], PATIENCE_SECONDS)[0]:
                self.text += os.read(self.ours, 65536).decode(errors="replace")
                continue
            assert self.typed and presses < 3, f"waited for {wanted!r}, found {self.text[-500:]!r}"
            presses += 1
            self.type(self.typed)

    def type(self, keys: str) -> None:
        self.typed = keys
        os.write(self.ours, keys.encode())

    def is_as_before(self) -> bool:
        import termios

        return termios.tcgetattr(self.theirs) == self.before


def test_playing_by_hand_leaves_the_terminal_as_it_was():
    terminal = Terminal("play", "catch", "--fps", 50, "--seed", 1)
    terminal.until("press a key to begin")
    assert not terminal.is_as_before()
    terminal.type("\x1b[C")
    terminal.until("space plays again, q quits")
    assert "score 1" in terminal.text or "score -1" in terminal.text
    terminal.type(" ")
    terminal.until("press a key to begin")
    terminal.type("q")
    terminal.until("best score")
    assert terminal.process.wait() == 0 and terminal.is_as_before()


def test_ctrl_c_leaves_the_terminal_as_it_was_too():
    terminal = Terminal("play", "catch", "--fps", 1, "--seed", 1)
    terminal.until("press a key to begin")
    terminal.type("\x03")
    terminal.until("no game was played to its end")
    assert terminal.process.wait() == 0 and terminal.is_as_before()


def test_watching_in_a_terminal(trained):
    terminal = Terminal("watch", trained, "--fps", 100)
    terminal.until("\x1b[?1049h")  # a screen of its own …
    terminal.until("step 9")
    terminal.until("\x1b[?25h\x1b[?1049l")  # … and the usual one again, with its cursor
    assert terminal.process.wait() == 0
