"""Shortcuts: the few lines that a probe costs where nothing is unusual. `Recorder.probe` says the same at length, and takes all other cases.

These run several times a step, cold every time: what counts is how little they touch.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from hotloop.lab.inside.trampoline import Shortcut

if TYPE_CHECKING:
    from hotloop.lab.inside.events import Recorder

BETWEEN_EVENTS = "'@recorder'._kind != -1 or '@recorder'._waiting or '@recorder'._attentive or '@ident'() != '@recorder'.thread"

ENTER = """
hotloop_now_ = '@clock'()
'@recorder'.gaps['@recorder'._before * {kinds} + {kind}] += hotloop_now_ - '@recorder'._last
'@recorder'.calls[{kind}] += 1
'@recorder'._kind = {kind}
'@recorder'._last = hotloop_now_
"""

LEAVE = """
    hotloop_now_ = '@clock'()
    '@recorder'.inside[{kind}] += hotloop_now_ - '@recorder'._last
    '@recorder'._kind = -1
    '@recorder'._last = hotloop_now_
    '@recorder'._before = {kind}
"""

PROBE = f"""
if {BETWEEN_EVENTS}:
    return '@otherwise'
{ENTER}
try:
    return '@call'
finally:
{LEAVE}
"""

STEP_PROBE = f"""
if '@recorder'._stepping or {BETWEEN_EVENTS}:
    return '@otherwise'
'@recorder'._stepping = True
{ENTER}
try:
    hotloop_result_ = '@call'
finally:
{LEAVE}
    '@recorder'._stepping = False
if '@recorder'.on_step is not None:
    '@recorder'.on_step(hotloop_result_, '@first')
    hotloop_now_ = '@clock'()
    '@recorder'.looked += hotloop_now_ - '@recorder'._last
    '@recorder'._last = hotloop_now_
return hotloop_result_
"""


def probe_shortcut(recorder: Recorder, kind: int, kinds: int, *, step: bool = False) -> Shortcut:
    lines = (STEP_PROBE if step else PROBE).format(kind=kind, kinds=kinds)
    return Shortcut(lines, {"recorder": recorder, "clock": recorder.clock, "ident": threading.get_ident})
