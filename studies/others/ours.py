"""Master and workers in tailrace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tailrace.bag.tables import read_toml
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.scenario import Scenario
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
lengths = [{lengths}]
retries = {{ lost = 1000000 }}
"""


def scenario(
    speeds: Sequence[float], lengths_us: Sequence[int], life: str = NEVER_FAILS
) -> Scenario:
    """`life` as it stands in a scenario file."""
    workers = (WORKER.format(number=k, speed=v, life=life) for k, v in enumerate(speeds))
    seconds = (f"{us // 1_000_000}.{us % 1_000_000:06}" for us in lengths_us)
    text = "".join(workers) + BAG.format(lengths=", ".join(seconds))
    return read_scenario(read_toml(text, "system"), "system", text, Path())


def ends_us(made: Scenario, seed: int = 0) -> list[int]:
    """Of each task."""
    world = World(made, seed)
    world.run()
    return list(world.records[0].done)
