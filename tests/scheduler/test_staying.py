"""A policy may look at what leasing itself changes: no more is bought than it asks for, and what is
bought stays as long as it is paid, and while it would be asked for were it not there."""

from __future__ import annotations

from typing import Any

import pytest

from tailrace.bag.policy import BagPolicy, Policy
from tailrace.pools.terms import Billing, Pays, Pool
from tailrace.scheduler.decisions import Acquire, Assign, Release, Renew, Unmatched

from .stage import SECOND, Stage

HOUR = 3600 * SECOND
USD = 1_000_000
PRICED = Billing(USD, "USD", HOUR)
SPOT = Pool("spot", max=20, billing=PRICED, capacity={"cores": 1000})
FEW = "Pool.Machines < 3"


def grid(text: str) -> BagPolicy:
    return BagPolicy(Policy(grid_policy=text))


def of(stage: Stage, kind: type[Any]) -> list[int]:
    return [one.lease for one in stage.all if isinstance(one, kind)]


def asked(stage: Stage) -> list[str]:
    return [one.pool for one in stage.all if isinstance(one, Acquire)]


def at_work(pool: Pool, text: str, tasks: int = 9) -> tuple[Stage, list[Assign]]:
    """Each machine that was asked for has come, and has a task."""
    stage = Stage(pool)
    stage.submit(tasks, policy=grid(text), trial_us=0)
    sent = []
    for lease in of(stage, Acquire):
        stage.host(f"m{lease}", pool=pool.name, lease=lease)
        sent += stage.offer(f"m{lease}")
    return stage, sent


def end_all(stage: Stage, sent: list[Assign]) -> list[Assign]:
    """And what each machine gets next."""
    for one in sent:
        stage.succeed(one)
    return [new for one in sent for new in stage.offer(one.host)]


@pytest.mark.parametrize(
    "billing", [PRICED, Billing(), Billing(USD, pays=Pays.ACCEPTED)], ids=["time", "free", "result"]
)
def test_as_many_are_asked_for_as_the_policy_says_and_they_stay(billing: Billing) -> None:
    stage, sent = at_work(Pool("p", max=20, billing=billing, lease_us=10 * HOUR), FEW)
    assert of(stage, Acquire) == [1, 2, 3]
    assert len(end_all(stage, sent)) == 3
    for _ in range(9):
        stage.wait(3590)
    assert of(stage, Acquire) == [1, 2, 3] and of(stage, Release) == []


def test_no_more_is_bought_of_any_pool_than_leaves_the_money_the_policy_keeps() -> None:
    stage = Stage(SPOT, Pool("other", max=20, billing=PRICED), Pool("kept", max=1, billing=PRICED))
    policy = grid('BudgetLeft > 4 || Pool.Name == "kept"')
    stage.submit(30, policy=policy, trial_us=0, budget={"USD": 10 * USD})
    assert asked(stage) == ["spot"] * 6 + ["kept"]
    stage.wait(60)
    assert len(asked(stage)) == 7 and of(stage, Release) == []


def test_machines_of_one_pool_count_before_another_is_asked() -> None:
    stage = Stage(SPOT, Pool("other", max=20, billing=PRICED))
    stage.submit(30, policy=grid("BudgetLeft > 4"), trial_us=0, budget={"USD": 10 * USD})
    assert asked(stage) == ["spot"] * 6


def test_what_is_paid_stays_to_the_end_of_its_unit_when_the_policy_says_no() -> None:
    stage, sent = at_work(SPOT, "true", tasks=3)
    stage.set_policy(1, grid("false"))
    stage.succeed(sent[0])
    stage.offer("m1")
    stage.wait(3539)
    assert of(stage, Release) == []
    stage.wait(1)
    assert of(stage, Release) == [1], "the others work"


def test_what_costs_nothing_goes_at_once_when_the_policy_says_no() -> None:
    stage, sent = at_work(Pool("home", max=3), "true", tasks=3)
    stage.succeed(sent[0])
    assert of(stage, Release) == []
    stage.set_policy(1, grid("false"))
    assert of(stage, Release) == [1], "the others work"


def test_machines_that_work_are_renewed_as_if_each_were_not_there() -> None:
    stage, _ = at_work(SPOT, FEW)
    stage.wait(3300)
    assert of(stage, Renew) == [1, 2, 3]


def test_of_too_many_those_that_work_stay_and_of_these_the_oldest() -> None:
    """The policy has changed since they were leased."""
    stage, sent = at_work(SPOT, "Pool.Machines < 6")
    stage.set_policy(1, grid(FEW))
    stage.wait(3300)
    assert of(stage, Renew) == [1, 2, 3]
    assert len(sent) == 6 and of(stage, Release) == []


@pytest.mark.parametrize("text", ["false", "Pool.Machines < 2"])
def test_a_lease_is_renewed_within_a_unit_that_is_paid(text: str) -> None:
    stage, _ = at_work(Pool("spot", max=3, billing=PRICED, lease_us=HOUR // 4), "true")
    stage.set_policy(1, grid(text))
    stage.wait(810)
    assert of(stage, Renew) == [1, 2, 3]


def test_a_bag_whose_machines_all_are_on_their_way_is_not_told_that_none_is_asked_for() -> None:
    stage = Stage(SPOT)
    stage.submit(9, policy=grid(FEW), trial_us=0)
    for _ in range(9):
        stage.wait(61)
    assert not [one for one in stage.all if isinstance(one, Unmatched)]
    stage.set_policy(1, grid("false"))
    for lease in of(stage, Acquire):
        stage.gone(lease)
    for _ in range(3):
        stage.wait(61)
    assert [one for one in stage.all if isinstance(one, Unmatched)]


def test_idle_machines_of_a_free_pool_go_when_fewer_tasks_are_left_than_there_are() -> None:
    stage, sent = at_work(Pool("home", max=9), FEW, tasks=3)
    for one in sent[:2]:
        stage.succeed(one)
    stage.set_policy(1, grid("Pool.Machines < 2 || Pool.Machines == 2"))  # which is the same
    assert of(stage, Release) == [1, 2] and of(stage, Acquire) == [1, 2, 3]
