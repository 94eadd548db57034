"""Trains DQN with the phases timed or not: python overhead.py on|off PRESET SECONDS"""

import sys

from measure import serve

from hotloop.algos.dqn import train
from hotloop.cli.presets import PRESETS
from hotloop.cli.settings import setup_from
from hotloop.engine.vecenv import make_envs
from hotloop.records.phases import Stopwatch

timing, preset, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
setup = setup_from({**PRESETS[preset].as_layer(), "max_steps": None, "max_time": seconds})
envs = make_envs(setup.make_env(), setup.config.num_envs, final_observations=False)
if timing == "off":
    Stopwatch.lap = lambda watch, phase: None


def block():
    session = train(envs, setup.config)
    return {"steps": session.steps, "seconds": session.seconds}


serve(block)
