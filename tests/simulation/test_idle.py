"""No machine with a price enters another unit while it is idle and nothing waits for it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.simulation.scenarios import run

from tailrace.pools.terms import Billing
from tailrace.scheduler import demand, fleet
from tailrace.scheduler.rows import STANDING, LeaseRow
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.statistics import figures
from tailrace.simulation.world import World

from .test_world import scenarios

UNITS_US = st.sampled_from([10_000_000, 25_000_000, 60_000_000])


class Watchman:
    """Notes since when each lease has been of no use."""

    def __init__(self) -> None:
        self.world: World | None = None
        self._useless_us: dict[int, int] = {}
        self.told: list[str] = []

    def __call__(self, event: Any, decisions: list[Any], now: int) -> None:
        if self.world is not None:
            for row in list(self.world.scheduler.state.leases.values()):
                self._look(self.world, row, now)

    def _look(self, world: World, row: LeaseRow, now: int) -> None:
        state = world.scheduler.state
        bag, pool = state.bags[row.bag], state.pools[row.pool]
        idle = row.state in STANDING and not fleet.busy(state, row)
        if not idle or not bag.runs or demand.waits(state, bag, pool):
            self._useless_us.pop(row.lease, None)
            return
        since = self._useless_us.setdefault(row.lease, now)
        units = row.billing.units(now - row.wanted_us)
        ahead = max(row.billing.unit_us // 60, 2_000_000)  # when it is looked at
        if row.billing.units(since + ahead - row.wanted_us) < units:
            self.told.append(f"lease {row.lease} idle since {since} entered a unit before {now}")


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(scenarios(), UNITS_US, st.integers(0, 2**32))
def test_an_idle_machine_enters_no_other_unit(scenario: Scenario, unit_us: int, seed: int) -> None:
    billing = Billing(1_000_000, unit_us=unit_us)
    pools = tuple(replace(p, terms=replace(p.terms, billing=billing)) for p in scenario.pools)
    watchman = Watchman()
    world = watchman.world = World(replace(scenario, pools=pools), seed, check=True, watch=watchman)
    world.run()
    assert watchman.told == []


SLOW = """\
[pools.spot]
max = 2
price = "0.60 USD/h"
unit = "10m"
minimum = "30m"
startup = "1m"
ending = "{}"
[bags.b]
lengths = ["10m", "10m", "25m"]
"""


@pytest.mark.parametrize(("ending", "cost"), [("9s", 0.7), ("11s", 0.8)])
def test_a_machine_is_paid_until_it_is_gone(ending: str, cost: float) -> None:
    """It is given back when a 60th of its unit is left, here 10 s."""
    assert figures(run(SLOW.format(ending)))["cost_USD"] == cost
