"""Metronome: the beat that a measured script is looked at by. It is struck from outside, so that nothing in the script has to run for it to come.

A thread in the script's process would wait for the interpreter's lock, and a script that gives it up often and for moments can keep such a thread waiting for
ever. So our process sends a signal, a hundred and twenty times a second and never in step with the loop; the script's main thread hears it between two
bytecodes. The signal is SIGURG, which by default is ignored: a script that becomes another program, or has not begun, is not hurt by it.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

BEAT_SECONDS = 0.008  # on average; a beat costs the script some 60 µs, most of it the system's
BEAT: Any = getattr(signal, "SIGURG", None)  # not on Windows
SLOW_SECONDS = 0.5  # where there is no such signal, a thread beats; it sees no stacks

Hear = Callable[[FrameType | None], None]


def strike(process: subprocess.Popen, until: Callable[[], bool], seed: int = 0) -> None:
    """In our process: beat until the other has ended, or `until` says so."""
    chance = random.Random(seed)
    while process.poll() is None and not until():
        time.sleep(BEAT_SECONDS * (0.5 + chance.random()) if BEAT is not None else 0.05)
        if BEAT is not None:
            process.send_signal(BEAT)


def listen(hear: Hear) -> None:
    """In the script's process: call `hear` with the main thread's frame at every beat."""
    if BEAT is None:
        threading.Thread(target=_beat_slowly, args=(hear,), name="hotloop", daemon=True).start()
        return
    signal.signal(BEAT, lambda number, frame: hear(frame))
    signal.siginterrupt(BEAT, False)  # reads and writes of the script's libraries go on where they were


def _beat_slowly(hear: Hear) -> None:
    while sys.is_finalizing() is False:
        time.sleep(SLOW_SECONDS)
        hear(None)
