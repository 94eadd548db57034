"""Errors as one line: what was expected, what was found, what to try. `HOTLOOP_TRACEBACK=1` shows where they come from."""

from __future__ import annotations

import difflib
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable

FINE, BROKE_DOWN, BAD_INPUT, STOPPED = 0, 1, 2, 130


class UsageError(ValueError):
    """Something in the command has to change."""


def answered(call: Callable[[], int]) -> int:
    """Run a command; whatever goes wrong becomes one line on standard error and an exit status."""
    try:
        return call()
    except SystemExit as ended:  # help was asked for
        if isinstance(ended.__context__, BrokenPipeError):  # rich's way of saying it
            return FINE
        return ended.code if isinstance(ended.code, int) else FINE
    except KeyboardInterrupt as stopped:
        say(str(stopped) or "stopped")
        return STOPPED
    except BrokenPipeError:  # `hotloop … | head`: nobody reads on, and Python should not complain of it when it closes
        write_to_nobody()
        return FINE
    except Exception as error:
        if os.environ.get("HOTLOOP_TRACEBACK"):
            raise
        say(one_line(error))
        return BAD_INPUT if is_bad_input(error) else BROKE_DOWN


def write_to_nobody() -> None:
    """Whatever is still written to an output that was closed goes nowhere."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def say(text: str) -> None:
    print(f"hotloop: {text}", file=sys.stderr, flush=True)


def one_line(error: BaseException) -> str:
    """The message without its line breaks; an error that nobody foresaw is named as such."""
    message = " ".join(str(error).split())
    if is_foreseen(error):
        return message
    if is_about_memory(error):
        wanted = re.search(r"(allocate \S+ (?:bytes|[KMGTPE]iB))", message)
        found = wanted[1] if wanted else textwrap.shorten(message, 120, placeholder=" …")
        return f"expected enough memory, found too little ({found}); try smaller --replay-capacity or --num-envs, or, to evaluate, fewer --episodes"
    if _is_a(error, "numba.core.errors", "NumbaError"):
        return f"expected a game that compiles, found one that does not ({message[:200]} …); try `hotloop check`, which names the rule and the line"
    if isinstance(error, OSError):
        return f"expected to read or write {error.filename or 'a file'}, found: {error.strerror or message}; try another place, or free some space"
    return f"expected to get through, found a {type(error).__name__} nobody foresaw ({message}); try HOTLOOP_TRACEBACK=1 to see where, and tell us"


def is_bad_input(error: BaseException) -> bool:
    """Whether it is for the user to put right; the alternative is a mistake of ours."""
    return is_foreseen(error) or is_about_memory(error) or isinstance(error, OSError) or _is_a(error, "numba.core.errors", "NumbaError")


def is_foreseen(error: BaseException) -> bool:
    """The kinds of error whose messages were written for the user: RunError, ConfigError and GameError are ValueErrors."""
    return (
        (isinstance(error, ValueError) and not isinstance(error, UnicodeError))
        or _is_a(error, "hotloop.algos.session", "TrainingFault")
        or _is_a(error, "hotloop.engine.cuda", "NoGpu")
        or _is_a(error, "gymnasium.error", "Error")
    )


def is_about_memory(error: BaseException) -> bool:
    """NumPy's and torch's ways of saying it; torch's is a bare RuntimeError."""
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "allocate memory" in str(error))


def nearest(found: str, known: Iterable[str]) -> str:
    """The name that was meant."""
    return difflib.get_close_matches(found, list(known), n=1, cutoff=0.0)[0]


def _is_a(error: BaseException, module: str, name: str) -> bool:
    """An isinstance that imports nothing: what was never imported cannot have been raised."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(error, kind)
