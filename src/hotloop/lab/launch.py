"""Launch: a script in a process of its own, exactly as it would have run, and what was measured of it afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hotloop.lab.metronome import strike
from hotloop.lab.record import record_of
from hotloop.lab.roofs import known as roofs
from hotloop.records.files import RunError, plain, write_atomically, write_json
from hotloop.records.machine import machine

HEARING_SECONDS = 2.0  # after the budget: a script that waits in a library has not heard the beat that told it, and is interrupted from here
PASSED_ON = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # who ends us means the script
# What lies in the current folder must not be taken for a module of ours, or of Python's
BEGIN = "import sys; here = sys.path.pop(0); from hotloop.lab.inside import become; sys.path.insert(0, here); sys.exit(become.main())"
LATE_SECONDS = 10.0  # after the budget: a script that does not stop is ended


def profile(
    script: str, arguments: Sequence[str], folder: Path, *, module: bool = False, budget: float | None = None, target: str | None = None
) -> dict[str, Any]:
    """Run it, then give the record of it; what was measured is in `folder`. The script's own exit status is in the record."""
    if not module:
        check_script(script)
    plan, output = folder / "plan.json", folder / "measured.json"
    kind = "module" if module else "script"
    write_json(plan, {"kind": kind, "target": script, "arguments": list(arguments), "budget": budget, "output": str(output.resolve())})
    output.unlink(missing_ok=True)
    status, ended = run([sys.executable, "-c", BEGIN, str(plan.resolve())], output, budget)
    command = [*(["-m"] if module else []), script, *arguments]
    if not output.exists():
        raise RunError(f"expected measurements of {script}, found that it ended (exit status {status}) before any were written; try running it by itself")
    measured = read_measured(output) | ({"ended_by": "budget"} if ended else {})
    facts = machine()
    return plain(record_of(measured, command=command, machine=facts, exit_status=status, roofs=roofs.load(facts), target=target))


def keep(record: Mapping[str, Any], folder: Path) -> None:
    """In one line: stacks are many."""
    write_atomically(folder / "report.json", json.dumps(record, allow_nan=False).encode())


def run(command: list[str], output: Path, budget: float | None) -> tuple[int, bool]:
    """The exit status, and whether we had to end it. Ctrl-C reaches the script itself; we only wait for what it does about it."""
    former = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, *PASSED_ON)}
    try:
        process = subprocess.Popen(command, preexec_fn=None if sys.platform == "win32" else _hear_interrupts)
        for number in PASSED_ON:
            signal.signal(number, lambda number, frame: process.send_signal(number))
        patience = Patience(process, output, budget)
        strike(process, until=patience.is_over)
        if process.poll() is not None:
            return status_of(process.returncode), False
        process.kill()
        process.wait()
        return 0, True
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def status_of(returncode: int) -> int:
    """As a shell would tell it: a signal's number counts from 128."""
    return returncode if returncode >= 0 else 128 - returncode


class Patience:
    """The budget, as seen from our process. The script stops itself at the beat; this is for those that hear none, in a library's long call."""

    def __init__(self, process: subprocess.Popen, output: Path, budget: float | None) -> None:
        self.process, self.output, self.budget = process, output, budget
        self.began: float | None = None  # when the script began: what came before is our own start
        self.interrupted = False

    def is_over(self) -> bool:
        if self.began is None:
            self.began = time.monotonic() if self.output.exists() else None
        if self.budget is None or self.began is None:
            return False
        late = time.monotonic() - self.began - self.budget
        if late > HEARING_SECONDS and not self.interrupted:
            self.interrupted = True
            if not read_measured(self.output)["ended_by"]:
                self.process.send_signal(signal.SIGINT)
        return late > LATE_SECONDS


def read_measured(path: Path) -> dict[str, Any]:
    measured: dict[str, Any] = json.loads(path.read_text())
    return measured


def _hear_interrupts() -> None:
    """In the child: Ctrl-C means again what it means to any script, and so does being told to end."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in PASSED_ON:
        signal.signal(number, signal.SIG_DFL)


def check_script(path: str) -> None:
    """Whether there is a script at all, before anything is started."""
    if not Path(path).is_file():
        found = "a folder" if Path(path).is_dir() else "nothing there"
        raise RunError(f"expected a Python script at {path}, found {found}; try: hotloop profile train.py, or hotloop profile -m package.train")
    try:
        compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise RunError(f"expected Python in {path}, found a line it cannot read ({error.args[0]}, line {line}); try: python -m py_compile {path}") from None
