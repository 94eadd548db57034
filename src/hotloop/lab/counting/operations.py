"""Count torch: every operation while a mode of torch's is active, with what it computes and moves, backward passes included.

An operation says more than a call: `float(tensor)`, `if tensor` and an optimiser's `item` all come here as the same operation, and so does what
torch.FloatTensor(list) makes, which is no call that Python would tell of.
"""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, Protocol

from hotloop.lab.counting.flops import Formula, formula
from hotloop.lab.counting.names import Row
from hotloop.lab.counting.sites import Origins, called_at, site_of

FETCH, MAKE, COPIES = "aten::_local_scalar_dense", "aten::lift_fresh", ("aten::_to_copy", "aten::copy_")
WAITS = {"aten::equal", "aten::nonzero", "aten::masked_select", "aten::is_nonzero", "aten::allclose", "aten::_unique2"}  # for a device
MOST_LINES = 20_000  # operations of further lines are counted, but not told apart


class Kind(NamedTuple):
    """What is known of an operation whatever it is given."""

    name: str
    run: Callable[..., Any]
    is_torchs: bool  # its own: runs no Python
    is_view: bool  # moves nothing
    flops: Formula | None
    is_special: bool  # may be more than an operation: its line is looked at


class Tally(Protocol):
    """Whose counts these are."""

    counts: dict[Hashable, float]
    sees_calls: bool
    is_open: bool

    def enter(self) -> dict[Hashable, float]: ...
    def pause(self) -> bool: ...
    def go_on(self, seen: bool) -> None: ...
    def place(self, caller: types.CodeType, at: int, name: str) -> Any: ...


