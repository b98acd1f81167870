"""Bills add up: what a run says it cost is what its leases lasted, counted by somebody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tailrace.bag.outcome import Outcome
from tailrace.bag.tables import read_toml
from tailrace.pools.terms import HOUR_US, Billing, Pays
from tailrace.scheduler.decisions import Acquire, Close, Renew
from tailrace.scheduler.events import Ended, LeaseChanged, LeaseState
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.statistics import figures
from tailrace.simulation.world import World

from .scenarios import run
from .test_world import scenarios

BILLINGS = st.builds(
    Billing,
    price=st.integers(1, 5_000_000),
    unit_us=st.sampled_from([1_000_000, 7_000_000, 3_600_000_000]),
    minimum_us=st.sampled_from([0, 60_000_000]),
    per_us=st.sampled_from([0, 100_000_000_000]),
)


class Onlooker:
    """Sees only what is told and decided, and keeps its own account of each lease."""

    def __init__(self, billings: dict[str, Billing]) -> None:
        self._billings = billings
        self._leases: dict[int, tuple[str, int]] = {}  # pool, since when
        self._ends: dict[int, int] = {}
        self.paid = 0

    def __call__(self, event: Any, decisions: list[Any], now: int) -> None:
        if isinstance(event, LeaseChanged) and event.state is LeaseState.GONE:
            self.paid += self._cost(event.lease, now)
            del self._leases[event.lease]
        for one in decisions:
            if isinstance(one, Acquire):
                self._leases[one.lease] = one.pool, now
            if isinstance(one, Acquire | Renew):
                self._ends[one.lease] = one.ends_us

    def _cost(self, lease: int, now: int) -> int:
        pool, since = self._leases[lease]
        return self._billings[pool].cost(min(now, self._ends[lease]) - since)

    def bill(self, now: int) -> int:
        return self.paid + sum(self._cost(lease, now) for lease in self._leases)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(scenarios(), BILLINGS, st.integers(0, 40_000_000), st.integers(0, 2**32))
def test_a_run_costs_what_its_leases_lasted_and_keeps_its_budget(
    scenario: Scenario, billing: Billing, budget: int, seed: int
) -> None:
    pools = tuple(replace(p, terms=replace(p.terms, billing=billing)) for p in scenario.pools)
    tasks = scenario.bags[0]
    limited = replace(tasks, terms=replace(tasks.terms, budget={"USD": budget}))
    onlooker = Onlooker({machines.terms.name: billing for machines in pools})
    world = World(replace(scenario, pools=pools, bags=(limited,)), seed, watch=onlooker)
    world.run()
    told = figures(world).get("cost_USD", 0.0) * 1e6
    assert told == pytest.approx(onlooker.bill(world.engine.now), abs=1)
    assert told <= budget + 1


@pytest.mark.parametrize(("unit", "cost"), [("1s", 2), ("100ms", 1), ("1h", 2800)])
def test_a_cheap_machine_may_be_billed_by_the_second(unit: str, cost: int) -> None:
    """Micro-units of a USD; 1.2 s are 14/15 of one, two seconds 14/9."""
    text = f"""
[pools.spot]
max = 1
price = "0.0028 USD/h"
unit = "{unit}"
[bags.b]
tasks = 1
length = "1.2s"
"""
    world = World(read_scenario(read_toml(text, "s"), "s", text, Path()), 0)
    world.run()
    assert round(figures(world)["cost_USD"] * 1e6) == cost


class Payer:
    """Sees only what is told and decided, and keeps its own account of results. One that comes
    after its attempt was given up counts, but is not paid for."""

    def __init__(self, billing: Billing) -> None:
        self._billing = billing
        self._closed: set[int] = set()
        self.paid = 0

    def __call__(self, event: Any, decisions: list[Any], now: int) -> None:
        closed = {one.attempt: one.accepted for one in decisions if isinstance(one, Close)}
        done = isinstance(event, Ended) and event.outcome is Outcome.SUCCEEDED
        if done and closed.get(event.attempt) and event.attempt not in self._closed:
            self.paid += self._billing.cost(event.measured.run_us)
        self._closed.update(closed)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(scenarios(), st.integers(1, 5_000_000), st.integers(0, 400_000_000), st.integers(0, 2**32))
def test_a_run_costs_what_its_results_took_and_keeps_its_budget(
    scenario: Scenario, per_hour: int, budget: int, seed: int
) -> None:
    billing = Billing(per_hour, "USD", 1, per_us=HOUR_US, pays=Pays.ACCEPTED)
    pools = tuple(
        replace(p, count=0, terms=replace(p.terms, billing=billing, max=max(p.count, p.terms.max)))
        for p in scenario.pools
    )
    tasks = scenario.bags[0]
    limited = replace(tasks, terms=replace(tasks.terms, budget={"USD": budget}))
    payer = Payer(billing)
    world = World(replace(scenario, pools=pools, bags=(limited,)), seed, check=True, watch=payer)
    world.run()
    told = figures(world).get("cost_USD", 0.0) * 1e6
    assert told == pytest.approx(payer.paid, abs=1)
    assert told <= budget + 1


@pytest.mark.parametrize(("ending", "cost"), [("", 0.10), ('ending = "90s"', 0.12)])
def test_a_machine_that_is_given_back_is_paid_until_it_is_gone(ending: str, cost: float) -> None:
    """After ten minutes of work; of the twelfth minute a half."""
    world = run(f"""
        [pools.p]
        max = 1
        price = "0.01 USD/min"
        unit = "1m"
        {ending}
        [bags.b]
        lengths = ["10m"]
    """)
    told = figures(world)
    assert (told["makespan_s"], told["cost_USD"]) == pytest.approx((600, cost))


def test_a_run_that_stops_at_a_time_is_paid_until_then() -> None:
    """Also when nobody was told anything in its last seconds."""
    text = """
        stop = { time = "90m" }
        [pools.p]
        max = 1
        price = "0.01 USD/min"
        unit = "1m"
        lease = "3h"
        [bags.b]
        tasks = 1
        length = "1d"
    """
    world = World(read_scenario(read_toml(text, "s"), "s", text, Path(), {}), 0)
    world.run()
    assert figures(world)["cost_USD"] == pytest.approx(0.90)
