"""BaTS 5.8: round robin over 32 cheap machines and 32 of another type, Normal(15, √5) minutes.

Makespan and cost come out in every row, within the scatter of ten seeds; `docs/studies/bats.md` has
the table, with what is left between the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any

import pytest
from studies.bats import CASES, PAPER, SCENARIO, Case
from studies.runs import Runs

from tailrace.scheduler.events import Ended, HostSeen
from tailrace.simulation.statistics import figures
from tailrace.simulation.world import World

SEEDS = 10
TOLERANCE = 0.015  # three standard errors of a mean over so many seeds
HOUR_US = 3600_000_000
LAST_LOOK_US = 937_500  # so long before the end of an hour an idle machine is given back at last


class Onlooker:
    """Bills each machine for the hours until its last task has ended, as BaTS does."""

    def __init__(self) -> None:
        self._pools: dict[str, str] = {}
        self._ended: dict[str, int] = {}

    def __call__(self, event: Any, decisions: list[Any], now: int) -> None:
        if isinstance(event, HostSeen):
            self._pools[event.host] = event.pool
        if isinstance(event, Ended):
            self._ended[event.host] = now

    def bill(self, prices: dict[str, int]) -> int:
        return sum(prices[self._pools[host]] * hours for host, hours in self._hours())

    def _hours(self) -> Iterator[tuple[str, int]]:
        for host, ended in self._ended.items():
            yield host, -(-(ended + LAST_LOOK_US) // HOUR_US)


@pytest.mark.parametrize("name", CASES)
def test_round_robin_of_bats_comes_out(name: str) -> None:
    case, paper = CASES[name], PAPER[name]
    scenario = Runs().scenario(SCENARIO, case.changes())
    found = []
    for seed in range(SEEDS):
        onlooker = Onlooker()
        world = World(scenario, seed, watch=onlooker)
        world.run()
        found.append(figures(world))
        assert found[-1]["cost_USD"] == onlooker.bill(prices(case))
    makespan = fmean(one["makespan_s"] / 60 for one in found)
    assert makespan == pytest.approx(paper.makespan_min, rel=TOLERANCE)
    cost = fmean(one["cost_USD"] for one in found)
    assert cost == pytest.approx(paper.cost, rel=TOLERANCE)


def prices(case: Case) -> dict[str, int]:
    return {"cheap": 3, "other": case.price}
