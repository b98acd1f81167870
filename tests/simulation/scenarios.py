"""Scenario files in tests: read, and run."""

from __future__ import annotations

from pathlib import Path

from tailrace.bag.tables import read_toml
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.world import World


def scenario(text: str, folder: Path = Path()) -> Scenario:
    return read_scenario(read_toml(text, "s.toml"), "s.toml", text, folder)


def run(text: str, folder: Path = Path(), seed: int = 1) -> World:
    world = World(scenario(text, folder), seed, check=True)
    world.run()
    return world


def done_s(world: World, bag: int = 1) -> list[float]:
    return [time / 1e6 for time in world.records[bag - 1].done]


def write_log(path: Path, jobs: list[tuple[float, float, int]]) -> None:
    """In Standard Workload Format: submit time, run time and processors; of the rest nothing."""
    rows = enumerate(jobs, 1)
    lines = [f"{n} {at} -1 {run} {cores} {'-1 ' * 5}1 {'-1 ' * 7}" for n, (at, run, cores) in rows]
    path.write_text("\n".join(lines))
