"""Sinks: the records of a run, sent to TensorBoard or Weights & Biases as well. Each package is imported only when asked for."""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Protocol

from hotloop.records.files import plain
from hotloop.records.run import Run
from hotloop.records.table import flatten


class Sink(Protocol):
    """Whatever takes the records a run logs."""

    def write(self, record: Mapping[str, Any]) -> None: ...
    def close(self) -> None: ...


class TensorBoardSink:
    """Event files in the run's folder `tensorboard/`: `tensorboard --logdir runs` shows all runs side by side."""

    def __init__(self, run: Run) -> None:
        self._folder = run.folder / "tensorboard"
        self._writers = _import("tensorboard.summary.writer.event_file_writer", extra="tensorboard")
        self._events = _import("tensorboard.compat.proto.event_pb2", extra="tensorboard")
        self._writer: Any = None  # until there is something to write

    def write(self, record: Mapping[str, Any]) -> None:
        """Every number of the record as a scalar at its step."""
        self._writer = self._writer or self._writers.EventFileWriter(str(self._folder))
        event = self._events.Event(step=record["steps"], wall_time=time.time())
        for name, value in _numbers(record).items():
            event.summary.value.add(tag=name, simple_value=value)
        self._writer.add_event(event)
        self._writer.flush()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class WandbSink:
    """A run of Weights & Biases, with the run's config; a resumed run goes on in the same place."""

    def __init__(self, run: Run, project: str = "hotloop") -> None:
        wandb = _import("wandb", extra="wandb")
        identity = run.folder.resolve().name
        self._session = wandb.init(project=project, name=identity, id=identity, resume="allow", dir=str(run.folder), config=run.config)

    def write(self, record: Mapping[str, Any]) -> None:
        """Every number of the record, at its step."""
        self._session.log(_numbers(record), step=record["steps"])

    def close(self) -> None:
        self._session.finish()


SINKS: dict[str, type[TensorBoardSink] | type[WandbSink]] = {"tensorboard": TensorBoardSink, "wandb": WandbSink}


def _numbers(record: Mapping[str, Any]) -> dict[str, float]:
    """What can be drawn: `phases/act` and so on; nulls and texts are left out."""
    flat = flatten(plain(record), separator="/")
    return {name: float(value) for name, value in flat.items() if isinstance(value, int | float)}


def _import(module: str, extra: str) -> ModuleType:
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"expected the package {package}, found it is not installed; try: pip install 'hotloop[{extra}]'") from error
