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
HOUR_US = 3.6e9
ROUNDED_S = 0.5e-6  # by rounding to microseconds, at most
SAME = ("bag", "makespan, ours, s", "SimPy, s", "ends apart by at most, s", "SimGrid, s",
        "ends apart by at most, s")  # fmt: skip
FAILING = ("runs of each", "attempts lost", "makespan, ours, h", "SimPy, h",
           "runs in which all ends agree")  # fmt: skip
LIVES = 200  # of each worker: no run lasts so long
LIFE = (
    f'up = {{ law = "exponential", mean = {UP_S} }}\n'
    f'down = {{ law = "exponential", mean = {DOWN_S} }}'
)


def main(runs: Runs, folder: Path) -> str:
    """`folder` is where pictures would go; there are none."""
    same = [_same(seed) for seed in range(min(runs.seeds, SHOWN))]
    seeds = range(10 * runs.seeds)
    failing = Failing([failing_pair(seed) for seed in seeds])
    return PAGE.format(
        claims=claims(*judged(same, failing)),
        same=table(SAME, [(f"{bag}", *one.cells()) for bag, one in enumerate(same)]),
        failing=table(FAILING, [failing.cells()]),
        power=table([change.name for change in WRONG], [[_found(one, seeds) for one in WRONG]]),
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


class Pair(NamedTuple):
    """When each task of a run with failures ends, in microseconds."""

    ours: list[int]
    simpy: list[int]
    lost: int = 0  # attempts, in ours

    @property
    def apart(self) -> float:
        return max(abs(one - other) for one, other in zip(self.ours, self.simpy, strict=True)) / 1e6


class Failing(NamedTuple):
    pairs: list[Pair]

    def cells(self) -> tuple[str, ...]:
        ours, simpy = Running(), Running()
        for pair in self.pairs:
            ours.add(max(pair.ours) / HOUR_US)
            simpy.add(max(pair.simpy) / HOUR_US)
        lost = sum(pair.lost for pair in self.pairs)
        agree = sum(not pair.apart for pair in self.pairs)
        return (f"{len(self.pairs)}", f"{lost:,}", mean(ours, 2), mean(simpy, 2), f"{agree}")


class Change(NamedTuple):
    """By which the worlds differ."""

    name: str
    faster: float = 1.0  # the last worker
    up_us: int = 0  # more, each time
    down_us: int = 0
    sent_back: bool = False  # lost tasks, to the worker that lost them: wrong in the other world


RIGHT = Change("nothing")
WRONG = (
    Change("one worker of five faster by a millionth", faster=1.000001),
    Change("workers up for 1 ms longer", up_us=1000),
    Change("workers down for 1 ms longer", down_us=1000),
    Change("lost tasks sent back to where they were lost", sent_back=True),
)


def _same(seed: int) -> Beside:
    lengths = some_lengths(seed)
    mine = ours.ends_us(ours.scenario(SPEEDS, lengths))
    simpy = [us / 1e6 for us in simpy_model.ends_us(SPEEDS, lengths)]
    simgrid = simgrid_call.run(SPEEDS, lengths).ends_s if simgrid_call.there() else []
    return Beside([us / 1e6 for us in mine], simpy, simgrid)


def failing_pair(seed: int, wrong: Change = RIGHT) -> Pair:
    """The same lengths and the same lives in both."""
    lengths, lives = some_lengths(seed, 60), _lives(seed)
    speeds = (*SPEEDS[:-1], SPEEDS[-1] * wrong.faster)
    changed = [[(up + wrong.up_us, down + wrong.down_us) for up, down in life] for life in lives]
    run = ours.failing(ours.scenario(speeds, lengths, LIFE), changed)
    simpy = simpy_model.failing_ends_us(SPEEDS, lengths, lives, sent_back=wrong.sent_back)
    return Pair(run.ends_us, simpy, run.lost)


def _lives(seed: int) -> list[list[tuple[int, int]]]:
    """Of each worker: up and down for exponential times."""
    chances = (Random(f"{seed}/{number}") for number in range(len(SPEEDS)))
    return [[(_drawn(chance, UP_S), _drawn(chance, DOWN_S)) for _ in range(LIVES)]
            for chance in chances]  # fmt: skip


def _drawn(chance: Random, mean_s: float) -> int:
    return round(1e6 * chance.expovariate(1 / mean_s))


def _found(wrong: Change, seeds: range) -> str:
    """In how many runs the other simulator would tell it."""
    apart = sum(failing_pair(seed, wrong).apart > ROUNDED_S for seed in seeds)
    return f"{apart} of {len(seeds)} runs"


def judged(same: list[Beside], failing: Failing) -> list[Claim]:
    simpy = [Apart(one.apart(one.simpy), ROUNDED_S) for one in same]
    simgrid = [Apart(one.apart(one.simgrid), TASKS * ROUNDED_S) for one in same if one.simgrid]
    bound = "half a microsecond"
    found = [all_near("tasks end in SimPy when they end here", bound, simpy, "s")]
    if simgrid:
        each = "half a microsecond for each task"
        found += [all_near("tasks end in SimGrid when they end here", each, simgrid, "s")]
    pairs = [Apart(pair.apart, ROUNDED_S) for pair in failing.pairs]
    return [*found, all_near("with failures, too, in SimPy", bound, pairs, "s")]


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

60 tasks, of other lengths for each seed, on workers up for two hours and down for 20 minutes, both
exponential. The times are drawn once and given to both: to SimPy as lists, to tailrace as
[events](../reference/scenario.md#events). What a worker had is lost with it, known at once, and
begun again before the tasks that were never begun, by the worker that has been idle longest; but
not by the one that lost it, as long as another is up. So every end must agree, not only a mean:

{failing}

How much is that worth? If the worlds differed a little, the ends would not agree any more in so
many runs:

{power}

The first comparison drew other times in each and compared the means of 200 runs, which would not
have seen a difference of 10 %. It held, although its SimPy model sent lost tasks back to the worker
that had lost them, as in the last column.

The tests do the same, and compare waiting times with the formulas for M/M/1, M/M/c and M/G/1, and
failures, availability and the time of a task that is begun again with renewal theory
(`tests/simulation/test_other_simulators.py`, `tests/simulation/test_theory.py`). How fast each is:
[benchmarks](../reference/benchmarks.md).
"""
