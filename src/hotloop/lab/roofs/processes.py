"""What it costs to hand something on: to bytes and back, to another process and back, to a file, to the disk itself.

The other process does what a worker of a vector environment does: it receives a message, and sends one of the same size back.
"""

from __future__ import annotations

import mmap
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hotloop.lab.roofs.probe import SECONDS, Probe, Run

KIB, MIB = 1024, 1024 * 1024
SIZES = (64, 28 * KIB, MIB)  # bytes of a few features, of four small pictures, of a batch of them
LINE_OF_LOG = 200  # bytes
FILE = MIB

ECHO = """
import sys
from multiprocessing.connection import Connection
connection = Connection(int(sys.argv[1]))
try:
    while True:
        connection.send(connection.recv())
except (EOFError, OSError):
    pass
"""
ANSWER = """
import mmap, sys
with open(sys.argv[1], "r+b") as file:
    shared = mmap.mmap(file.fileno(), 0)
while not shared[ENDED]:
    if shared[ANSWERED] != shared[ASKED]:
        shared[ANSWERED] = shared[ASKED]
"""
ASKED, ANSWERED, ENDED = range(3)  # bytes of the shared memory
LOOKS = 50_000_000  # at the answer, seconds of them, before the other process is given up


@contextmanager
def process_probes() -> Iterator[list[Probe]]:
    """Pickles, pipes and shared memory. The process at the other end of the pipe sleeps while nothing is asked of it."""
    with echo() as connection, shared_file() as file, mmap.mmap(file.fileno(), 0) as shared:
        pickles = [Probe("processes", "pickle and back", SECONDS, 1.0, [pickle_run(size)], {"bytes": size}, is_busy=True) for size in SIZES]
        pipes = [Probe("processes", "pipe, there and back", SECONDS, 1.0, [pipe_run(connection, size)], {"bytes": size}) for size in SIZES]
        within = lambda: answering(shared, file.name)  # noqa: E731 - a busy process, so it lives only while it is asked
        yield [*pickles, *pipes, Probe("processes", "shared memory, there and back", SECONDS, 1.0, [shared_run(shared)], {"bytes": 1}, within)]


def pickle_run(size: int) -> Run:
    message = message_of(size)

    def run(repeats: int) -> None:
        for _ in range(repeats):
            pickle.loads(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    return run


def pipe_run(connection: Any, size: int) -> Run:
    message = message_of(size)

    def run(repeats: int) -> None:
        for _ in range(repeats):
            connection.send(message)
            connection.recv()

    return run


def shared_run(shared: mmap.mmap) -> Run:
    """A byte changed here, and waited for until the other process has answered; both look all the time."""

    def run(repeats: int) -> None:
        for _ in range(repeats):
            shared[ASKED] = asked = shared[ASKED] ^ 1
            for _ in range(LOOKS):
                if shared[ANSWERED] == asked:
                    break
            else:
                raise TimeoutError("expected an answer through shared memory, found none")

    return run


def message_of(size: int) -> Any:
    import numpy as np

    return np.ones(size, np.uint8)


@contextmanager
def echo() -> Iterator[Any]:
    """A pipe of the kind vector environments use, to a process that sends everything back."""
    from multiprocessing import Pipe

    ours, theirs = Pipe()
    with child(ECHO, str(theirs.fileno()), pass_fds=(theirs.fileno(),)), ours:
        theirs.close()  # so that the end of that process is an end of the pipe, not a wait for ever
        yield ours


@contextmanager
def shared_file() -> Iterator[Any]:
    """A page of memory two processes can both see, by way of a file."""
    with tempfile.NamedTemporaryFile(prefix="hotloop-") as file:
        file.write(bytes(mmap.PAGESIZE))
        file.flush()
        yield file


@contextmanager
def answering(shared: mmap.mmap, name: str) -> Iterator[None]:
    shared[:3] = bytes(3)
    program = ANSWER.replace("ENDED", str(ENDED)).replace("ANSWERED", str(ANSWERED)).replace("ASKED", str(ASKED))
    with child(program, name):
        try:
            yield
        finally:
            shared[ENDED] = 1


@contextmanager
def child(program: str, argument: str, pass_fds: tuple[int, ...] = ()) -> Iterator[None]:
    """Another Python; it is waited for, and ended if it does not end."""
    process = subprocess.Popen([sys.executable, "-c", program, argument], stdin=subprocess.DEVNULL, pass_fds=pass_fds)
    try:
        yield
    finally:
        try:
            process.wait(2.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def disk_probes(folder: Path) -> Iterator[list[Probe]]:
    """A line of a log, a megabyte, and the same until the disk has it, in a folder."""
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        yield [
            Probe("disk", "write", SECONDS, 1.0, [write_run(file, LINE_OF_LOG, sync=False)], {"bytes": LINE_OF_LOG}),
            Probe("disk", "write", SECONDS, 1.0, [write_run(file, FILE, sync=False)], {"bytes": FILE}),
            Probe("disk", "write and fsync", SECONDS, 1.0, [write_run(file, LINE_OF_LOG, sync=True)], {"bytes": LINE_OF_LOG}),
            Probe("disk", "write and fsync", SECONDS, 1.0, [write_run(file, FILE, sync=True)], {"bytes": FILE}),
        ]


def write_run(file: Any, size: int, *, sync: bool) -> Run:
    """From the beginning of the file each time, so that it does not grow."""
    data = os.urandom(size)

    def run(repeats: int) -> None:
        for _ in range(repeats):
            file.seek(0)
            file.write(data)
            if sync:
                os.fsync(file.fileno())

    return run
