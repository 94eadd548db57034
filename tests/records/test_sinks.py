"""Sinks, held against stand-ins for their packages: the tests need neither TensorBoard nor an account."""

import sys
from types import SimpleNamespace

import pytest

from hotloop.records import Run
from hotloop.records.sinks import SINKS, TensorBoardSink, WandbSink

RECORD = {"steps": 10, "loss": 0.5, "score_mean": None, "phases": {"act": 1.0}}
NUMBERS = {"steps": 10, "loss": 0.5, "phases/act": 1.0}


@pytest.fixture
def run(tmp_path):
    return Run.create(tmp_path / "a-run", config={"seed": 1}, command=[], name="snake-dqn")


class StandIn(SimpleNamespace):
    """A package that writes down what it was told."""

    def __init__(self):
        super().__init__(told=[])

    def init(self, **settings):
        self.told.append(("init", settings["id"], settings["config"]))
        return self

    def log(self, numbers, step):
        self.told.append(("log", step, numbers))

    def finish(self):
        self.told.append(("finish",))


def test_wandb_gets_the_config_and_every_number_at_its_step(run, monkeypatch):
    wandb = StandIn()
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    sink = WandbSink(run)
    sink.write(RECORD)
    sink.close()
    assert wandb.told == [("init", "a-run", {"seed": 1}), ("log", 10, NUMBERS), ("finish",)]


def test_tensorboard_files_hold_every_number_at_its_step(run):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    sink = TensorBoardSink(run)
    sink.write(RECORD)
    sink.close()
    events = accumulator.EventAccumulator(str(run.folder / "tensorboard"))
    events.Reload()
    found = {tag: [(scalar.step, scalar.value) for scalar in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
    assert found == {name: [(10, value)] for name, value in NUMBERS.items()}


@pytest.mark.parametrize("name", sorted(SINKS))
def test_a_missing_package_names_the_extra_to_install(run, monkeypatch, name):
    for module in ("tensorboard", "tensorboard.summary.writer.event_file_writer", "wandb"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ValueError, match=rf"expected the package {name}, found it is not installed; try: pip install 'hotloop\[{name}\]'"):
        SINKS[name](run)
