"""What policies look at may change though nothing happens to the bag: then, too, hosts that were
sent away are looked at again, and no more often than that."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tailrace.bag.policy import BagPolicy, HostPolicy, Policy
from tailrace.bag.terms import Retries
from tailrace.pools.terms import Pool
from tailrace.scheduler.events import Change

from .stage import SECOND, Stage, assigned
from .test_looking import HOME, HOUR, pass_time, said

FEW = said(job_requirements="Queue.BOTsInQueue < 2")
DAY = 24 * HOUR


def wakeups(stage: Stage, until_us: int) -> list[int]:
    """When somebody has something to look at, in seconds."""
    found = []
    while (wakes := stage.scheduler.next_wakeup()) is not None and wakes <= until_us:
        stage.now = max(wakes, stage.now)
        found.append(stage.now // SECOND)
        stage.wait(0)
    stage.now = until_us
    return found


@pytest.mark.parametrize("change", [Change.CANCEL, Change.PAUSE])
def test_a_bag_that_waits_no_more_makes_room_for_who_counts_them(change: Change) -> None:
    stage = Stage(HOME)
    stage.host("a")
    other = stage.submit(1, needs={"cores": 8000}, trial_us=0)
    few = stage.submit(1, policy=FEW, trial_us=0)
    assert stage.offer("a") == []
    assert assigned(stage.change(other, change)) == []
    assert [one.bag for one in pass_time(stage, 5 * SECOND)] == [few]


def test_a_bag_whose_last_task_is_sent_waits_no_more() -> None:
    stage = Stage(HOME)
    stage.host("a")
    stage.host("large", cores=8)
    other = stage.submit(1, needs={"cores": 8000}, trial_us=0)
    few = stage.submit(1, policy=FEW, trial_us=0)
    assert stage.offer("a") == []
    assert [one.bag for one in stage.offer("large")] == [other]
    assert [one.bag for one in pass_time(stage, 5 * SECOND)] == [few]


def test_a_bag_whose_waiting_task_got_its_result_late_waits_no_more() -> None:
    stage = Stage(HOME)
    stage.hosts("a", "b")
    retries = Retries(expired=9)
    stage.submit(1, trial_us=0, timeout_us=10 * SECOND, repeatable=True, retries=retries)
    (late,) = stage.offer("a")
    stage.wait(20)
    few = stage.submit(1, policy=said(job_requirements="Queue.BOTsInQueue < 2", rank="1"),
                       trial_us=0, pools=("home",))  # fmt: skip
    assert stage.scheduler.state.queued == 2
    stage.succeed(late)
    assert stage.scheduler.state.queued == 1
    assert [one.bag for one in stage.offer("b")] == [few]


def test_who_goes_on_without_anything_to_send_is_not_counted() -> None:
    stage = Stage(HOME)
    stage.hosts("a", "b")
    other = stage.submit(1, trial_us=0)
    stage.offer("a")
    stage.change(other, Change.PAUSE)
    stage.change(other, Change.RESUME)
    stage.submit(1, policy=FEW, trial_us=0)
    assert len(stage.offer("b")) == 1


def test_one_more_machine_is_seen_by_who_counts_them() -> None:
    stage = Stage(HOME)
    stage.host("a")
    stage.submit(2, policy=said(job_requirements="Pool.Machines >= 2"), trial_us=0)
    assert stage.offer("a") == []
    stage.host("b")
    assert [one.host for one in pass_time(stage, 5 * SECOND)] == ["a"]


def test_however_often_bags_come_and_go_who_counts_them_looks_once_a_second() -> None:
    stage = Stage(HOME)
    stage.host("a")
    stage.submit(1, policy=said(job_requirements="Queue.BOTsInQueue > 9"), trial_us=0)
    assert stage.offer("a") == []
    wakeups(stage, 100 * SECOND)
    for _ in range(20):
        stage.change(stage.submit(1, needs={"cores": 8000}, trial_us=0), Change.CANCEL)
    assert wakeups(stage, HOUR) == [101]


@pytest.mark.parametrize("by_host", [False, True])
def test_at_midnight_those_are_looked_at_that_had_enough_for_the_day(by_host: bool) -> None:
    stage = Stage(HOME)
    stage.host("a")
    enough = "Host.JobsToday < 1"
    if by_host:
        stage.tell(replace(stage.seen["a"], says=HostPolicy(host_requirements=enough)))
    stage.submit(5, policy=None if by_host else said(job_requirements=enough), trial_us=0)
    (sent,) = stage.offer("a")
    stage.wait(10)
    stage.succeed(sent)
    assert stage.offer("a") == []
    wakeups(stage, 100 * SECOND)  # what has just ended is looked at, and told
    assert wakeups(stage, DAY - 1) == []
    (sent,) = pass_time(stage, DAY)
    assert sent.host == "a"


def test_what_fades_is_looked_at_by_the_hour() -> None:
    """Ten seconds of good work are eight after eight hours."""
    stage = Stage(HOME)
    stage.host("a")
    stage.submit(5, policy=said(job_requirements="Host.RecentGoodSeconds < 8"), trial_us=0)
    (sent,) = stage.offer("a")
    stage.wait(10)
    stage.succeed(sent)
    assert stage.offer("a") == []
    wakeups(stage, 100 * SECOND)
    before = len(stage.all)
    assert wakeups(stage, 7 * HOUR + 1) == [3600 * hour for hour in range(1, 8)]
    assert assigned(stage.all[before:]) == []
    assert [one.host for one in pass_time(stage, 8 * HOUR)] == ["a"]


@pytest.mark.parametrize(
    "policy",
    [
        BagPolicy(Policy(job_requirements="Host.Succeeded > 5")),
        BagPolicy(Policy(job_requirements="Host.ErrorRate > 0.5", rank="Host.JobsToday")),
        BagPolicy(Policy(job_requirements='Host.Pool == "x"')),
    ],
)
def test_nobody_wakes_for_a_policy_that_sees_nothing_change(policy: BagPolicy) -> None:
    stage = Stage(HOME, Pool("y", max=0))
    stage.host("a")
    stage.submit(1, policy=policy, trial_us=0)
    assert stage.offer("a") == []
    assert wakeups(stage, 9 * DAY) == [60], "when it says that no host matches"
