"""The machine: the facts that decide whether two speeds may be compared. Nothing heavy is imported to find them."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

PACKAGES = ("hotloop", "numpy", "numba", "numba-cuda", "torch", "gymnasium")
SPEED_VARIABLES = ("OMP_", "MKL_", "OPENBLAS_", "DNNL_", "ONEDNN_", "NUMBA_", "CUDA_", "TORCH_", "MALLOC_")  # they steer threads, kernels, memory
MEGABYTE = 1024 * 1024


def machine() -> dict[str, Any]:
    """Facts about this machine, ready for JSON; what cannot be found out is None."""
    return {
        "cpu": _cpu_model(),
        "cores": psutil.cpu_count(logical=False),
        "threads": os.cpu_count(),
        "threads_allowed": _threads_allowed(),
        "memory_mb": round(psutil.virtual_memory().total / MEGABYTE),
        "gpus": _gpus(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {package: _version(package) for package in PACKAGES},
        "environment": {name: value for name, value in sorted(os.environ.items()) if name.startswith(SPEED_VARIABLES)},
    }


def memory_mb() -> float:
    """Memory this process holds now (resident), in megabytes of 1024 * 1024 bytes."""
    return float(psutil.Process().memory_info().rss) / MEGABYTE


def peak_memory_mb() -> float:
    """The most memory this process has ever held."""
    if sys.platform == "win32":
        return float(psutil.Process().memory_info().peak_wset) / MEGABYTE
    import resource  # Unix only

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kilobytes
    return peak * unit / MEGABYTE


def _cpu_model() -> str | None:
    """The name on the box. `platform.processor` is empty or vague on Linux and macOS, so their own sources come first."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    if sys.platform == "darwin":
        return _output_of("sysctl", "-n", "machdep.cpu.brand_string")
    return platform.processor() or platform.machine() or None


def _threads_allowed() -> int | None:
    """How many hardware threads this process may use; a container or `taskset` often allows fewer than there are."""
    if sys.platform in ("win32", "darwin"):
        return os.cpu_count()
    return len(os.sched_getaffinity(0))


def _gpus() -> list[dict[str, str]]:
    """Name, memory and driver of every NVIDIA GPU, asked of the driver's own tool."""
    found = _output_of("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")
    rows = [line.split(",") for line in (found or "").splitlines()]
    return [{"name": row[0].strip(), "memory": row[1].strip(), "driver": row[2].strip()} for row in rows if len(row) == 3]


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _output_of(*command: str) -> str | None:
    """What a small program prints, or None where it is missing, fails or takes longer than anyone wants to wait."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
