"""The virtual world: events a second, a million tasks, the thesis's runs, SimPy and SimGrid.

An event is one call of the scheduler's `handle`, with everything the world does around it. Where a
compiler is, the figures are those of both forms: pure Python, and compiled (TAILRACE_COMPILE).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from studies.others import ours, simgrid_call, simpy_model

from benchmarks import form
from benchmarks.bench import Bench
from benchmarks.figure import Bar, Figure, alternating, at_least, below, ratios
from benchmarks.form import Form
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.world import World

HERE = Path(__file__).parent / "scenarios"
LEAST_EVENTS = {"fcfs": 100_000, "ntdmr": 100_000, "policies": 20_000}  # a second
WORKERS = tuple(0.5 + k / 10 for k in range(20))
TASKS = 20_000
CHECKPOINTS = 'bags.jobs.checkpoint={ every = "30m", pause = "2s", size = "10 MB" }'
TRACED = (("fcfs",), ("ntdmr",), ("policies",), ("chapter4", CHECKPOINTS))


def measure(bench: Bench) -> None:
    forms = _forms(bench)
    _tell_events(bench, forms)
    _tell_thesis(bench, forms)
    _tell_others(bench)
    _tell_million(bench, forms)


def _forms(bench: Bench) -> list[Form]:
    """The compiled one only if it decides as the pure one does."""
    pure, compiled = form.pure(), form.compiled(bench.folder())
    if isinstance(compiled, str):
        bench.skip("the compiled form", compiled)
        return [pure]
    for name, *settings in TRACED:
        trace, other = (one.trace(_file(name), *settings) for one in (pure, compiled))
        if trace != other:
            raise SystemExit(f"{name}: the traces differ, {trace} and compiled {other}")
        bench.say(f"trace of {name}: {trace}, the same compiled")
    return [pure, compiled]


def _file(name: str) -> str:
    return str(HERE / f"{name}.toml")


def _tell_events(bench: Bench, forms: list[Form]) -> None:
    ways = {f"events, {name}{one.mark}": partial(one.measured, "events_per_s", _file(name))
            for name in LEAST_EVENTS for one in forms}  # fmt: skip
    found = alternating(bench.repetitions, ways)
    for name, least in LEAST_EVENTS.items():
        for one in forms:
            what = f"events, {name}{one.mark}"
            _figure(bench, what, "handle calls/s", found[what], at_least(least))


def _tell_thesis(bench: Bench, forms: list[Form]) -> None:
    grid = _file("chapter4")
    runs: dict[str, tuple[tuple[str, ...], Bar]] = {
        "chapter 3: 10 machines, 5 weeks": (("availability.toml",), below(1)),
        "chapter 4: 128 machines, 7 days, 7,000 jobs": ((grid,), below(3)),
        "the same with checkpoints of 10 MB every half hour": ((grid, CHECKPOINTS), below(3)),
    }
    ways = {what + one.mark: partial(one.measured, "seconds", *run)
            for what, (run, _) in runs.items() for one in forms}  # fmt: skip
    values = alternating(bench.repetitions, ways)
    for what, (_, bar) in runs.items():
        for one in forms:
            _figure(bench, what + one.mark, "s", values[what + one.mark], bar)


def _tell_million(bench: Bench, forms: list[Form]) -> None:
    what = "one million tasks on 1,000 failing machines"
    ways = {what + one.mark: partial(one.measured, "seconds", _file("million")) for one in forms}
    for name, values in alternating(1 if bench.quick else bench.repetitions, ways).items():
        _figure(bench, name, "s", values, below(60))


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
