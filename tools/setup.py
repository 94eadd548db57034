"""Makes .venv ready to work in: hotloop itself, its development tools, and the build of torch this machine can use.

    python3 tools/setup.py

Nothing is installed outside .venv. Where a folder wheels/ exists, packages are taken from it as well. Running it again, when nothing
has changed, takes a moment. Standard library only, and simple enough that an old Python gets as far as being told it is too old.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
WHEELS = ROOT / "wheels"
STAMP = VENV / "setup.stamp"  # what the last setup that succeeded was made from
LOG = VENV / "setup.log"
OLDEST_PYTHON = (3, 11)
NOT_OFFERED = re.compile("No matching distribution|Cannot install")  # pip's words for a version it finds nowhere, without and with constraints
NO_CONNECTION = re.compile("NewConnectionError|NameResolutionError|ConnectTimeoutError|ProxyError")


def main() -> None:
    started = time.monotonic()
    if sys.version_info < OLDEST_PYTHON:
        fail(f"needs Python 3.11 or newer, this is {version_text(sys.version_info)}; try: make setup PYTHON=python3.11")
    device = detect_device()
    stamp = fingerprint(device)
    if VENV_PYTHON.exists() and STAMP.exists() and STAMP.read_text() == stamp:
        say(f".venv is up to date ({device})")
        return

    make_venv()
    STAMP.unlink(missing_ok=True)
    LOG.unlink(missing_ok=True)
    if device == "cuda":
        say("an NVIDIA driver is here: torch's ordinary build, with CUDA")
        pip_install("hotloop", ["--editable", ".[dev,cuda]"], device)
    else:
        say("no NVIDIA driver is here: torch for the CPU")
        install_cpu_torch()
        pip_install("hotloop and what it needs", ["--editable", ".[dev]"], device)
    say(f"torch {installed_torch(device)}")
    STAMP.write_text(stamp)
    say(f"ready after {time.monotonic() - started:.0f} s")


# What this machine is ------------------------------------------------------------------------------------------------


def detect_device() -> str:
    """'cuda' where an NVIDIA driver answers, otherwise 'cpu'."""
    if Path("/proc/driver/nvidia").exists():
        return "cuda"
    nvidia_smi = shutil.which("nvidia-smi")
    if nvidia_smi is None:
        return "cpu"
    try:
        answered = subprocess.run([nvidia_smi, "-L"], capture_output=True, stdin=subprocess.DEVNULL, timeout=30).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return "cpu"
    return "cuda" if answered else "cpu"


def fingerprint(device: str) -> str:
    """A digest of everything a finished setup depends on; the place counts because an editable install points to it."""
    digest = hashlib.sha256(f"{device} {ROOT}".encode())
    for path in [ROOT / "pyproject.toml", *sorted((ROOT / "constraints").glob("*.txt")), Path(__file__)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


# The steps -----------------------------------------------------------------------------------------------------------


def make_venv() -> None:
    if VENV_PYTHON.exists() and run([VENV_PYTHON, "-c", f"import sys, pip; sys.exit(sys.version_info < {OLDEST_PYTHON})"]).returncode == 0:
        return
    say(f"making .venv with Python {version_text(sys.version_info)}")
    made = run([sys.executable, "-m", "venv", "--clear", VENV])
    if made.returncode != 0 and "ensurepip" in made.stdout:
        fail("this Python cannot make virtual environments; try installing its venv package (python3-venv on Debian and Ubuntu)")
    if made.returncode != 0:
        fail(f"could not make .venv: {last_line(made.stdout)}")


def install_cpu_torch() -> None:
    """Linux packages of torch carry CUDA unless their version ends in +cpu; everywhere else the ordinary build is the CPU's."""
    if not sys.platform.startswith("linux"):
        return
    pinned = re.search(r"^torch==(\S+)$", (ROOT / "constraints/cpu.txt").read_text(), re.MULTILINE)
    assert pinned, "constraints/cpu.txt must pin torch"
    version = f"{pinned[1]}+cpu"
    error = try_pip_install(f"torch {version}", [f"torch=={version}"], "cpu")
    if error is None:
        return
    if not NOT_OFFERED.search(error):
        fail_with_log(error)
    say(f"notice: torch {version} is not on offer here, taking {pinned[1]}: it works the same, but brings CUDA libraries (several GB) that stay unused")
    say("notice: to avoid that, add torch's CPU package index with PIP_EXTRA_INDEX_URL, or put its wheel into wheels/, and start again")


