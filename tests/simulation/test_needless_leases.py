"""No machine is paid for a task that a host takes which is there already and costs nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailrace.bag.terms import Strategy
from tailrace.pools.terms import Billing, Pool
from tailrace.scheduler import admission
from tailrace.scheduler.decisions import Acquire
from tailrace.scheduler.state import Bag, State
from tailrace.simulation.laws import Constant, Exponential
from tailrace.simulation.scenario import Alternation, Machines, Scenario, Stopping
from tailrace.simulation.world import World

from .test_world import bag, pool

CLOUD = Pool("cloud", max=4, billing=Billing(100_000, "USD"))
NTDMR = Strategy("ntdmr", {"n": 2, "t_s": 600.0, "d_s": 3600.0, "mr": 0.2, "turnaround_s": 1800.0})


class Bursar:
    """Looks at each lease with a price when it is taken: could the task have begun elsewhere?"""

    def __init__(self) -> None:
        self.world: World | None = None
        self.leased = 0
        self.told: list[str] = []

    def __call__(self, event: Any, decisions: list[Any], now: int) -> None:
        for one in decisions:
            if isinstance(one, Acquire) and self.world is not None:
                self._look(self.world.scheduler.state, one, now)

    def _look(self, state: State, one: Acquire, now: int) -> None:
        bag, terms = state.bags[one.bag], state.pools[one.pool]
        self.leased += 1
        if not waits(state, bag, reliable=terms.reliable):
            self.told.append(f"lease {one.lease} at {now} while nothing waits for it")
        if free := idle_for(state, bag):
            self.told.append(f"lease {one.lease} at {now} while {free} is idle")


def waits(state: State, bag: Bag, *, reliable: bool) -> bool:
    """New tasks where the bag may begin; or those that its strategy wants there."""
    strategy = bag.replication
    if strategy is None:
        return bag.unsent > 0
    begins = strategy.begins_on(state, bag, reliable=reliable)
    return (begins and bag.unsent > 0) or strategy.lacks(bag, reliable=reliable) > 0


def idle_for(state: State, bag: Bag) -> str:
    """A host without a lease that holds nothing, and may be sent something that waits."""
    groups = bag.requeue.groups
    for host in state.able.values():
        idle = host.lease is None and host.offer is not None and not host.live
        if idle and (bag.fresh.left or bag.requeue.plain):
            return host.id
        if idle and any(admission.may_go(state, bag, host, group) for group in groups):
            return host.id
    return ""


def watched(scenario: Scenario, seed: int) -> tuple[World, Bursar]:
    bursar = Bursar()
    world = World(scenario, seed, check=True, watch=bursar)
    bursar.world = world
    world.run()
    return world, bursar


def failing(count: int, up_s: float, *, reliable: bool = True) -> Machines:
    life = Alternation(Exponential(up_s), Constant(600.0))
    return pool(count, terms=Pool("grid", max=0, reliable=reliable), failures=life)


@pytest.mark.parametrize("seed", range(5))
def test_lost_tasks_go_to_the_free_machines_that_are_idle(seed: int) -> None:
    pools = (failing(20, 3600.0), Machines(CLOUD, 0))
    world, bursar = watched(Scenario(pools, (bag(10, Constant(1800.0)),)), seed)
    assert world.records[0].restarts
    assert bursar.leased == 0


@pytest.mark.parametrize("seed", range(4))
def test_reliable_machines_are_leased_only_for_what_replication_wants_there(seed: int) -> None:
    tasks = bag(60, Constant(1200.0), repeatable=True, replication=NTDMR)
    pools = (failing(20, 3600.0, reliable=False), Machines(CLOUD, 0))
    world, bursar = watched(Scenario(pools, (tasks,)), seed)
    assert world.records[0].restarts > 30
    assert bursar.told == []


def test_one_is_leased_for_what_replication_wants_when_all_others_are_away() -> None:
    """Three that fail have had the only task; it waits for a reliable one."""
    given = bag(1, Exponential(600.0), repeatable=True, replication=NTDMR)
    pools = (failing(3, 900.0, reliable=False), Machines(CLOUD, 0))
    _, bursar = watched(Scenario(pools, (given,)), 234)
    assert bursar.leased and bursar.told == []


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.integers(1, 8), st.integers(1, 20), st.sampled_from([900.0, 3600.0, 20_000.0]),
    st.sampled_from([None, NTDMR]), st.integers(0, 2**32),
)  # fmt: skip
def test_none_is_leased_while_one_is_idle_that_may_have_the_task(
    machines: int, tasks: int, up_s: float, replication: Strategy | None, seed: int
) -> None:
    given = bag(tasks, Exponential(600.0), repeatable=True, replication=replication)
    pools = (failing(machines, up_s, reliable=replication is None), Machines(CLOUD, 0))
    stop = Stopping(time_us=10**12)
    _, bursar = watched(Scenario(pools, (given,), stop=stop), seed)
    assert bursar.told == []
