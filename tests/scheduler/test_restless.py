"""Policies that look at what changes with each task that is sent: one large offer passes no bound
that many small ones would keep."""

from __future__ import annotations

from collections import Counter

import pytest

from tailrace.bag.columns import Columns
from tailrace.bag.outcome import Outcome
from tailrace.bag.policy import BagPolicy, HostPolicy, Policy
from tailrace.pools.terms import Pool
from tailrace.scheduler.events import HostSeen

from .stage import Stage, assigned

HOME = Pool("home", max=0)
BOUNDS = {
    "BOT.JobsRunning < 10": 10,
    "Host.Running < 10": 10,
    "Host.RunningOfBot < 7": 7,
    "Host.JobsToday < 5": 5,
    "BOT.JobsQueued > 190": 10,
}


def said(**texts: str) -> BagPolicy:
    return BagPolicy(Policy(**texts))


def stage_with(cores: int = 64, says: HostPolicy | None = None) -> Stage:
    stage = Stage(HOME)
    stage.host("large", cores=cores)
    if says is not None:
        stage.tell(HostSeen("large", "home", "linux", {"cores": cores * 1000}, says=says))
    return stage


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("first", ["the host", "the bag"])
def test_a_large_offer_passes_no_bound_of_the_bag(bound: str, first: str) -> None:
    stage = stage_with()
    if first == "the host":
        stage.offer("large")
    stage.submit(200, policy=said(job_requirements=bound), trial_us=0)
    if first == "the bag":
        stage.offer("large")
    assert len(assigned(stage.all)) == BOUNDS[bound]


def test_a_large_offer_passes_no_bound_of_the_machines_owner() -> None:
    stage = stage_with(says=HostPolicy(host_requirements="Host.RunningOfBot < 3"))
    for _ in range(3):
        stage.submit(50, trial_us=0)
    assert Counter(one.bag for one in stage.offer("large")) == {1: 3, 2: 3, 3: 3}


def test_who_stops_there_leaves_the_rest_to_others() -> None:
    stage = stage_with()
    stage.submit(200, policy=said(job_requirements="BOT.JobsRunning < 10", rank="1"), trial_us=0)
    stage.submit(200, trial_us=0)
    assert Counter(one.bag for one in stage.offer("large")) == {1: 10, 2: 54}


def test_a_concurrency_that_falls_with_what_is_sent_is_kept() -> None:
    stage = stage_with()
    stage.submit(200, policy=said(concurrency="20 - BOT.JobsRunning"), trial_us=0)
    assert len(stage.offer("large")) == 10


def test_what_waits_for_another_attempt_passes_no_bound_either() -> None:
    stage = stage_with()
    stage.submit(40, policy=said(job_requirements="BOT.JobsRunning < 10"), trial_us=0)
    for _ in range(4):
        for sent in stage.offer("large"):
            stage.end(sent, Outcome.PREEMPTED)
    assert len(stage.offer("large")) == 10


def test_nor_does_what_has_parameters() -> None:
    stage = stage_with()
    columns = Columns(("size",), ((1,), (9,)), bytes([0, 1] * 50))
    policy = BagPolicy(
        Policy(job_requirements="Params.size > 5 && BOT.JobsRunning < 10"),
        params={"size": (1, 9)},
    )
    stage.submit(100, columns=columns, policy=policy, trial_us=0)
    assert [one.index for one in stage.offer("large")] == list(range(1, 21, 2))


def test_each_place_of_a_large_host_has_its_own_lot() -> None:
    stage = stage_with(cores=1000)
    stage.submit(5000, policy=said(job_requirements="Lottery < 0.25"), trial_us=0)
    assert 200 < len(stage.offer("large")) < 300
