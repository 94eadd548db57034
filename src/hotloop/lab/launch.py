"""Launch: a script in a process of its own, exactly as it would have run, and what was measured of it afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hotloop.lab.account import account
from hotloop.records.files import RunError, write_json
from hotloop.records.machine import machine

LATE_SECONDS = 15.0  # after the budget, before a script that does not stop is ended


def profile(target: str, arguments: Sequence[str], folder: Path, *, module: bool = False, budget: float | None = None) -> dict[str, Any]:
    """Run it, then give the record of it; the record is also in `folder`, as report.json. The script's own exit status is in it."""
    if not module:
        check_script(target)
    plan, output = folder / "plan.json", folder / "measured.json"
    kind = "module" if module else "script"
    write_json(plan, {"kind": kind, "target": target, "arguments": list(arguments), "budget": budget, "output": str(output.resolve())})
    status = run([sys.executable, "-m", "hotloop.lab.become", str(plan.resolve())], budget)
    command = [*(["-m"] if module else []), target, *arguments]
    if not output.exists():
        raise RunError(f"expected measurements of {target}, found that it ended (exit status {status}) before any were written; try running it by itself")
    record = account(json.loads(output.read_text()), command=command, machine=machine(), exit_status=status)
    write_json(folder / "report.json", record)
    return record


def run(command: list[str], budget: float | None) -> int:
    """The exit status. Ctrl-C reaches the script itself; we only wait for what it does about it."""
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(command, preexec_fn=None if sys.platform == "win32" else _hear_interrupts)
        try:
            return process.wait(None if budget is None else budget + LATE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()
    finally:
        signal.signal(signal.SIGINT, former)


def _hear_interrupts() -> None:
    """In the child: Ctrl-C means again what it means to any script."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
