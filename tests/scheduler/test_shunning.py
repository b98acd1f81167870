"""Machines with a price that a bag's policy, or their own, sends away are not paid for ever."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from tailrace.bag.policy import BagPolicy, HostPolicy, Plain, Policy
from tailrace.pools.terms import Billing, Pool
from tailrace.scheduler.decisions import Acquire, Assign, Release, Renew
from tailrace.scheduler.events import BagChanged, Change

from .stage import SECOND, Stage

HOUR = 3600 * SECOND
SPOT = Pool("spot", max=10, billing=Billing(1, "USD", HOUR), lease_us=HOUR, reliable=False)
OWN = Pool("own", max=10, billing=Billing(4, "USD", HOUR), lease_us=HOUR)


class World:
    """Machines come when they are asked for, and go when they are given back."""

    def __init__(self, *pools: Pool, says: HostPolicy | None = None) -> None:
        self.stage, self.says = Stage(*pools), says
        self.heard = 0

    def pass_hours(self, hours: float) -> None:
        until = self.stage.now + int(hours * HOUR)
        self._listen()
        while (wakes := self.stage.scheduler.next_wakeup()) is not None and wakes <= until:
            self.stage.now = max(wakes, self.stage.now)
            self.stage.wait(0)
            self._listen()
        self.stage.now = until

    def _listen(self) -> None:
        while self.heard < len(self.stage.all):
            one = self.stage.all[self.heard]
            self.heard += 1
            if isinstance(one, Acquire):
                self._come(one)
            elif isinstance(one, Release):
                self.stage.gone(one.lease)

    def _come(self, one: Acquire) -> None:
        name = f"{one.pool}{one.lease}"
        self.stage.host(name, pool=one.pool, lease=one.lease)
        if self.says is not None:
            self.stage.tell(replace(self.stage.seen[name], says=self.says))
        self.stage.offer(name)

    def count(self) -> Counter[str]:
        return Counter(
            f"{type(one).__name__}{f' {one.pool}' if isinstance(one, Acquire) else ''}"
            for one in self.stage.all
            if isinstance(one, (Acquire, Renew, Assign))
        )


@pytest.mark.parametrize(
    "policy",
    [
        Policy(concurrency='Host.Pool == "spot" ? 0 : 5'),
        Policy(concurrency='Host.Pool == "spot" ? 0.5 : 5'),
        Policy(deadline='Host.Pool == "spot" ? BOT.JobsLeft - 1000 : 3600'),
    ],
)
def test_no_machine_is_asked_for_that_may_hold_no_task(policy: Policy) -> None:
    world = World(SPOT, OWN)
    world.stage.submit(5, policy=BagPolicy(policy), trial_us=0)
    world.pass_hours(0.5)
    assert world.count() == {"Acquire own": 5, "Assign": 5}


def test_the_pool_that_would_do_is_asked_when_others_turned_out_wrong() -> None:
    """By their names, which are known only when they have come; until their hour ends they stay."""
    world = World(SPOT, OWN)
    world.stage.submit(5, policy=BagPolicy(Policy(), Plain(hosts=("own*",))), trial_us=0)
    world.pass_hours(0.9)
    assert world.count() == {"Acquire spot": 5, "Acquire own": 5, "Assign": 5}
    world.pass_hours(1)
    released = [one for one in world.stage.all if isinstance(one, Release)]
    assert len(released) == 5
    assert {one.why for one in released} == {"idle at the end of a paid hour"}


@pytest.mark.parametrize("by", ["the bag", "the machine"])
def test_a_pool_whose_machines_are_all_sent_away_is_asked_less_and_less_often(by: str) -> None:
    """And for one at a time: five hours of five machines would cost as much as two days do."""
    says = HostPolicy(host_requirements='BOT.Name == "zz"') if by == "the machine" else None
    world = World(SPOT, says=says)
    policy = BagPolicy(Policy(), Plain(hosts=("zz*",))) if by == "the bag" else None
    world.stage.submit(5, policy=policy, trial_us=0)
    world.pass_hours(48)
    count = world.count()
    assert count["Renew"] == 0
    assert 5 < count["Acquire spot"] < 15


def test_another_policy_asks_such_a_pool_at_once() -> None:
    world = World(SPOT)
    policy = BagPolicy(Policy(), Plain(hosts=("zz*",)))
    world.stage.submit(5, policy=policy, trial_us=0)
    world.pass_hours(1.1)
    assert world.count() == {"Acquire spot": 5}
    other = BagPolicy(Policy(), Plain(hosts=("spot*",)))
    world.stage.tell(BagChanged(1, Change.POLICY, policy=other))
    world.pass_hours(0.1)
    assert world.count() == {"Acquire spot": 10, "Assign": 5}


def test_machines_that_are_sent_away_for_what_they_did_are_replaced() -> None:
    """Each runs one task; that says nothing of another."""
    world = World(SPOT)
    policy = BagPolicy(Policy(job_requirements="Host.Succeeded < 1"))
    world.stage.submit(8, policy=policy, trial_us=0, most_running=2)
    for _ in range(4):
        world.pass_hours(0.01)
        for one in [one for one in world.stage.all if isinstance(one, Assign)]:
            if one.attempt in world.stage.scheduler.state.attempts:
                world.stage.succeed(one)
                world.stage.offer(one.host)
    assert world.stage.phase(1) == "finished"
    assert world.count()["Acquire spot"] == 8


def test_machines_are_leased_and_kept_for_tasks_that_go_there_by_lot() -> None:
    """None is drawn for a machine that is not there yet; and one that drew a bad one stays for the
    next, at whose minute another unit is paid."""
    by_minute = Pool("new", max=2, billing=Billing(1, "USD", 60 * SECOND), lease_us=HOUR)
    world = World(by_minute)
    world.stage.submit(9, policy=BagPolicy(Policy(job_requirements="Lottery < 0.1")), trial_us=0)
    world.pass_hours(2)
    count = world.count()
    assert (count["Acquire new"], count["Assign"]) == (2, 2)


def test_one_that_no_lot_would_bring_a_task_is_not_kept() -> None:
    requires = 'Lottery < 0.5 && Host.Name == "nowhere"'
    world = World(OWN)
    world.stage.submit(9, policy=BagPolicy(Policy(job_requirements=requires)), trial_us=0)
    world.pass_hours(100)
    assert world.count()["Renew"] < 3
    assert not world.count()["Assign"]
