"""What is known of the machine."""

import json
import subprocess
import sys

from hotloop.records.machine import machine, memory_mb, peak_memory_mb


def test_the_facts_survive_json_and_name_the_machine():
    facts = machine()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["threads"] >= facts["threads_allowed"] >= 1
    assert facts["memory_mb"] > 100
    assert facts["cpu"]


def test_versions_are_those_that_would_be_imported():
    import numpy

    assert machine()["packages"]["numpy"] == numpy.__version__


def test_finding_the_facts_imports_nothing_heavy():
    program = "import sys; from hotloop.records.machine import machine; machine(); print('torch' in sys.modules, 'numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False False\n"


def test_memory_rises_by_what_is_held_and_the_peak_remembers_it():
    before = memory_mb()
    held = bytearray(b"x") * (64 * 1024 * 1024)
    during = memory_mb()
    del held
    assert 60 < during - before < 80
    assert peak_memory_mb() >= during - 1


def test_a_machine_without_nvidia_tools_has_no_gpus(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine()["gpus"] == []


def test_what_steers_threads_and_kernels_is_written_down(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setenv("SECRET_TOKEN", "x")
    environment = machine()["environment"]
    assert environment["OPENBLAS_CORETYPE"] == "Haswell" and "SECRET_TOKEN" not in environment
