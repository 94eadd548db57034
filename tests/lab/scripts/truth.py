"""What a script knows of itself: seconds by phase, and what it counted. Steps during which the lab looked at every call are left out, as the lab does."""

import json
import sys
import time

now = time.perf_counter


def busy(seconds):
    end = now() + seconds
    while now() < end:
        pass


class Truth:
    def __init__(self):
        self.spent, self.wall, self.last, self.kept, self.looked = {}, 0.0, None, {}, False

    def add(self, phase, seconds):
        self.spent[phase] = self.spent.get(phase, 0.0) + seconds

    def step(self):
        """Once a step: what was added up since the last one counts, unless somebody looked."""
        at, looking = now(), sys.getprofile() is not None
        if looking or self.looked or self.last is None:
            self.spent = dict(self.kept)
        else:
            self.kept = dict(self.spent)
            self.wall += at - self.last
        self.last, self.looked = at, looking

    def tell(self, **facts):
        shares = {phase: seconds / self.wall for phase, seconds in self.kept.items()}
        if "store" in shares:  # every phase was timed: what is left stands in the loop itself
            shares["glue"] = 1 - sum(shares.values())
        print("TRUTH", json.dumps({"shares": shares, **facts}))
