"""Master and workers in tailrace."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

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


class Failing(NamedTuple):
    ends_us: list[int]  # of each task
    lost: int  # attempts


def failing(made: Scenario, lives_us: Sequence[Iterable[tuple[int, int]]]) -> Failing:
    """Workers are up and down for the given times, in turn, and not for those of their laws."""
    known = {}
    for number, life in enumerate(lives_us):
        up, down = zip(*life, strict=True)
        known[f"failure/worker{number}/0/here"] = array("d", (us / 1e6 for us in up))
        known[f"failure/worker{number}/0/away"] = array("d", (us / 1e6 for us in down))
    world = World(replace(made, events=known), 0)
    world.run()
    record = world.records[0]
    return Failing(list(record.done), record.restarts)
