"""Master and workers in SimPy and in SimGrid, which nobody here wrote, beside ours."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import NamedTuple

from studies.others import ours, simgrid_call, simpy_model
from studies.runs import Runs
from studies.table import mean, table
from studies.verdict import REFUTED as REFUTED
from studies.verdict import Apart, Claim, all_near, claims
from tailrace.simulation.running import Running

SPEEDS = (1.0, 0.37, 2.5, 1.7, 0.9)
TASKS = 300
SHOWN = 5  # bags in the first table
UP_S, DOWN_S = 7200, 1200
ROUNDED_S = 0.5e-6  # by rounding to microseconds, at most
SURE = 3.3  # standard errors: further apart by chance once in a thousand times
SAME = ("bag", "makespan, ours, s", "SimPy, s", "ends apart by at most, s", "SimGrid, s",
        "ends apart by at most, s")  # fmt: skip
FAILING = ("runs of each", "ours, h", "SimPy, h", "apart, standard errors")
LIFE = (
    f'up = {{ law = "exponential", mean = {UP_S} }}\n'
    f'down = {{ law = "exponential", mean = {DOWN_S} }}'
)


def main(runs: Runs, folder: Path) -> str:
    """`folder` is where pictures would go; there are none."""
    same = [_same(seed) for seed in range(min(runs.seeds, SHOWN))]
    failing = _failing(10 * runs.seeds)
    return PAGE.format(
        claims=claims(*judged(same, failing)),
        same=table(SAME, [(f"{bag}", *one.cells()) for bag, one in enumerate(same)]),
        failing=table(FAILING, [failing.cells()]),
    )


def some_lengths(seed: int, count: int = TASKS) -> list[int]:
    """Microseconds: half of them above ten minutes, some of hours."""
    chance = Random(seed)
    return [round(600e6 * chance.lognormvariate(0, 1.1)) for _ in range(count)]


class Beside(NamedTuple):
    """When each task of a bag ends, in seconds; nothing of SimGrid where it is not installed."""

    ours: list[float]
    simpy: list[float]
    simgrid: list[float]

    def cells(self) -> list[str]:
        cells = [f"{max(self.ours):.6f}"]
        for ends in (self.simpy, self.simgrid):
            told = (
                [f"{max(ends):.6f}", f"{self.apart(ends):.1g}"] if ends else ["not installed", ""]
            )
            cells += told
        return cells

    def apart(self, theirs: list[float]) -> float:
        return max(abs(one - other) for one, other in zip(self.ours, theirs, strict=True))


class Failing(NamedTuple):
    """Makespans of runs with failures, in hours."""

    ours: Running
    simpy: Running

    @property
    def errors(self) -> float:
        """How far the means are apart, in standard errors."""
        both = self.ours.variance / self.ours.count + self.simpy.variance / self.simpy.count
        return float((self.ours.mean - self.simpy.mean) / both**0.5)

    def cells(self) -> tuple[str, ...]:
        return (
            f"{self.ours.count}",
            mean(self.ours, 2),
            mean(self.simpy, 2),
            f"{self.errors:+.1f}",
        )


def _same(seed: int) -> Beside:
    lengths = some_lengths(seed)
    mine = ours.ends_us(ours.scenario(SPEEDS, lengths))
    simpy = [us / 1e6 for us in simpy_model.ends_us(SPEEDS, lengths)]
    simgrid = simgrid_call.run(SPEEDS, lengths).ends_s if simgrid_call.there() else []
    return Beside([us / 1e6 for us in mine], simpy, simgrid)


def _failing(seeds: int) -> Failing:
    lengths = some_lengths(0, 60)
    scenario, found = ours.scenario(SPEEDS, lengths, LIFE), Failing(Running(), Running())
    for seed in range(seeds):
        found.ours.add(max(ours.ends_us(scenario, seed)) / 3.6e9)
        took = simpy_model.failing_makespan_us(SPEEDS, lengths, UP_S * 1e6, DOWN_S * 1e6, seed)
        found.simpy.add(took / 3.6e9)
    return found


def judged(same: list[Beside], failing: Failing) -> list[Claim]:
    simpy = [Apart(one.apart(one.simpy), ROUNDED_S) for one in same]
    simgrid = [Apart(one.apart(one.simgrid), TASKS * ROUNDED_S) for one in same if one.simgrid]
    found = [all_near("tasks end in SimPy when they end here", "half a microsecond", simpy, "s")]
    if simgrid:
        bound = "half a microsecond for each task"
        found += [all_near("tasks end in SimGrid when they end here", bound, simgrid, "s")]
    errors = [Apart(abs(failing.errors), SURE)]
    what = "with failures the mean is that of SimPy"
    return [*found, all_near(what, f"{SURE:g} standard errors", errors, "")]


PAGE = """\
# Other simulators

The same small system in tailrace, in SimPy and in SimGrid: five workers of different speeds, each
of which pulls the next task of a bag when it is free. The models are
`studies/others/simpy_model.py` and `studies/others/simgrid_model.py`; neither knows anything of
tailrace, whose own scheduler decides in ours. `make studies`, or `python -m studies
other_simulators`, writes this page; SimGrid is Debian's `python3-simgrid`.

{claims}

Bags of 300 tasks of given lengths, workers that never fail:

{same}

SimPy's model rounds run times to microseconds, as tailrace does. SimGrid's does not, so that half
a microsecond for each task of a worker is the most that an end may be off.

60 tasks, workers up for two hours and down for 20 minutes, both exponential. What a worker had is
lost with it and begun again on the next that is free, before the tasks that were never begun. The
random numbers are different ones, so only the means can agree:

{failing}

The tests do the same, and compare waiting times with the formulas for M/M/1, M/M/c and M/G/1, and
failures, availability and the time of a task that is begun again with renewal theory
(`tests/simulation/test_other_simulators.py`, `tests/simulation/test_theory.py`). How fast each is:
[benchmarks](../reference/benchmarks.md).
"""
