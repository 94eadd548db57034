"""Export: a profile for other people's tools: speedscope, Perfetto and chrome://tracing, pstats and snakeviz, flamegraph.pl and inferno."""

from __future__ import annotations

import json
import marshal
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hotloop import __version__
from hotloop.records.files import RunError
from hotloop.report.blocks import PHASE_COLUMNS, Blocks, blocks_of
from hotloop.report.stacks import Frame, Stack, Sums, by_function, stacks_of

SPEEDSCOPE_FORMAT = "https://www.speedscope.app/file-format-schema.json"  # the name by which the format is known
PROCESS, THREAD = 1, 1
Record = Mapping[str, Any]


def speedscope(record: Record) -> bytes:
    """One profile of everything, and one of each phase. Samples carry no order of their own: neighbours are what was seen on the same stack."""
    stacks = sampled(record)
    places_of = {frame: number for number, frame in enumerate(dict.fromkeys(frame for stack in stacks for frame in stack.frames))}
    frames = [{"name": frame.function, "file": frame.file, "line": frame.line} for frame in places_of]
    samples = [[places_of[frame] for frame in stack.frames] for stack in stacks]
    phases = dict.fromkeys(stack.phase for stack in stacks)
    chosen = {"all phases": range(len(stacks)), **{phase: [i for i, stack in enumerate(stacks) if stack.phase == phase] for phase in phases}}
    profiles = [sampled_profile(name, [samples[i] for i in places], [stacks[i].seconds for i in places]) for name, places in chosen.items()]
    page = {"$schema": SPEEDSCOPE_FORMAT, "shared": {"frames": frames}, "profiles": profiles, "activeProfileIndex": 0}
    return as_json(page | {"name": title(record), "exporter": f"hotloop@{__version__}"})


def sampled_profile(name: str, samples: list[list[int]], weights: list[float]) -> dict[str, Any]:
    return {"type": "sampled", "name": name, "unit": "seconds", "startValue": 0, "endValue": sum(weights), "samples": samples, "weights": weights}


def perfetto(record: Record) -> bytes:
    """The windows of events, strictly nested, and over the whole run each phase's share of the time, the speed and the memory as counters."""
    windows, blocks = (record.get("timeline") or {}).get("windows", []), blocks_of(record)
    if not windows and blocks is None:
        raise nothing_to_export("a timeline")
    events = [named("process_name", title(record)), named("thread_name", "phases")]
    for window in windows:
        events += nested(window["events"])
    events += counters(blocks) if blocks is not None else []
    return as_json({"traceEvents": events, "displayTimeUnit": "ms"})


def named(what: str, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": PROCESS, "tid": THREAD, "args": {"name": name}}


def nested(events: list[list[Any]]) -> Iterator[dict[str, Any]]:
    """Complete events in whole nanoseconds; none ends after the one it is within, as rounding could make it seem."""
    ends: list[int] = []
    for phase, start, seconds, depth in events:
        del ends[depth:]
        begins = round(start * 1e9)
        end = min([begins + round(seconds * 1e9), *ends[-1:]])
        ends.append(end)
        yield {"ph": "X", "name": phase, "cat": "phase", "ts": begins / 1e3, "dur": max(end - begins, 0) / 1e3, "pid": PROCESS, "tid": THREAD}


def counters(blocks: Blocks) -> Iterator[dict[str, Any]]:
    shares = {name.removesuffix("_seconds"): blocks.rates(name) for name in PHASE_COLUMNS if blocks.has(name)}
    for place, start in enumerate(blocks.column("seconds")[:-1]):
        values: dict[str, dict[str, float]] = {"share of the time": {name: column[place] for name, column in shares.items() if any(column)}}
        values |= {words: {"a second": blocks.rates(name)[place]} for name, words in (("env_steps", "env steps"), ("updates", "updates")) if blocks.has(name)}
        values |= {"memory": {"MB": blocks.column("rss_mb")[place]}} if blocks.has("rss_mb") else {}
        for name, amounts in values.items():
            yield {"ph": "C", "name": name, "ts": round(start * 1e6, 3), "pid": PROCESS, "args": amounts}


def pstats(record: Record) -> bytes:
    """As cProfile would have written it, from samples: own and cumulative seconds are measured; a "call" is a sample that saw the function."""
    functions, callers = by_function(sampled(record))
    rows = {frame: {tuple_of(caller): numbers(of) for caller, of in callers.get(frame, {}).items()} for frame in functions}
    return marshal.dumps({tuple_of(frame): (*numbers(of), rows[frame]) for frame, of in functions.items()})


def numbers(of: Sums) -> tuple[int, int, float, float]:
    """Calls that are not recursive, all calls, own seconds, cumulative seconds."""
    return of.ticks, of.ticks, of.own, of.whole


def tuple_of(frame: Frame) -> tuple[str, int, str]:
    return frame.file, frame.line, frame.function


def collapsed(record: Record) -> bytes:
    """`phase;outermost;…;innermost ticks`, a line for each stack."""
    lines: dict[str, int] = {}
    for stack in sampled(record):
        words = ";".join(one_word(str(name)) for name in (stack.phase, *stack.frames))
        lines[words] = lines.get(words, 0) + stack.ticks
    return "".join(f"{words} {ticks}\n" for words, ticks in sorted(lines.items())).encode()


def one_word(name: str) -> str:
    """A name in which nothing means the end of a name, or of a line."""
    return " ".join(name.replace(";", ":").split())


EXPORTS: dict[str, Callable[[Record], bytes]] = {"speedscope": speedscope, "perfetto": perfetto, "pstats": pstats, "collapsed": collapsed}


def sampled(record: Record) -> list[Stack]:
    stacks = stacks_of(record)
    if not stacks:
        raise nothing_to_export("samples")
    return sorted(stacks, key=lambda stack: (stack.frames, stack.lines))


def nothing_to_export(what: str) -> RunError:
    return RunError(f"expected {what} in the record, found none; try profiling the script again, for some seconds at least")


def title(record: Record) -> str:
    return " ".join([os.path.basename(record["command"][0]), *record["command"][1:]]) if record["command"] else "a profile"


def as_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
