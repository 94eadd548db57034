"""What is written down: run folders, phases and the stopwatch, the machine. Imports neither torch nor numba."""

from hotloop.records.phases import ALL_PHASES, PHASES, Stopwatch
from hotloop.records.run import Run, RunError

__all__ = ["ALL_PHASES", "PHASES", "Run", "RunError", "Stopwatch"]
