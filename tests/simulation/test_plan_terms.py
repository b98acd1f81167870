"""A plan of machines that are leased: what is paid already is not charged again, and what is wanted
takes its time to come. What it foretells, and what came of it, in the virtual world."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tailrace.bag.tables import read_toml
from tailrace.knowledge.inquiry import Plan
from tailrace.scheduler import money
from tailrace.scheduler.events import PlanReady
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.world import World

LEASED = """
[pools.grid]
max = 10
reliable = false
returns = 0.85
detection = "deadline"
late_results = "ignore"
price = "1 SU/h"
unit = "1h"
lease = "40h"
startup = "3m"

[pools.cloud]
max = 3
price = "10 SU/h"
unit = "1h"
lease = "40h"
startup = "6m"

[bags.b]
tasks = 60
length = { law = "uniform", from = "10m", to = "20m" }
retries = { expired = 1000 }
replication = { strategy = "planned", prefer = "PREFER", every_s = 1e6, turnaround_s = 900 }
"""
BY_RESULT = """
[pools.grid]
max = 10
reliable = false
returns = 0.85
detection = "deadline"
late_results = "accept"
price = "10 SU/h"
unit = "1s"
billing = "per_result"
lease = "40h"

[bags.b]
tasks = 60
length = { law = "uniform", from = "10m", to = "20m" }
retries = { expired = 1000 }
replication = { strategy = "planned", prefer = "makespan", every_s = 1e6, turnaround_s = 900, \
cancel = false, patience_s = 1800 }
"""
SEEDS = 16


class Came(NamedTuple):
    """Of the first plan and what followed."""

    cost: float
    lasted_s: float


def planned(text: str, seed: int) -> tuple[Plan, Came]:
    """It holds until the end: no other is asked for."""
    told: list[tuple[Plan, int, int]] = []

    def watch(event: object, decisions: list[object], now: int) -> None:
        if isinstance(event, PlanReady) and event.plan is not None and not told:
            told.append((event.plan, spent(), now))

    def spent() -> int:
        state = world.scheduler.state
        return money.spent(state, state.bags[1], "SU")

    scenario = read_scenario(read_toml(text, "s"), "s", text, Path())
    world = World(scenario, seed, watch=watch)
    world.run()
    plan, before, now = told[0]
    return plan, Came((spent() - before) / 1e6, (max(world.records[0].done) - now) / 1e6)


def off(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Foretold less real, of cost and time: means and standard errors."""
    found = [planned(text, seed) for seed in range(SEEDS)]
    gaps = np.array([
        (plan.costs.mean / 1e6 - came.cost, plan.lasts.mean / 1e6 - came.lasted_s)
        for plan, came in found
    ])  # fmt: skip
    return gaps.mean(0), gaps.std(0, ddof=1) / SEEDS**0.5


@pytest.mark.parametrize("prefer", ["makespan", "cost"])
def test_what_a_plan_on_leases_foretells_comes_about(prefer: str) -> None:
    """A unit of each cheap machine would be 10 SU, one of a dear one as much."""
    gaps, errors = off(LEASED.replace("PREFER", prefer))
    assert abs(gaps[0]) < min(4 * errors[0], 2.0), (gaps, errors)
    assert abs(gaps[1]) < 4 * errors[1], (gaps, errors)


def test_losers_whose_results_are_not_accepted_cost_nothing() -> None:
    """They run on, and may come late: only what a task keeps is paid."""
    gaps, errors = off(BY_RESULT)
    assert abs(gaps[0]) < 4 * errors[0], (gaps, errors)
    assert errors[0] < 1, errors
