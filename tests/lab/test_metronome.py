"""The beat comes from outside, so a script that keeps the interpreter to itself is seen as well as any other."""

import json
import signal
import subprocess
import sys

import pytest

from hotloop.lab.metronome import BEAT, strike

pytestmark = pytest.mark.skipif(BEAT is None, reason="this system has no such signal")

COUNTS = """
import json, sys, time
from hotloop.lab import metronome
heard = []
metronome.listen(lambda frame: heard.append(frame.f_code.co_name))
def waits():
    time.sleep(float(sys.argv[1]))
def works():
    until = time.perf_counter() + float(sys.argv[1])
    while time.perf_counter() < until:
        pass
began = time.perf_counter()
waits()
waited = time.perf_counter() - began
works()
print(json.dumps([waited, sorted(set(heard)), len(heard)]))
"""


def test_a_script_hears_the_beat_while_it_works_and_while_it_waits():
    process = subprocess.Popen([sys.executable, "-c", COUNTS, "0.3"], stdout=subprocess.PIPE, text=True)
    strike(process, until=lambda: False)
    waited, where, beats = json.loads(process.stdout.read())
    assert waited >= 0.3  # a wait that is interrupted goes on
    assert where == ["waits", "works"] and beats > 5
    process.stdout.close()


def test_it_stops_when_it_is_told_to():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    asked = iter([False, False, True])
    try:
        strike(process, until=lambda: next(asked))
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_who_does_not_listen_is_not_hurt_by_it():
    program = "import time; time.sleep(0.2)"
    process = subprocess.Popen([sys.executable, "-c", program])
    strike(process, until=lambda: False)
    assert process.returncode == 0 and signal.SIGURG == BEAT
