"""Become the script, as a plan says. Runs it as Python would have, measures it, and reports whatever ends it.

The plan is a JSON file: script or module, arguments, budget in seconds, where to write.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import sys
import threading
import time
import types
from _thread import interrupt_main
from collections.abc import Callable
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from hotloop.lab import HERE
from hotloop.lab.inside import marks
from hotloop.lab.inside.claims import Claims
from hotloop.lab.inside.events import KINDS, STEP, STORE, Recorder
from hotloop.lab.inside.hooks import WhenImported
from hotloop.lab.inside.interfaces import KNOWN
from hotloop.lab.inside.probes import Probes
from hotloop.lab.inside.sampler import Sampler
from hotloop.lab.inside.trampoline import Detour
from hotloop.lab.metronome import listen

WRITE_SECONDS = 2.0  # between two times of writing everything down, or longer:
WRITE_SHARE = 0.005  # what writing may take of the time
PATIENCE_SECONDS = 5.0  # for a step to come by


class Witness:
    """Writes down what the probes measured: at the start, every two seconds, at the end, and when the process is made to go."""

    def __init__(self, probes: Probes, plan: dict[str, Any]) -> None:
        self.probes, self.plan = probes, plan
        self.path, self.owner = Path(plan["output"]), os.getpid()
        self.began, self.ended_by, self.mistakes = time.perf_counter(), "", list[str]()
        self.sampler = Sampler(run.__code__)
        self.claims = Claims(self._how_far, self.began)
        self.probe_ns = price_of_a_probe()
        self._next_write, self._writing = self.began + WRITE_SECONDS, False
        self._exit = os._exit

    def start(self) -> None:
        os.register_at_fork(after_in_child=self.probes.leave_alone)
        os._exit = self.exit_at_once  # type: ignore[assignment]
        self._try_to_write()  # our process waits for this before it counts the budget
        gc.callbacks.append(self.probes.blocks.garbage)
        self.claims.attach(sys.stdout, sys.stderr)
        listen(self.hear)

    def begin(self) -> None:
        """The script's own time begins; what came before was our start."""
        self.probes.recorder.start()
        began = self.probes.recorder._last
        self.probes.blocks.began, self.began, self.claims.began = began, began / 1e9, began / 1e9
        self._next_write = self.began + WRITE_SECONDS

    def _how_far(self) -> tuple[int, int, int]:
        probes = self.probes
        return probes.steps_so_far, probes.clocks.updates, probes.episodes

    def mistaken(self, where: str, error: Exception) -> None:
        self.mistakes.append(f"{where}: {type(error).__name__}: {error}")

    def exit_at_once(self, status: int) -> None:
        if os.getpid() == self.owner:
            self._try_to_write("os._exit", status)
        self._exit(status)

    def hear(self, frame: types.FrameType | None) -> None:
        """A beat, in the main thread, between two of its bytecodes."""
        if self._writing or os.getpid() != self.owner:
            return
        try:
            self._look_at(frame)
        except Exception as error:
            self.mistaken("sampling", error)
            self.hear = lambda frame: None  # type: ignore[method-assign]
        now = time.perf_counter()
        if now >= self._next_write:
            if self.probes.vector_steps and now < self._next_write + PATIENCE_SECONDS:
                self.probes.send(self._write_in_time)  # between two steps, where our time is nobody's
            else:
                self._write_in_time()
        budget = self.plan.get("budget")
        if budget is not None and now - self.began >= budget and not self.ended_by:
            self.ended_by = "budget"
            self._try_to_write("budget")
            interrupt_main()  # as Ctrl-C would

    def _write_in_time(self) -> None:
        if self.probes.passes.is_open:  # our writing would be counted as the script's
            return
        began = time.perf_counter()
        self._try_to_write()
        ended = time.perf_counter()
        self._next_write = ended + max(WRITE_SECONDS, (ended - began) / WRITE_SHARE)

    def _look_at(self, frame: types.FrameType | None) -> None:
        state, loop = self.probes.state(), self.probes.recorder.thread
        if loop != threading.get_ident():  # the loop is in another thread than the one that hears
            frame = sys._current_frames().get(loop)
        if frame is not None and state is not None:
            self.sampler.see(frame, state)

    def write(self, ended_by: str = "", status: int | None = None) -> None:
        self._writing = True  # a beat in between would change what is being written
        try:
            if ended_by:
                self.probes.end()
            part = self.path.with_suffix(".part")
            part.write_text(json.dumps(self._measured(ended_by, status)))
            os.replace(part, self.path)
        finally:
            self._writing = False

    def _measured(self, ended_by: str, status: int | None) -> dict[str, Any]:
        probes, recorder = self.probes, self.probes.recorder
        return {
            "version": 1,
            "seconds": time.perf_counter() - self.began,
            "ended_by": ended_by,
            "status": status,
            **recorder.sums(),
            "startup": probes.startup,
            "looked": recorder.looked,
            "ending": recorder.since_the_last() if ended_by else 0,
            "probe_ns": self.probe_ns,
            "tier": 3 if STEP in probes.by_behaviour.values() else 2 if probes.updates else 1,
            "env_steps": probes.env_steps or probes.marked_steps,
            "vector_steps": probes.vector_steps or probes.marked_steps,
            "episodes": probes.episodes,
            "updates": dict(probes.updates),
            "first_update_at": probes.first_update_at,
            "batches": {str(rows): count for rows, count in recorder.batches.items()},
            "where": [[KINDS[kind], code.co_filename, code.co_firstlineno, code.co_qualname] for kind, code in probes.places()],
            "blocks": probes.blocks.table(),
            "holds": probes.holds,
            "moments": [moment | {"counted": moment["counted"]._asdict()} for moment in probes.passes.moments],
            "claims": self.claims.as_data(),
            "samples": self.sampler.seen(),
            "sampling_ns": self.sampler.nanoseconds,
            "events": [self._seconds(log) for log in recorder.logs],
            "mistakes": self.mistakes + probes.mistakes,
        }

    def _try_to_write(self, ended_by: str = "", status: int | None = None) -> None:
        """Whatever goes wrong: the budget is still kept, and a script that leaves still leaves."""
        try:
            self.write(ended_by, status)
        except Exception as error:  # a full disk; or a probe that came or went while its name was read
            self.mistaken("writing", error)

    def _seconds(self, log: list[list[int]]) -> list[list[Any]]:
        """Events of a moment: kind, seconds since the script began, seconds it took, depth."""
        return [[KINDS[kind], began / 1e9 - self.began, (ended - began) / 1e9, depth] for kind, began, ended, depth in log]


