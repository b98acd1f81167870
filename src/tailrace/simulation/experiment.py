"""One scenario with several seeds: means, variances, intervals, and whether they have settled.

Welford's sums, so that mean and variance are there after each run (DSiDE's DMExec, thesis 2.4).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait

from tailrace.simulation.scenario import Scenario
from tailrace.simulation.statistics import figures
from tailrace.simulation.world import World

LEVEL = 0.95
SETTLED = 0.05  # of the mean: an interval no wider than that to either side


class Running:
    """Mean and variance of what has come so far."""

    def __init__(self) -> None:
        self.count = 0
        self.mean = 0.0
        self._squares = 0.0
        self.least = math.inf
        self.most = -math.inf

    def add(self, value: float) -> None:
        self.count += 1
        apart = value - self.mean
        self.mean += apart / self.count
        self._squares += apart * (value - self.mean)
        self.least, self.most = min(self.least, value), max(self.most, value)

    @property
    def variance(self) -> float:
        """Of the sample."""
        return self._squares / (self.count - 1) if self.count > 1 else 0.0

    @property
    def half_width(self) -> float:
        """Of the interval around the mean, by Student's t."""
        if self.count < 2:
            return math.inf
        from scipy.special import stdtrit

        t = float(stdtrit(self.count - 1, (1 + LEVEL) / 2))
        return t * math.sqrt(self.variance / self.count)

    @property
    def settled(self) -> bool:
        """Few runs, a short time or a system with two states leave a wide interval."""
        return self.half_width <= SETTLED * abs(self.mean)


def run_one(scenario: Scenario, seed: int) -> dict[str, float]:
    world = World(scenario, seed)
    world.run()
    return figures(world)


def run_seeds(
    scenario: Scenario, seeds: range, processes: int
) -> Iterator[tuple[int, dict[str, float]]]:
    """In the order of the seeds, as far as they have come; the caller may leave at any time."""
    if processes <= 1 or len(seeds) <= 1:
        yield from ((seed, run_one(scenario, seed)) for seed in seeds)
        return
    with ProcessPoolExecutor(processes) as pool:
        try:
            yield from _in_order([pool.submit(run_one, scenario, seed) for seed in seeds], seeds)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _in_order(
    runs: list[Future[dict[str, float]]], seeds: range
) -> Iterator[tuple[int, dict[str, float]]]:
    for seed, run in zip(seeds, runs, strict=True):
        wait([run], return_when=FIRST_COMPLETED)
        yield seed, run.result()


def summary(found: list[dict[str, float]]) -> dict[str, Running]:
    """By figure; one that is missing in a run (a cost that never arose) counts as nothing."""
    names = dict.fromkeys(name for one in found for name in one)
    running = {name: Running() for name in names}
    for one in found:
        for name, sums in running.items():
            sums.add(one.get(name, 0.0))
    return running
