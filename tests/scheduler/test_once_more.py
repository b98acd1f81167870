"""Rank and Concurrency hold for what is sent once more, too."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tailrace.bag.policy import BagPolicy, HostPolicy, Policy
from tailrace.pools.terms import Pool

from .stage import Stage, assigned

HOME = Pool("home", max=0)
ONE_MORE = "NumberOfReplicas < 2"


def said(**texts: str) -> BagPolicy:
    return BagPolicy(Policy(**texts))


def out_once(rank: str, **more: str) -> Stage:
    """A bag whose only task is out, and wanted once more."""
    stage = Stage(HOME)
    stage.host("a")
    policy = said(rank=rank, replication_requirements=ONE_MORE, **more)
    stage.submit(1, policy=policy, repeatable=True, trial_us=0, owner="bob")
    stage.offer("a")
    stage.wait(5)
    stage.wait(5)
    return stage


@pytest.mark.parametrize("refuses", [True, False])
def test_one_more_comes_before_lower_ranks_unless_a_higher_one_would_go_there(
    refuses: bool,
) -> None:
    stage = out_once("5")
    where = 'Host.Name == "nowhere"' if refuses else "true"
    stage.submit(5, policy=said(rank="10", job_requirements=where), trial_us=0)
    stage.submit(5, policy=said(rank="1"), trial_us=0)
    stage.host("b")
    assert [one.bag for one in stage.offer("b")] == ([1] if refuses else [2])


def test_what_a_host_prefers_comes_before_one_more_of_a_higher_rank() -> None:
    stage = out_once("5")
    stage.host("b")
    prefers = HostPolicy(host_rank='BOT.Owner == "ada" ? 1 : 0')
    stage.tell(replace(stage.seen["b"], says=prefers))
    stage.submit(3, policy=said(rank="1"), trial_us=0, owner="ada")
    assert [one.bag for one in stage.offer("b")] == [2]


def test_the_best_bag_bounds_what_others_send_once_more() -> None:
    stage = out_once("1", concurrency="8")
    stage.submit(5, policy=said(rank="9", concurrency="1"), trial_us=0)
    stage.host("big", cores=8)
    assert [one.bag for one in stage.offer("big")] == [2]


def test_one_more_that_is_best_bounds_what_comes_behind_it() -> None:
    stage = out_once("9", concurrency="1")
    stage.submit(5, policy=said(rank="1", concurrency="8"), trial_us=0)
    stage.host("big", cores=8)
    assert [one.bag for one in stage.offer("big")] == [1]


def test_a_bag_that_matches_only_by_what_waits_bounds_the_others() -> None:
    stage = Stage(HOME)
    stage.hosts("a")
    stage.host("big", cores=8)
    again = said(rank="9", concurrency="1", job_requirements='Job.Failures > 0 || Host.Name == "a"')
    stage.submit(1, policy=again, trial_us=0)
    (one,) = stage.offer("a")
    stage.fail(one)
    stage.submit(20, policy=said(rank="1", concurrency="8"), trial_us=0)
    assert [one.bag for one in stage.offer("big")] == [1]


def test_one_more_goes_where_the_task_failed_when_it_may_go_to_no_other_host() -> None:
    """The other of its kind would do for a task that was never sent, and not for this one."""
    stage = Stage(Pool("east", max=0), Pool("west", max=0))
    stage.hosts("e0", "e1", pool="east")
    stage.host("w0", pool="west")
    policy = said(
        job_requirements="!member(Host.Pool, Job.ReplicaPools)",
        replication_requirements="NumberOfReplicas < 2 && OldestReplicaAge > 1",
    )
    stage.submit(1, policy=policy, repeatable=True)
    (first,) = stage.offer("w0")
    stage.fail(first)
    assert [one.host for one in stage.offer("e0")] == ["e0"]
    assert stage.offer("e1") == stage.offer("w0") == []
    assert [one.host for one in assigned(stage.wait(5))] == ["w0"]
