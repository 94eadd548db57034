"""How a Snake board lies in memory, and the words its rules and features are written in.

A row of the board is one 64-bit word with a bit a column, and a rim of wall runs around the whole: row 0, row `rows + 1`, bit 0 and bit `columns + 1`
are never open. So no move needs to ask whether it leaves the board. A cell is one number, `row * 64 + column`, counted from 1 inside the rim.

*Open* is where the head may go next: every free cell, and the cell of the tail, which will have left it by then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hotloop.engine.binding import compiled
from hotloop.engine.env import GameError

UP, RIGHT, DOWN, LEFT = range(4)
START_LENGTH = 3
MOST_COLUMNS = 62  # a row and its two bits of rim fill a word
MOST_ROWS = 500  # a cell's number fits 16 bits


class Place(NamedTuple):
    row: int  # from 0, at the top
    column: int


@dataclass(frozen=True)
class Board:
    rows: int
    columns: int

    @classmethod
    def of(cls, size: int | str) -> Board:
        """A board from 10, "10" or "10x8"."""
        try:
            lengths = [int(length) for length in str(size).lower().split("x")]
            rows, columns = lengths * 2 if len(lengths) == 1 else lengths
        except ValueError:
            raise GameError(f'size must be a number or "ROWSxCOLUMNS", found {size!r}; try 10 or "8x12"') from None
        if not (1 <= rows <= MOST_ROWS and START_LENGTH <= columns <= MOST_COLUMNS and rows * columns > START_LENGTH):
            raise GameError(
                f"size must be 1 to {MOST_ROWS} rows of {START_LENGTH} to {MOST_COLUMNS} columns with room for the snake ({START_LENGTH} cells) and its food, "
                f"found {rows}x{columns}; try 10"
            )
        return cls(rows, columns)

    @property
    def cells(self) -> int:
        return self.rows * self.columns

    @property
    def ring(self) -> int:
        """Entries of the ring that holds the body: a power of two, so that going round is an `&`."""
        return 1 << (self.cells - 1).bit_length()

    @property
    def open_row(self) -> int:
        """The word of a row nothing stands on."""
        return ((1 << self.columns) - 1) << 1

    @property
    def start(self) -> Place:
        """Where the head begins: the centre, or as near as leaves room for the body on its left."""
        return Place(self.rows // 2, max(self.columns // 2, START_LENGTH - 1))

    @staticmethod
    def cell(row: int, column: int) -> int:
        return (row + 1) * 64 + column + 1

    @staticmethod
    def place(cell: int) -> Place:
        return Place((cell >> 6) - 1, (cell & 63) - 1)

    def holds(self, place: Place) -> bool:
        return 0 <= place.row < self.rows and 0 <= place.column < self.columns


@compiled
def ahead(cell, heading):
    """The next cell in a direction."""
    if heading & 1:
        return cell + 2 - heading  # right is one on, left is one back
    return cell + (heading - 1) * 64  # down is a row on, up is a row back


@compiled
def is_open(s, cell):
    """1 where the head may go, 0 where it would die."""
    return s.open[cell >> 6] >> (cell & 63) & 1


@compiled
def ways_on(s, cell):
    """How many cells can be entered from this one."""
    return is_open(s, ahead(cell, UP)) + is_open(s, ahead(cell, RIGHT)) + is_open(s, ahead(cell, DOWN)) + is_open(s, ahead(cell, LEFT))


@compiled
def flip(s, cell):
    """Close an open cell, or open a closed one."""
    s.open[cell >> 6] ^= 1 << (cell & 63)


@compiled
def body_cell(s, i):
    """The i-th cell of the snake; 0 is the head, `s.length - 1` the tail."""
    return s.body[(s.front - i) & (len(s.body) - 1)]


def _count_bits_native(word):
    """Adds neighbouring bits, pairs, nibbles, bytes; compilers know the pattern and use the machine's own instruction."""
    bits = np.uint64(word)
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled(machine=_count_bits_native)
def count_bits(word):
    """How many bits of a word are set; words are not negative."""
    return word.bit_count()
