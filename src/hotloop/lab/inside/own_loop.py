"""Our own loops share out their time by a stopwatch. What it says is taken over once a block, and nothing is probed: that costs nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from hotloop.lab.inside.events import KINDS
from hotloop.lab.inside.probes import Probes
from hotloop.records.phases import PHASES


class OwnLoop:
    """A training loop of ours, as its session tells it: phases by its stopwatch, clocks by what it counts."""

    def __init__(self, probes: Probes) -> None:
        self._probes = probes
        self._told: dict[str, Any] = {}  # by the session when it began: a resumed one has a past,
        self._had: dict[str, Any] = {}  # and what had been measured by then

    def begins(self, session: Any) -> None:
        """Nothing is probed from now on."""
        self._kinds = {name: KINDS.index(name) for name in PHASES}
        self._glue = KINDS.index("step") * len(KINDS) + KINDS.index("act")  # time between two events that is nobody's
        self._hand_over()
        probes, recorder = self._probes, self._probes.recorder
        self._told = told_by(session)
        self._had = {"inside": list(recorder.inside), "calls": list(recorder.calls), "glue": recorder.gaps[self._glue], "updates": dict(probes.updates)}
        self._had |= {name: getattr(probes, name) for name in ("env_steps", "vector_steps", "episodes")}
        if probes.first_update_at is None:
            self._await_learning(session)

    def goes_on(self, session: Any) -> None:
        """Take over what the session has counted since it began."""
        probes, recorder, had, before, now = self._probes, self._probes.recorder, self._had, self._told, told_by(session)
        for name, kind in self._kinds.items():
            recorder.inside[kind] = had["inside"][kind] + now["nanoseconds"][name] - before["nanoseconds"][name]
            recorder.calls[kind] = had["calls"][kind] + now["calls"][name] - before["calls"][name]
        recorder.gaps[self._glue] = had["glue"] + now["nanoseconds"]["glue"] - before["nanoseconds"]["glue"]
        recorder.start()  # all until now is shared out
        probes.env_steps = had["env_steps"] + now["steps"] - before["steps"]
        probes.vector_steps = had["vector_steps"] + now["calls"]["step"] - before["calls"]["step"]
        probes.episodes = had["episodes"] + now["episodes"] - before["episodes"]
        updates = now["updates"] - before["updates"]
        if updates:
            probes.updates[now["learner"]] = had["updates"].get(now["learner"], 0) + updates
            recorder.batches = {now["batch_size"]: updates} if now["batch_size"] else {}
        if recorder.clock() >= probes.blocks.due:
            probes.blocks.take(recorder.clock(), recorder, probes.clocks)

    def _hand_over(self) -> None:
        """Take away every probe and every look."""
        probes, recorder = self._probes, self._probes.recorder
        if probes.discovery is not None:
            probes.discovery.stop()
            probes.discovery = None
        if probes._held:
            probes._release()
        probes.passes.is_over, probes.tells_itself, recorder.look = True, True, None  # which phase a stack was seen in, only the stopwatch knows
        for function in list(probes._detours):
            probes.remove(function)
        if probes.startup is None:
            probes.startup = recorder.sums(now=True)

    def _await_learning(self, session: Any) -> None:
        """Until the first update every step is heard; then the session is as it was."""
        former, began = session.advance, session.steps

        def advance(steps: int, updates: int) -> None:
            former(steps, updates)
            if updates:
                self._probes.first_update_at = self._had["env_steps"] + session.steps - began
                del session.advance

        session.advance = advance


def told_by(session: Any) -> dict[str, Any]:
    """All that a session has counted, over all its sittings."""
    return {
        "nanoseconds": {name: round(1e9 * seconds) for name, seconds in session.watch.seconds().items()},
        "calls": session.watch.calls(),
        "steps": session.steps,
        "updates": session.updates,
        "episodes": session.envs.tally()["episodes"],
        "learner": type(session.config).__name__.removesuffix("Config"),
        "batch_size": getattr(session.config, "batch_size", None),
    }


def then(method: Callable[..., Any], tell: Callable[[Any], None], failed: Callable[[str], None]) -> Callable[..., Any]:
    """The method, after which somebody is told of its object; his mistakes are not its own."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        finally:
            try:
                tell(self)
            except Exception as error:
                failed(f"our own loop: {type(error).__name__}: {error}")

    return call
