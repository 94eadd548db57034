"""Count names: which calls are worth a name of their own, and what the rows of a count look like."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from typing import Any, NamedTuple


class Row(NamedTuple):
    """Something that happened at a line of the script."""

    kind: str
    what: str
    file: str = ""
    line: int = 0
    function: str = ""
    through: str = ""  # the library's function by which the line came to it


class Function(NamedTuple):
    """A function, whoever called it; one that is not Python has no place."""

    name: str
    file: str = ""
    line: int = 0


class Count(NamedTuple):
    """A row, in a phase, how often. As JSON it is a list, and Count(*list) is it again."""

    kind: str
    what: str
    file: str
    line: int
    function: str
    through: str
    phase: str
    calls: int


class Counted(NamedTuple):
    """What was counted while a window was open. Plain data; `_asdict()` is ready for JSON."""

    seconds: float  # how long the window was open, all slowed down: not a measurement
    rows: list[Count]
    functions: list[tuple[str, str, int, str, int]]  # name, file, line, phase, calls
    work: dict[str, dict[str, Any]]  # by phase: python_calls, c_calls, torch_ops, flops by dtype, bytes, slept_seconds, file_bytes
    networks: list[dict[str, Any]]  # {"name", "parameters", "tensors"} of every network that ran forward, in order of appearance
    process: dict[str, int]  # context switches, page faults, threads, blocks of memory
    blind: list[str]  # what could not be counted, and why
    dropped: int  # calls whose places were too many to be kept; they are in `work` all the same


# C functions: (package, name) → kind. Python's own and NumPy's count as such only if they are here; all others are "builtin".
BUILTINS: Mapping[tuple[str, str], str] = {
    **{("torch", name): "sync" for name in ("item", "tolist", "numpy")},
    **{("torch", name): "transfer" for name in ("cpu", "cuda", "to", "pin_memory")},
    **{("torch", name): "tensor" for name in ("tensor", "as_tensor", "from_numpy", "asarray", "frombuffer")},
    **{("numpy", name): "array" for name in ("array", "asarray")},
    **{("_pickle", name): "serialise" for name in ("dumps", "dump", "loads", "load")},
    **{("_io", name): "file" for name in ("write", "writelines", "flush", "open")},
    **{("posix", name): "file" for name in ("write", "fsync", "fdatasync", "replace", "rename")},
    ("builtins", "print"): "print",
    ("time", "sleep"): "sleep",
    ("gc", "collect"): "garbage",
}

# Functions of libraries: (file, qualified name) → kind and what to call it. Counted once, however they call themselves.
FUNCTIONS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("copy.py", "deepcopy"): ("copy", "deepcopy"),
    ("serialization.py", "save"): ("checkpoint", "torch.save"),
    ("serialization.py", "load"): ("checkpoint", "torch.load"),
    ("module.py", "Module.state_dict"): ("copy", "state_dict"),
    ("module.py", "Module.load_state_dict"): ("copy", "load_state_dict"),
    ("optimizer.py", "Optimizer.__init__"): ("optimizer", "optimizer made"),
    ("figure.py", "Figure.savefig"): ("figure", "savefig"),
    ("pyplot.py", "pause"): ("figure", "pause"),
    ("pyplot.py", "show"): ("figure", "show"),
    ("writer.py", "SummaryWriter.add_scalar"): ("log", "add_scalar"),
    ("__init__.py", "Logger._log"): ("log", "log"),
    ("subprocess.py", "Popen.__init__"): ("process", "process started"),
    ("threading.py", "Thread.start"): ("process", "thread started"),
    ("frame.py", "DataFrame.__init__"): ("pandas", "DataFrame"),
    ("module.py", "Module._wrapped_call_impl"): ("forward", "forward"),
}


def kind_of_builtin(function: Any) -> str:
    """What a C function is counted as."""
    name = function.__name__
    if name not in NAMES:
        return "builtin"
    return BUILTINS.get((package_of(function), name), "builtin")


NAMES = {name for _, name in BUILTINS}


def package_of(function: Any) -> str:
    """The package a C function, or the object it is a method of, came with."""
    tensor, owner = getattr(sys.modules.get("torch"), "Tensor", ()), getattr(function, "__self__", None)
    if isinstance(owner, tensor):
        return "torch"
    module = getattr(function, "__module__", None) or type(owner).__module__
    return str(module).partition(".")[0]


def named_function(code: types.CodeType, is_theirs: bool) -> tuple[str, str] | None:
    """What a Python function is counted as, if it is one of those above. Anybody's `render` is."""
    if code.co_name == "render":
        return "render", "render"
    return None if is_theirs else FUNCTIONS.get((code.co_filename.replace("\\", "/").rpartition("/")[2], code.co_qualname))
