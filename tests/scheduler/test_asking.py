"""Pools are asked for machines only if a task could go to them, by the policy of its bag."""

from __future__ import annotations

from collections import Counter

import pytest

from tailrace.bag.outcome import Outcome
from tailrace.bag.policy import BagPolicy, Plain, Policy
from tailrace.pools.terms import Billing, Pool
from tailrace.scheduler.decisions import Acquire, AnyDecision, Assign
from tailrace.scheduler.events import LeaseChanged, LeaseState

from .stage import Stage, assigned

CENT = 10_000
PRICED = Billing(CENT)
SPOT = Pool("spot", max=50, reliable=False, billing=PRICED, capacity={"cores": 1000})
OWNED = Pool("owned", max=50, billing=Billing(10 * CENT), capacity={"cores": 1000})


def said(**texts: str) -> BagPolicy:
    return BagPolicy(Policy(**texts))


def asked(decisions: list[AnyDecision]) -> Counter[str]:
    return Counter(one.pool for one in decisions if isinstance(one, Acquire))


def start(stage: Stage) -> None:
    """Every machine that was asked for comes, and asks for work."""
    leases = {one.lease: one.pool for one in stage.all if isinstance(one, Acquire)}
    for lease, pool in leases.items():
        name = f"{pool}{lease}"
        if name not in stage.seen:
            stage.tell(LeaseChanged(lease, LeaseState.STARTING))
            stage.host(name, pool=pool, lease=lease)
            stage.offer(name)


def out(stage: Stage) -> list[Assign]:
    live = stage.scheduler.state.attempts
    return [one for one in stage.all if isinstance(one, Assign) and one.attempt in live]


def test_no_machine_is_leased_that_would_be_sent_away() -> None:
    """Once preempted, a task may go to the owned ones alone; those never sent to spot alone."""
    stage = Stage(SPOT, OWNED)
    policy = said(job_requirements='(Job.Preemptions > 0) == (Host.Pool == "owned")')
    stage.submit(10, policy=policy, trial_us=0)
    assert asked(stage.all) == {"spot": 10}
    start(stage)
    first = out(stage)
    assert len(first) == 10
    before = len(stage.all)
    for one in first[:3]:
        stage.end(one, Outcome.PREEMPTED)
        stage.offer(one.host)
    stage.wait(30)
    assert asked(stage.all[before:]) == {"owned": 3}
    start(stage)
    assert Counter(one.host[:4] for one in out(stage)) == {"spot": 7, "owne": 3}


def test_machines_on_their_way_are_no_reason_not_to_ask_where_they_may_not_help() -> None:
    stage = Stage(SPOT, OWNED)
    policy = said(job_requirements='(Job.Preemptions > 0) == (Host.Pool == "owned")')
    stage.submit(2, policy=policy, trial_us=0)
    (lease, _) = (one.lease for one in stage.all if isinstance(one, Acquire))
    stage.tell(LeaseChanged(lease, LeaseState.STARTING))
    stage.host("first", pool="spot", lease=lease)
    (sent,) = stage.offer("first")
    before = len(stage.all)
    stage.end(sent, Outcome.PREEMPTED)  # while the other spot machine has not called yet
    assert asked(stage.all[before:]) == {"owned": 1}


def test_a_machine_is_leased_for_what_the_policy_wants_once_more() -> None:
    """In the pool where the task is not; the cheaper one may not have it."""
    stage = Stage(SPOT, OWNED)
    policy = said(
        job_requirements='NumberOfReplicas == 0 ? Host.Pool == "spot" : Host.Pool == "owned"',
        replication_requirements="NumberOfReplicas < 2 && OldestReplicaAge > 100",
    )
    stage.submit(3, policy=policy, repeatable=True, trial_us=0)
    start(stage)
    assert asked(stage.all) == {"spot": 3}
    assert len(out(stage)) == 3
    for _ in range(5):
        stage.wait(60)
    assert asked(stage.all) == {"spot": 3, "owned": 3}
    start(stage)
    assert Counter(one.host[:4] for one in out(stage)) == {"spot": 3, "owne": 3}


@pytest.mark.parametrize(
    "policy",
    [
        BagPolicy(Policy(), Plain(tasks_per_host=1)),
        said(concurrency="Host.NumCpus / 4"),
        said(concurrency="Host.NumCpus - 3"),
    ],
)
def test_as_many_machines_are_leased_as_hold_all_tasks_by_the_policy(policy: BagPolicy) -> None:
    """And room that a machine has beyond that is no room."""
    large = Pool("large", max=20, billing=PRICED, capacity={"cores": 4000})
    stage = Stage(large)
    stage.submit(16, policy=policy, trial_us=0, arrived=3)
    assert asked(stage.all) == {"large": 3}
    for lease in (one.lease for one in list(stage.all) if isinstance(one, Acquire)):
        stage.host(f"m{lease}", pool="large", lease=lease, cores=4)
        assert len(stage.offer(f"m{lease}")) == 1
        assert stage.offer(f"m{lease}") == []
    stage.arrive(1, 16)
    assert asked(stage.all) == {"large": 16}


def test_room_beside_the_task_itself_is_no_room_for_one_more() -> None:
    """Its host has free cores, but two attempts of a task never run on one host."""
    large = Pool("large", max=9, billing=PRICED, capacity={"cores": 4000})
    stage = Stage(large)
    policy = said(replication_requirements="NumberOfReplicas < 2 && OldestReplicaAge > 100")
    stage.submit(1, policy=policy, repeatable=True, trial_us=0)
    assert asked(stage.all) == {"large": 1}
    (lease,) = (one.lease for one in stage.all if isinstance(one, Acquire))
    stage.tell(LeaseChanged(lease, LeaseState.STARTING))
    stage.host("first", pool="large", lease=lease, cores=4)
    (sent,) = stage.offer("first")
    stage.offer("first")
    for _ in range(5):
        stage.wait(60)
        stage.offer("first")
    assert asked(stage.all) == {"large": 2}
    assert [one.index for one in out(stage)] == [sent.index]


def test_a_host_is_asked_about_all_that_are_wanted_and_look_alike() -> None:
    """One among a thousand may go to the host that is idle: it is found."""
    home, spot = Pool("home", max=0), Pool("spot", max=0, reliable=False)
    stage = Stage(home, spot, check=False)
    names = [f"h{number}" for number in range(300)]
    stage.hosts(*names, pool="home")
    stage.host("spot", pool="spot")
    policy = said(
        job_requirements="!member(Host.Pool, Job.ReplicaPools)",
        replication_requirements="NumberOfReplicas < 2 && OldestReplicaAge > 5",
    )
    stage.submit(301, policy=policy, repeatable=True, trial_us=0)
    for name in names:
        assert stage.offer(name)
    (on_spot,) = stage.offer("spot")
    stage.host("new", pool="home")
    stage.offer("new")
    sent = [one for _ in range(4) for one in assigned(stage.wait(30))]
    assert [(one.index, one.host) for one in sent] == [(on_spot.index, "new")]


def test_what_is_wanted_once_more_has_the_rank_of_its_bag() -> None:
    home = Pool("home", max=0)
    for rank in ("5", "0"):
        stage = Stage(home)
        stage.hosts("a", "b")
        policy = said(
            rank=rank, replication_requirements="NumberOfReplicas < 2 && OldestReplicaAge > 5"
        )
        first = stage.submit(1, policy=policy, repeatable=True, trial_us=0)
        stage.offer("a")
        for _ in range(3):
            stage.wait(30)
        other = stage.submit(9, trial_us=0)
        assert [one.bag for one in stage.offer("b")] == [first if rank == "5" else other]
