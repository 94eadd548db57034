"""Memory's roofs: how fast bytes are copied, filled and read, by how many there are (which cache they fit) and how many threads share them.

A byte copied counts once. Buffers are made once and touched before anything is timed: a fresh page costs more than the bytes in it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

from hotloop.lab.roofs.native import LINE, UNROLLED, memory_loop
from hotloop.lab.roofs.probe import Probe, Run

KIB, MIB = 1024, 1024 * 1024
SIZES = (16 * KIB, 128 * KIB, 512 * KIB, 4 * MIB, 16 * MIB, 64 * MIB)  # of what fits some cache; on top of them, what fits none
QUICK_SIZES = (16 * KIB, 512 * KIB, 4 * MIB)
LARGEST, LARGEST_A_THREAD, NO_LARGER = 256 * MIB, 64 * MIB, 1024 * MIB  # many cores have much cache together
BEYOND_A_CORE = 4 * MIB  # from here on, stores that pass the caches by may win
ONES = 1  # zeros are no fair filling: processors have a way of their own to write them (here at more than twice the rate of any other byte)
TURN = LINE * UNROLLED
LEAST = 4 * TURN  # bytes a thread needs, to have anything to do


def sizes_for(threads: int, *, quick: bool) -> tuple[int, ...]:
    """From a core's own first cache to what fits no cache of this machine."""
    return (*(QUICK_SIZES if quick else SIZES), min(max(LARGEST, LARGEST_A_THREAD * threads), NO_LARGER))


def memory_probes(threads: int, sizes: tuple[int, ...]) -> list[Probe]:
    """Copy, fill and read by size, on one thread and on all; the C library's copy beside the bare one."""
    to, source = Buffer(max(sizes)), Buffer(max(sizes))
    counts = sorted({1, threads})
    bare = [probe for count in counts for size in sizes if size >= LEAST * count for probe in bare_probes(to, source, size, count)]
    return bare + [library_probe(to, source, size) for size in sizes]


def bare_probes(to: Buffer, source: Buffer, size: int, threads: int) -> Iterator[Probe]:
    part = size // threads // TURN * TURN
    for kind in ("copy", "fill", "read"):
        at = {"bytes": size, "threads": threads}
        yield Probe("memory", kind, "bytes/s", part, side_by_side(memory_loop(kind), to, source, part, threads), at, is_busy=True)
        if kind != "read" and size >= BEYOND_A_CORE:
            runs = side_by_side(memory_loop(kind, past_caches=True), to, source, part, threads)
            yield Probe("memory", f"{kind} past the caches", "bytes/s", part, runs, at, is_busy=True)


def side_by_side(loop: Any, to: Buffer, source: Buffer, part: int, threads: int) -> list[Run]:
    """Each thread has a part of the bytes to itself."""
    return [part_of(loop, to, source, k * part, part) for k in range(threads)]


def part_of(loop: Any, to: Buffer, source: Buffer, at: int, part: int) -> Run:
    """It holds the buffers themselves: an address alone would outlive its memory."""

    def run(repeats: int) -> None:
        loop(to.address + at, source.address + at, part, repeats)

    return run


def library_probe(to: Buffer, source: Buffer, size: int) -> Probe:
    def run(repeats: int) -> None:
        move, destination, origin = ctypes.memmove, to.address, source.address
        for _ in range(repeats):
            move(destination, origin, size)

    return Probe("memory", "copy by the C library", "bytes/s", size, [run], {"bytes": size, "threads": 1}, is_busy=True)


class Buffer:
    """Bytes that begin at a page and have been written once."""

    def __init__(self, size: int) -> None:
        import numpy as np

        page = 4096
        self._held = np.full(size + page, ONES, np.uint8)
        self.address: int = -(-self._held.ctypes.data // page) * page
