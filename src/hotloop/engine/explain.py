"""Explain: why a game does not run, in one sentence its author can act on.

    my_game.py:12: step makes a list; a game allocates nothing, so keep a field in the state or in scratch: state(numbers=("i4", (8,)))

Numba tells such things in a page of its own words. The game's source is read against the rules of the contract first (rules.py); what remains is
recognised by Numba's wording, or, for games on `python`, by the exception.
"""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from hotloop.engine.env import Env, GameError
from hotloop.engine.loop import FUNCTIONS
from hotloop.engine.rules import broken_rules, parts, short


def explain(error: BaseException, env: Env) -> str:
    """The sentence for a game that did not compile, or that raised while it was played on `python`."""
    if isinstance(error, GameError):
        return str(error)
    broken, where = broken_rules(env), place_of(error, env)
    here = [b for b in broken if where in (None, (b.file, b.line))] or [b for b in broken if where and b.function == _name_at(env, *where)]
    if here:
        return str(here[0])
    file, line = where or (env.step.__code__.co_filename, env.step.__code__.co_firstlineno)
    begins = f"{short(file)}:{line}: {_name_at(env, file, line)}"
    for kind, wording, sentence in (*IN_PYTHON, *WORDINGS):
        found = re.search(wording, str(error)) if isinstance(error, kind) else None
        if found:
            return f"{begins} {sentence.format(*found.groups(), fields=', '.join(env.state.names or ()), parts=', '.join(env.reward_parts) or 'a number')}"
    if broken:
        return str(broken[0])
    return f"{begins} cannot be used: {_gist(error)}; try simpler steps: numbers, loops, math, @compiled helpers"


@contextmanager
def explained(env: Env) -> Iterator[None]:
    """Around compilation: what Numba says becomes one sentence. Faults of the machine pass through as they are."""
    try:
        yield
    except Exception as error:
        of_the_machine = isinstance(error, OSError | MemoryError | RuntimeError) and not isinstance(error, NotImplementedError)
        of_the_driver = type(error).__module__.startswith(("cuda.", "numba.cuda.cudadrv"))
        if isinstance(error, GameError) or of_the_machine or of_the_driver:
            raise
        raise GameError(explain(error, env)) from None


def place_of(error: BaseException, env: Env) -> tuple[str, int] | None:
    """The innermost line of the author's that an error speaks of, or came from."""
    files = {os.path.abspath(getattr(env, n).__code__.co_filename) for n in FUNCTIONS if getattr(env, n)} | {p.file for p in parts(env)}
    told = [(a or c, b or d) for a, b, c, d in re.findall(r'File "([^"\n]+)", line (\d+)|\bat (\S[^\n]*?) \((\d+)\)', str(error))]
    ran = [(frame.filename, frame.lineno or 1) for frame in reversed(traceback.extract_tb(error.__traceback__))]
    places = ((os.path.abspath(file), int(line)) for file, line in (*told, *ran))
    return next((place for place in places if place[0] in files), None)


# ---------------------------------------------------------------- wordings: of exceptions in Python, and of Numba

IN_PYTHON: tuple[tuple[type[BaseException], str, str], ...] = (
    (IndexError, r"only integers|whole number", "uses something else than a whole number as an index; write int(…), or divide with //"),
    (IndexError, r"(.+)", "reaches outside an array: {0}"),
    (ZeroDivisionError, r"", "divides by zero, where compiled machines do not stop but go on with nonsense; test for zero before"),
    (OverflowError, r"(.+)", "makes a number that does not fit: {0}; use a wider field, such as 'i8'"),
    (AttributeError, r"this state has no field '(\w+)'", "uses a field {0!r} the state does not have; its fields are {fields}"),
    (AttributeError, r"'Cells' object has no attribute '(\w+)'", "calls .{0} of an array; arrays in a game are read and written number by number"),
    (NameError, r"name '(\w+)' is not defined", "uses {0}, which is defined nowhere"),
    (UnboundLocalError, r"variable '(\w+)'", "reads {0} before it has a value; give it one on every way that leads here"),
    (ValueError, r"read-only", "writes to the world, which all games share and none may change; keep what changes in the state"),
    (TypeError, r"unpack|not enough values|too many values", "must return two things everywhere: reward, ended"),
    (RecursionError, r"", "calls itself too deeply; write a loop"),
)

WORDINGS: tuple[tuple[type[BaseException], str, str], ...] = (
    (KeyError, r"'(\w+)'", "or a helper uses a field {0!r} that is not there; the state's fields are {fields}"),
    (Exception, r"Unsupported array index type float", "uses a number with a fraction as an index; write int(…), or divide with //"),
    (Exception, r"Unsupported array index type (\w+)", "uses {0} as an index; an index is a whole number: write int(…)"),
    (Exception, r"(?i)can(?:not|'t) modify (?:a )?readonly|readonly array", "writes to something no game may change; keep what changes in the state"),
    (Exception, r"Can't unify return type|cannot unify return", "returns different kinds of things in different places; return the same kind everywhere"),
    (
        Exception,
        r"Cannot unify (.+?) and (.+?) for '(\w+?)(?:\.\d+)?'",
        "gives {2} two kinds of value ({0} and {1}); a name keeps one kind, so use two names, or write 0.0 rather than 0",
    ),
    (Exception, r"failed to unpack|too many values to unpack|cannot unpack", "must return two things everywhere: reward, ended (reward being {parts})"),
    (Exception, r"getitem\(Tuple\(", "must return its reward parts as one kind of number; write 0.0 rather than 0"),
    (Exception, r"Cannot cast \S+ to nestedarray", "assigns a number to a whole array; assign to its cells, one by one: s.cells[i] = …"),
    (Exception, r"(?:NameError: name|Undefined variable) '(\w+)'", "uses {0}, which is defined nowhere"),
    (Exception, r"NRT required|requires? (?:the )?NRT", "allocates memory, which a game may not; keep a field in the state or in scratch"),
    (
        Exception,
        r"Untyped global name '(\w+)'.*?type of (.+)",
        "uses {0}, which compiled code does not know ({1}); pass numbers, or mark a helper with @compiled",
    ),
    (Exception, r"Unknown attribute '(\w+)' of type (\S+)", "uses .{0} of {1}, which has none in compiled code; read and write number by number"),
    (Exception, r"not supported in CUDA|Unsupported in CUDA", "uses something the GPU cannot; keep to numbers, loops, math and @compiled helpers"),
    (
        Exception,
        r"got an unexpected keyword|missing (?:\d+|a) required|too many positional|not enough arguments",
        "calls a helper with the wrong number of arguments",
    ),
    (
        Exception,
        r"(?s)Function\(<built-in function (\w+)>\).*?>>> \w+\((.+?)\)",
        "applies {0} to ({1}), which compiled code cannot; use plain numbers on both sides",
    ),
)


def _name_at(env: Env, file: str, line: int) -> str:
    return next((p.name for p in parts(env) if p.file == file and line in p.lines), "step")


def _gist(error: BaseException) -> str:
    """The one line of an error that says something about the game."""
    chaff = ("Failed in nopython", "During:", "File ", "There are", "- Of which", "Overload", "Rejected", "raised from", ">>>", "With argument", "^")
    lines = [line.strip() for line in str(error).splitlines()]
    return next((line for line in lines if line and not line.startswith(chaff)), type(error).__name__).rstrip(".:")
