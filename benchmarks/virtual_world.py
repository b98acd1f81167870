"""The virtual world: events a second, a million tasks, the thesis's runs, SimPy and SimGrid.

An event is one call of the scheduler's `handle`, with everything the world does around it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from studies.others import ours, simgrid_call, simpy_model
from studies.runs import Runs

from benchmarks.bench import Bench
from benchmarks.figure import Bar, Figure, alternating, at_least, below, ratios
from tailrace.simulation.reading import load_scenario
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.statistics import figures
from tailrace.simulation.world import World

HERE = Path(__file__).parent / "scenarios"
STRATEGIES = ("fcfs", "ntdmr")
WORKERS = tuple(0.5 + k / 10 for k in range(20))
TASKS = 20_000
CHECKPOINTS = 'bags.jobs.checkpoint={ every = "30m", pause = "2s", size = "10 MB" }'


def measure(bench: Bench) -> None:
    _tell_events(bench)
    _tell_thesis(bench)
    _tell_others(bench)
    _tell_million(bench)


def _tell_events(bench: Bench) -> None:
    ways = {name: partial(_events_per_s, load_scenario(HERE / f"{name}.toml"))
            for name in STRATEGIES}  # fmt: skip
    for name, rates in alternating(bench.repetitions, ways).items():
        _figure(bench, f"events, {name}", "handle calls/s", rates, at_least(100_000))


def _events_per_s(scenario: Scenario) -> float:
    world = World(scenario, 0)
    began, before = time.perf_counter(), world.told
    world.run()
    return (world.told - before) / (time.perf_counter() - began)


def _tell_thesis(bench: Bench) -> None:
    """With the drawing of lengths and the reckoning of the figures: what a user waits for."""
    grid, scenarios = str(HERE / "chapter4.toml"), Runs()
    runs: dict[str, tuple[Scenario, Bar]] = {
        "chapter 3: 10 machines, 5 weeks": (scenarios.scenario("availability.toml", ()), below(1)),
        "chapter 4: 128 machines, 7 days, 7,000 jobs": (scenarios.scenario(grid, ()), below(3)),
        "the same with checkpoints of 10 MB every half hour": (
            scenarios.scenario(grid, [CHECKPOINTS]), below(3),
        ),
    }  # fmt: skip
    ways = {what: partial(_seconds, scenario) for what, (scenario, _) in runs.items()}
    for what, values in alternating(bench.repetitions, ways).items():
        _figure(bench, what, "s", values, runs[what][1])


def _seconds(scenario: Scenario) -> float:
    began = time.perf_counter()
    world = World(scenario, 0)
    world.run()
    figures(world)
    return time.perf_counter() - began


def _tell_million(bench: Bench) -> None:
    scenario = load_scenario(HERE / "million.toml")
    repetitions = 1 if bench.quick else bench.repetitions
    values = [_seconds(scenario) for _ in range(repetitions)]
    _figure(bench, "one million tasks on 1,000 failing machines", "s", values, below(60))


def _tell_others(bench: Bench) -> None:
    chance = Random(7)
    lengths = [round(600e6 * chance.lognormvariate(0, 0.5)) for _ in range(TASKS)]
    ways: dict[str, Callable[[], float]] = {
        "tailrace": partial(_ours, ours.scenario(WORKERS, lengths)),
        "SimPy": partial(_simpy, lengths),
    }
    if simgrid_call.there():
        ways["SimGrid"] = lambda: TASKS / simgrid_call.run(WORKERS, lengths).lasted_s
    else:
        bench.skip("SimGrid", f"it needs the Debian package {simgrid_call.PACKAGE}")
    rates = alternating(bench.repetitions, ways)
    system = f"master and {len(WORKERS)} workers, {TASKS:,} tasks"
    for name, values in rates.items():
        _figure(bench, f"{system}: {name}", "tasks/s", values, None)
    for name in list(ways)[1:]:
        beside = ratios(rates["tailrace"], rates[name])
        _figure(bench, f"{system}: beside {name}", "times as fast", beside, None)


def _ours(scenario: Scenario) -> float:
    """SimPy's and SimGrid's models know the next task; here the scheduler decides."""
    world = World(scenario, 0)
    began = time.perf_counter()
    world.run()
    return TASKS / (time.perf_counter() - began)


def _simpy(lengths: list[int]) -> float:
    began = time.perf_counter()
    simpy_model.ends_us(WORKERS, lengths)
    return TASKS / (time.perf_counter() - began)


def _figure(bench: Bench, what: str, unit: str, values: list[float], bar: Bar | None) -> None:
    bench.tell(Figure("virtual_world", what, unit, values, bar))
