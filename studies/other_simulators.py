"""Master and workers in SimPy and in SimGrid, which nobody here wrote, beside ours."""

from __future__ import annotations

from pathlib import Path
from random import Random

from studies.others import ours, simgrid_call, simpy_model
from studies.runs import Runs
from studies.table import mean, table
from tailrace.simulation.running import Running

SPEEDS = (1.0, 0.37, 2.5, 1.7, 0.9)
TASKS = 300
SHOWN = 5  # bags in the first table
UP_S, DOWN_S = 7200, 1200
LIFE = (
    f'up = {{ law = "exponential", mean = {UP_S} }}\n'
    f'down = {{ law = "exponential", mean = {DOWN_S} }}'
)


def main(runs: Runs, folder: Path) -> str:
    """`folder` is where pictures would go; there are none."""
    return PAGE.format(same=_same(min(runs.seeds, SHOWN)), failing=_failing(10 * runs.seeds))


def some_lengths(seed: int, count: int = TASKS) -> list[int]:
    """Microseconds: half of them above ten minutes, some of hours."""
    chance = Random(seed)
    return [round(600e6 * chance.lognormvariate(0, 1.1)) for _ in range(count)]


def _same(bags: int) -> str:
    rows = []
    for seed in range(bags):
        lengths = some_lengths(seed)
        mine = ours.ends_us(ours.scenario(SPEEDS, lengths))
        rows.append((f"{seed}", f"{max(mine) / 1e6:.6f}", *_beside(mine, lengths)))
    head = ("bag", "makespan, ours, s", "SimPy, s", "ends apart by at most, s", "SimGrid, s",
            "ends apart by at most, s")  # fmt: skip
    return table(head, rows)


def _beside(mine: list[int], lengths: list[int]) -> tuple[str, ...]:
    """The makespans of the others, and how far apart any task's ends are."""
    simpy = [us / 1e6 for us in simpy_model.ends_us(SPEEDS, lengths)]
    others = [simpy, simgrid_call.run(SPEEDS, lengths).ends_s if simgrid_call.there() else []]
    cells: list[str] = []
    for ends in others:
        apart = [abs(theirs - us / 1e6) for theirs, us in zip(ends, mine, strict=False)]
        cells += [f"{max(ends):.6f}", f"{max(apart):.1g}"] if ends else ["not installed", ""]
    return tuple(cells)


def _failing(seeds: int) -> str:
    lengths = some_lengths(0, 60)
    scenario, mine, theirs = ours.scenario(SPEEDS, lengths, LIFE), Running(), Running()
    for seed in range(seeds):
        mine.add(max(ours.ends_us(scenario, seed)) / 3.6e9)
        found = simpy_model.failing_makespan_us(SPEEDS, lengths, UP_S * 1e6, DOWN_S * 1e6, seed)
        theirs.add(found / 3.6e9)
    error = (mine.variance / seeds + theirs.variance / seeds) ** 0.5
    apart = f"{(mine.mean - theirs.mean) / error:+.1f}"
    head = ("runs of each", "ours, h", "SimPy, h", "apart, standard errors")
    return table(head, [(f"{seeds}", mean(mine, 2), mean(theirs, 2), apart)])


PAGE = """\
# Other simulators

The same small system in tailrace, in SimPy and in SimGrid: five workers of different speeds, each
of which pulls the next task of a bag when it is free. The models are
`studies/others/simpy_model.py` and `studies/others/simgrid_model.py`; neither knows anything of
tailrace, whose own scheduler decides in ours. `make studies`, or `python -m studies
other_simulators`, writes this page; SimGrid is Debian's `python3-simgrid`.

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