class Operations:
    """The mode, while there is a torch to have one.

    Around every operation torch and we call Python functions that the script did not. So that they are neither counted nor slowed down, Python stops telling
    of calls at `aside`, and tells of them again when the operation is over.
    """

    def __init__(self, tally: Tally, origins: Origins, failed: Callable[[str, Exception], None]) -> None:
        self._tally, self._origins, self._failed = tally, origins, failed
        self.kinds: dict[Any, Kind] = {}
        self.codes: dict[int, types.CodeType] = {}  # of callers; held, so that no other code comes to have their number
        self._rows: dict[Hashable, tuple[str, str] | None] = {}  # what an operation at a line is called, if a row of its own is made of it
        self.dropped = 0
        self._tensor: Any = ()
        self._strided: Any = None
        self._overloads: tuple[type, ...] = ()
        self._thread = 0
        self._mode: Any = None
        self._is_aside = False

    def open(self, thread: int) -> list[str]:
        """Begin; says why not, if not."""
        torch = sys.modules.get("torch")
        if torch is None or not hasattr(torch, "nn"):
            return []
        if torch._C._len_torch_dispatch_stack():
            return ["torch operations: the script has a torch mode of its own"]
        self._thread, self._tensor, self._strided = thread, torch.Tensor, torch.strided
        self._overloads = torch._ops.OpOverload, torch._ops.TorchBindOpOverload
        self._mode = self._make_mode(torch)
        torch._C._push_on_torch_dispatch_stack(self._mode)  # not `with`: its flags would tell compilers that something is different
        return []

    def close(self) -> bool:
        """Take the mode off the stack, also from beneath modes that the script has begun since. False: it is at work just now, and out of reach."""
        if self._mode is None:
            return True
        import torch

        above, top = [], None
        while top is not self._mode and torch._C._len_torch_dispatch_stack():
            top = torch._C._pop_torch_dispatch_stack(None)
            above.append(top)
        is_off = top is self._mode
        for other in reversed(above[:-1] if is_off else above):
            torch._C._push_on_torch_dispatch_stack(other)
        self._mode = None if is_off else self._mode
        return is_off

    def codes_of_a_mode(self) -> tuple[types.CodeType | None, types.CodeType | None]:
        """What runs around every operation: torch's question before it comes to a mode, and the mode itself."""
        registry = sys.modules.get("torch._library.simple_registry")
        asks = getattr(getattr(registry, "find_torch_dispatch_rule", None), "__code__", None)
        return (asks, type(self._mode).__torch_dispatch__.__code__) if self._mode else (None, None)

    def aside(self, frame: types.FrameType) -> bool:
        """An operation is on its way to us, unless to another mode: from here on Python need not tell."""
        asked_for = frame.f_locals.get("torch_dispatch_class")
        self._is_aside = asked_for is None or asked_for is type(self._mode)
        if self._is_aside:
            sys.setprofile(None)
        return self._is_aside

    # ------------------------------------------------------------------ the mode

    def _make_mode(self, torch: Any) -> Any:
        from torch.utils._python_dispatch import TorchDispatchMode

        run = self._run

        class Counting(TorchDispatchMode):
            supports_higher_order_operators = True

            @classmethod
            def _should_skip_dynamo(cls) -> bool:
                return False  # that would be a wrapper around every operation

            @classmethod
            def is_infra_mode(cls) -> bool:
                return True  # compiled functions run as they would have

            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return run(func, args, kwargs or {})

        hide_from_compilers()
        return Counting()

    def _run(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run the operation as it would have, and count it."""
        kind = self._kind(func)
        if kind is None or not kind.is_torchs:
            self._look_again()
        try:
            out = func(*args, **kwargs) if kind is None else kind.run(*args, **kwargs)
        except BaseException:
            self._look_again()
            raise
        if kind is not None and self._tally.is_open:
            try:
                self._count(kind, args, out)
            except Exception as error:  # never the script's business
                self._failed("counting operations", error)
        self._look_again()
        return out

    def _kind(self, func: Any) -> Kind | None:
        """What is known of an operation; nothing of those that are made of others, which come here themselves."""
        if type(func) not in self._overloads:
            return None
        return self.kinds.get(func._op) or self.kinds.setdefault(func._op, kind_of(func))

    def _look_again(self) -> None:
        if self._is_aside and threading.get_ident() == self._thread:
            self._is_aside = False
            self._tally.go_on(True)

    # ------------------------------------------------------------------ counting

    def _count(self, kind: Kind, args: Any, out: Any) -> None:
        try:
            caller = sys._getframe(3)
        except ValueError:  # a backward pass in a thread of torch's: its line is where that was called
            caller = sys._current_frames()[self._thread]
        if not self._tally.sees_calls:
            self._tally.enter()
        counts = self._tally.counts
        key = kind.run, id(caller.f_code), caller.f_lasti
        try:
            counts[key] += 1
        except KeyError:
            self._first(key, kind, caller, args, out)
        if kind.is_view:
            return
        counts["bytes"] = counts.get("bytes", 0) + self._moved(args) + self._moved((out,))
        if kind.flops is not None:
            name = f"flops {str(args[0].dtype).rpartition('.')[2]}"
            counts[name] = counts.get(name, 0) + kind.flops(args, out)

    def _moved(self, values: Any) -> int:
        """Bytes read or written, as if each were touched once."""
        moved = 0
        for value in values:
            kind = type(value)
            if kind is self._tensor or isinstance(value, self._tensor):
                moved += value.nbytes if value.layout is self._strided else 0
            elif kind is list or kind is tuple:
                moved += self._moved(value)
        return moved

    def _first(self, key: tuple, kind: Kind, caller: types.FrameType, args: Any, out: Any) -> None:
        """The first of an operation at a line in this phase, or one whose line has to be looked for each time."""
        seen, counts = self._tally.pause(), self._tally.counts
        if key not in self._rows and len(self._rows) < MOST_LINES:
            self.codes[key[1]] = caller.f_code
            self._rows[key] = self._named(kind.name, caller, args, out) if kind.is_special else None
        row = self._rows.get(key)
        kept: tuple[Hashable, ...] = (key,)
        if key not in self._rows:
            self.dropped += 1
            kept = (f"op {kind.name}",)
        elif row is not None:
            named, what = row
            kept = Row(named, what, *site_of(caller, self._origins)), f"op {kind.name}"
        for name in kept:
            counts[name] = counts.get(name, 0) + 1
        self._tally.go_on(seen)

    def _named(self, operation: str, caller: types.FrameType, args: Any, out: Any) -> tuple[str, str] | None:
        """The kind of row and what to call it, for what no call tells of; nothing where the call has been counted."""
        if operation in COPIES:
            source = args[1] if operation == "aten::copy_" else args[0]
            return None if getattr(source, "device", out.device) == out.device else ("transfer", f"{source.device.type} to {out.device.type}")
        if operation in WAITS:
            return None if args[0].device.type in ("cpu", "meta") else ("sync", operation.rpartition(":")[2])
        name = called_at(caller.f_code, caller.f_lasti)
        place = self._tally.place(caller.f_code, caller.f_lasti, name)
        if place is not None and place.kind in ("sync", "tensor", "array"):
            return None
        return ("sync", name or "item") if operation == FETCH else ("tensor", name or "tensor")


def kind_of(func: Any) -> Kind:
    """What there is to know of an operation, found out once."""
    name = func._schema.name
    return Kind(name, func._op, name.startswith("aten::"), func.is_view, formula(name), name in (FETCH, MAKE, *COPIES) or name in WAITS)


def hide_from_compilers() -> None:
    """torch.compile takes any Python that runs within what it compiled for something to compile; not ours."""
    rules = sys.modules.get("torch._dynamo.trace_rules")
    if rules is not None and rules not in HIDDEN:
        HIDDEN.append(rules)
        rules.add(__package__)


HIDDEN: list[Any] = []  # told once