def price_of_a_probe(calls: int = 2000) -> float:
    """Nanoseconds that one event costs, measured here and now on a function that does nothing."""

    def nothing() -> None:
        pass

    def best() -> float:
        times = []
        for _ in range(5):
            began = time.perf_counter_ns()
            for _ in range(calls):
                nothing()
            times.append(time.perf_counter_ns() - began)
        return min(times) / calls

    bare = best()
    recorder = Recorder()
    detour = Detour(nothing, recorder.probe(STORE), recorder.shortcut(STORE))  # type: ignore[arg-type]
    probed = best()
    detour.remove()
    return probed - bare


def main() -> int:
    plan = json.loads(Path(sys.argv[1]).read_text())
    recorder = Recorder()
    probes = Probes(recorder)
    witness = Witness(probes, plan)
    WhenImported({name: partial(install, probes) for name, install in KNOWN.items()}, witness.mistaken)
    witness.start()
    marks.recorder = recorder
    witness.begin()
    status, ended_by = 1, "error"
    try:
        run(plan, probes.discover)
        status, ended_by = 0, "end"
    except SystemExit as leaving:
        status, ended_by = _status_of(leaving), "exit"
    except BaseException as error:
        stopped = witness.ended_by == "budget" and isinstance(error, KeyboardInterrupt)
        status, ended_by = (0, "budget") if stopped else (130 if isinstance(error, KeyboardInterrupt) else 1, type(error).__name__)
        if not stopped:
            trace = _from_the_script(error.__traceback__)
            sys.excepthook(type(error), error.with_traceback(trace), trace)
    if witness.ended_by == "budget":
        status, ended_by = 0, "budget"
    try:
        witness.write(ended_by, status)
    except OSError as error:
        print(f"hotloop: expected to write {witness.path}, found: {error}", file=sys.stderr)
    return status


def run(plan: dict[str, Any], begin: Callable[[], None]) -> None:
    """As `python script.py …` or `python -m module …`; `begin` is called when all is ready."""
    sys.argv = [plan["target"], *plan["arguments"]]
    if plan["kind"] == "module":
        sys.path[0] = os.getcwd()
        begin()
        runpy.run_module(plan["target"], run_name="__main__", alter_sys=True)
        return
    path = os.path.abspath(plan["target"])  # as Python itself gives it
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    script = types.ModuleType("__main__")
    script.__dict__.update(__file__=path, __builtins__=__builtins__, __loader__=SourceFileLoader("__main__", path), __spec__=None, __cached__=None)
    sys.modules["__main__"] = script
    code = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
    begin()
    exec(code, script.__dict__)


def _status_of(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code
    print(leaving.code, file=sys.stderr)
    return 1


def _from_the_script(trace: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback without the frames that are ours, as the script alone would have had it."""
    while trace is not None and (trace.tb_frame.f_code.co_filename.startswith(HERE) or trace.tb_frame.f_code.co_filename.startswith("<frozen runpy")):
        trace = trace.tb_next
    return trace


if __name__ == "__main__":
    sys.exit(main())