def pip_install(what: str, arguments: list[str], device: str) -> None:
    error = try_pip_install(what, arguments, device)
    if error:
        fail_with_log(error)


def try_pip_install(what: str, arguments: list[str], device: str) -> str | None:
    """Installs into .venv, telling what takes long; returns what went wrong, in one line, if anything did."""
    say(f"installing {what}")
    command = [str(VENV_PYTHON), "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--constraint", f"constraints/{device}.txt"]
    if WHEELS.is_dir():
        command += ["--find-links", str(WHEELS)]
    elsewhere = {"PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT"}  # settings that would install outside .venv
    environment = {name: value for name, value in os.environ.items() if name not in elsewhere} | {"PIP_USER": "0", "PYTHONUNBUFFERED": "1"}
    with LOG.open("a", encoding="utf-8") as log, subprocess.Popen(
        [*command, *arguments], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, encoding="utf-8", errors="replace",
    ) as pip:
        assert pip.stdout is not None
        lines = [show_progress(line, log) for line in pip.stdout]
    return None if pip.returncode == 0 else explain(lines)


def show_progress(line: str, log) -> str:
    """Notes what pip says, passes on what a person waiting would like to know, and returns it stripped."""
    log.write(line)
    line = line.strip()
    large = re.match(r"(?:Downloading|Using cached) ([^/\s]+?)-\d\S* \((\d{2,}[.\d]* MB|[.\d]+ GB)\)", line)
    if large:
        say(f"  {large[1]} ({large[2]})")
    if line.startswith("Installing collected packages:") and "," in line:
        say(f"  unpacking {line.count(',') + 1} packages")
    return line


def explain(lines: list[str]) -> str:
    """The one line of pip's output that says why it failed."""
    output = "\n".join(lines)
    errors = [line for line in lines if re.match(r"ERROR: (?!Ignored the following|ResolutionImpossible)", line)]
    if NO_CONNECTION.search(output) and NOT_OFFERED.search(output):
        return "no network: the package index does not answer; try again with a connection, or with the packages in wheels/"
    return f"pip failed: {errors[-1].removeprefix('ERROR: ') if errors else last_line(output)}"


def installed_torch(device: str) -> str:
    """Imports torch, because an install that cannot be imported is none, and says which it is."""
    answer = run([VENV_PYTHON, "-W", "ignore", "-c", "import torch; print(torch.__version__, torch.version.cuda or 'none')"])
    if answer.returncode != 0:
        fail(f"torch was installed but cannot be imported: {last_line(answer.stdout)}")
    version, cuda = last_line(answer.stdout).split()
    if device == "cuda" and cuda == "none":
        return f"{version}: this build has no CUDA; see torch's installation page for the one that has"
    return version if cuda == "none" else f"{version} (CUDA {cuda})"


# Small things --------------------------------------------------------------------------------------------------------


def run(command: list) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[-1]


def version_text(version: Iterable) -> str:
    return ".".join(str(part) for part in tuple(version)[:3])


def say(text: str) -> None:
    print(f"setup: {text}", flush=True)


def fail(text: str) -> NoReturn:
    sys.exit(f"setup: {text}")


def fail_with_log(text: str) -> NoReturn:
    fail(f"{text} (everything pip said: {LOG.relative_to(ROOT)})")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        fail("interrupted; run it again to go on")
    except OSError as error:
        fail(str(error))
