"""Runs a scenario once, and prints its events a second, or the seconds that a user waits for it.

It measures whichever form of tailrace its Python finds: the source, or a compiled one.
"""

from __future__ import annotations

import sys
import time

from studies.runs import Runs

from tailrace.simulation.scenario import Scenario
from tailrace.simulation.statistics import figures
from tailrace.simulation.world import World


def events_per_s(scenario: Scenario) -> float:
    world = World(scenario, 0)
    began, before = time.perf_counter(), world.told
    world.run()
    return (world.told - before) / (time.perf_counter() - began)


def seconds(scenario: Scenario) -> float:
    """With the drawing of lengths and the reckoning of the figures."""
    began = time.perf_counter()
    world = World(scenario, 0)
    world.run()
    figures(world)
    return time.perf_counter() - began


FIGURES = {"events_per_s": events_per_s, "seconds": seconds}

if __name__ == "__main__":
    print(FIGURES[sys.argv[1]](Runs().scenario(sys.argv[2], sys.argv[3:])))
