"""Master and workers in tailrace: the scenario, and what its tasks are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tailrace.bag.tables import read_toml
from tailrace.simulation.draws import Streams, microseconds
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.workload import draw_lengths
from tailrace.simulation.world import World

NEVER_FAILS = ""
WORKER = """
[pools.worker{number}]
machines = 1
speed = {speed}
detection = "reported"
{life}
"""
BAG = """
[bags.tasks]
tasks = {tasks}
length = {length}
retries = {{ lost = 1000000 }}
"""


def scenario(speeds: Sequence[float], tasks: int, length: str, life: str = NEVER_FAILS) -> Scenario:
    """`length` and `life` as they stand in a scenario file."""
    workers = (WORKER.format(number=k, speed=v, life=life) for k, v in enumerate(speeds))
    text = "".join(workers) + BAG.format(tasks=tasks, length=length)
    return read_scenario(read_toml(text, "system"), "system", text, Path())


def lengths_us(made: Scenario, seed: int) -> list[int]:
    """What a world of this seed will draw."""
    (tasks,) = made.bags
    drawn = draw_lengths(tasks.lengths, tasks.terms.count, Streams(seed).below("bag", 1))
    return [int(us) for us in np.maximum(microseconds(drawn), 1)]


def ends_us(made: Scenario, seed: int) -> list[int]:
    """Of each task."""
    world = World(made, seed)
    world.run()
    return list(world.records[0].done)
