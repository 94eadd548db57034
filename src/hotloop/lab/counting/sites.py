"""Count sites: where in a script something was called from, and what the line calls it. Bytecode is read when counting is over, never while it goes on."""

from __future__ import annotations

import dis
import functools
import sysconfig
import types
from typing import Any, NamedTuple

from hotloop.lab import HERE

INSTALLED = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
OF_A_MODE = ("simple_registry.py", "fake_impl.py", "effects.py")  # of torch/_library: asked about every operation while a mode is active

BY_INSTRUCTION = {"BINARY_SUBSCR": "index", "STORE_SUBSCR": "index", "FORMAT_VALUE": "format", "FORMAT_SIMPLE": "format", "FORMAT_WITH_SPEC": "format"}


class Site(NamedTuple):
    """A line of the script, and the function of a library through which it got there, if it did."""

    file: str
    line: int
    function: str
    through: str = ""


SCRIPT, LIBRARY, LAB = "script", "library", "lab"


class Origins(dict[str, str]):
    """File → who brought it: the script, a library, or we. Only the first question about a file costs anything."""

    def __missing__(self, file: str) -> str:
        elsewhere = file.startswith(("<", *INSTALLED)) or "site-packages" in file or "dist-packages" in file
        ours = file == "<hotloop>" or file.startswith(HERE) or ("_library" in file and file.endswith(OF_A_MODE))
        self[file] = answer = LAB if ours else LIBRARY if elsewhere else SCRIPT
        return answer


def site_of(frame: types.FrameType | None, origins: Origins) -> Site:
    """The nearest line of the script; of a library, where no line of the script is on the stack."""
    near = None
    while frame is not None:
        code = frame.f_code
        origin = origins[code.co_filename]
        if origin == SCRIPT:
            return Site(code.co_filename, frame.f_lineno, code.co_qualname, near.f_code.co_qualname if near else "")
        if origin == LIBRARY and near is None:
            near = frame
        frame = frame.f_back
    return Site(near.f_code.co_filename, near.f_lineno, near.f_code.co_qualname) if near else Site("", 0, "")


def line_at(code: types.CodeType, at: int) -> int:
    """The line of an instruction."""
    return next((line for first, after, line in code.co_lines() if first <= at < after and line is not None), code.co_firstlineno)


@functools.lru_cache(maxsize=4096)
def called_at(code: types.CodeType, at: int) -> str:
    """What an instruction does, by the name the script has for it: `float` of float(x), `FloatTensor` of torch.FloatTensor(x), `bool` of `if x`."""
    instructions = list(dis.get_instructions(code))
    here = next((i for i, instruction in enumerate(instructions) if instruction.offset == at), None)
    if here is None:
        return ""
    name = instructions[here].opname
    if name.startswith("CALL"):
        return _callee(instructions[: here + 1])
    return BY_INSTRUCTION.get(name, "bool" if "JUMP" in name or name in ("UNARY_NOT", "TO_BOOL", "COMPARE_OP", "CONTAINS_OP") else name.lower())


def _callee(instructions: list[dis.Instruction]) -> str:
    """The last name loaded that begins where the call begins: a call's own text begins with what it calls."""
    *before, call = instructions
    begins, name, longest = _begin(call), "", (-1, -1)
    for instruction in before:
        end = (getattr(instruction.positions, "end_lineno", None) or 0, getattr(instruction.positions, "end_col_offset", None) or 0)
        if begins != (None, None) and _begin(instruction) == begins and instruction.opname.startswith("LOAD") and longest <= end:
            name, longest = _plain(instruction.argval), end
    return name


def _begin(instruction: dis.Instruction) -> tuple[int | None, int | None]:
    return getattr(instruction.positions, "lineno", None), getattr(instruction.positions, "col_offset", None)


def _plain(name: Any) -> str:
    return name if isinstance(name, str) else ""
