"""One host with many cores is shared as many with one are: nobody takes all of it in one offer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tailrace.bag.policy import BagPolicy, HostPolicy, Policy
from tailrace.pools.terms import Pool
from tailrace.scheduler.decisions import Assign
from tailrace.scheduler.events import HostSeen

from .stage import Stage

HOME = Pool("home", max=0)


def stage_with(cores: int = 64, says: HostPolicy | None = None) -> Stage:
    """It calls, and waits for work; or asks for it later."""
    stage = Stage(HOME)
    stage.host("large", cores=cores)
    if says is not None:
        stage.tell(HostSeen("large", "home", "linux", {"cores": cores * 1000}, says=says))
    return stage


def submit(stage: Stage, owner: str, count: int = 200, *, rank: str = "", **terms: Any) -> int:
    policy = BagPolicy(Policy(rank=rank)) if rank else None
    terms = {"needs": {"cores": 1000}, "trial_us": 0, **terms}
    return stage.submit(count, owner=owner, policy=policy, **terms)


def by_bag(sent: list[Assign]) -> dict[int, int]:
    return dict(Counter(one.bag for one in sent))


def test_two_owners_have_half_each_of_one_large_host() -> None:
    stage = stage_with()
    submit(stage, "ann")
    submit(stage, "bob")
    assert by_bag(stage.offer("large")) == {1: 32, 2: 32}


def test_so_have_bags_of_one_owner_by_their_weights() -> None:
    stage = stage_with(60)
    submit(stage, "ann")
    submit(stage, "ann", weight=2.0)
    assert by_bag(stage.offer("large")) == {1: 20, 2: 40}


def test_fifty_bags_of_one_owner_have_no_more_of_it_than_one_of_another() -> None:
    stage = stage_with(100)
    for _ in range(50):
        submit(stage, "ann")
    one = submit(stage, "bob")
    sent = by_bag(stage.offer("large"))
    assert sent.pop(one) == 50 and set(sent.values()) == {1}


def test_who_holds_less_elsewhere_catches_up_first() -> None:
    stage = stage_with()
    stage.host("other", cores=20)
    submit(stage, "ann")
    assert len(stage.offer("other")) == 20
    submit(stage, "bob")
    assert by_bag(stage.offer("large")) == {1: 22, 2: 42}


def test_a_higher_rank_takes_all_it_can_and_the_others_share_the_rest() -> None:
    stage = stage_with()
    submit(stage, "ann")
    submit(stage, "bob")
    submit(stage, "ann", 24, rank="1")
    assert by_bag(stage.offer("large")) == {3: 24, 2: 32, 1: 8}


def test_what_nobody_else_may_take_goes_to_who_can() -> None:
    stage = stage_with()
    submit(stage, "ann")
    submit(stage, "bob", 5)
    submit(stage, "eve", needs={"cores": 65_000})
    assert by_bag(stage.offer("large")) == {1: 59, 2: 5}


@pytest.mark.parametrize("judged", ["", "0 * Host.NumCpus", "0 * BOT.JobsLeft"])
def test_it_is_shared_however_the_ranks_are_found(judged: str) -> None:
    stage = stage_with()
    submit(stage, "ann", rank=judged)
    submit(stage, "bob")
    assert by_bag(stage.offer("large")) == {1: 32, 2: 32}


def test_it_is_shared_where_the_host_prefers_some() -> None:
    stage = stage_with(says=HostPolicy(host_rank='BOT.Owner == "eve" ? 1 : 0'))
    submit(stage, "ann")
    submit(stage, "bob")
    submit(stage, "eve", 24)
    assert by_bag(stage.offer("large")) == {1: 20, 2: 20, 3: 24}


RESTLESS = {
    "10 - Host.Running": {1: 10, 2: 54},
    "Host.RunningOfBot < 7 ? 1 : -1": {1: 7, 2: 57},
    "10 - BOT.JobsRunning": {1: 10, 2: 54},
    "1 - Host.JobsToday": {1: 1, 2: 63},
    "BOT.JobsQueued > 190 ? 1 : -1": {1: 10, 2: 54},
}


@pytest.mark.parametrize("rank", RESTLESS)
def test_a_rank_that_falls_with_each_that_is_sent_lets_others_come_between(rank: str) -> None:
    stage = stage_with()
    submit(stage, "ann", rank=rank)
    submit(stage, "bob", rank="0.5")
    assert by_bag(stage.offer("large")) == RESTLESS[rank]


def test_so_does_what_the_host_prefers() -> None:
    prefers = 'BOT.Owner == "ann" && Host.RunningOfBot < 7 ? 1 : 0'
    stage = stage_with(says=HostPolicy(host_rank=prefers))
    submit(stage, "ann", rank="-1")
    submit(stage, "bob")
    assert by_bag(stage.offer("large")) == {1: 7, 2: 57}


@pytest.mark.parametrize("bags", [3, 10, 40, 64])
def test_where_many_are_asked_for_their_ranks_it_is_shared_nearly_as_evenly(bags: int) -> None:
    stage = stage_with()
    for _ in range(bags):
        submit(stage, "ann", rank="-BOT.JobsRunning")
    sent = by_bag(stage.offer("large"))
    assert sum(sent.values()) == 64 and len(sent) == bags
    assert max(sent.values()) - min(sent.values()) <= (1 if bags <= 16 else 2)


def test_who_comes_into_its_tail_on_the_way_stands_back_there() -> None:
    stage = stage_with()
    submit(stage, "ann", 30, rank="Tail ? -1 : 1", tail_below=20)
    submit(stage, "bob")
    assert by_bag(stage.offer("large")) == {1: 11, 2: 53}


def test_tasks_of_less_than_a_second_share_no_host() -> None:
    """It is free again within one; and who has it alone is sent some ahead."""
    stage = stage_with(4)
    for owner in ("ann", "bob"):
        submit(stage, owner, 500)
    for _ in range(8):
        for sent in stage.offer("large"):
            stage.succeed(sent, run_s=0.1)
    sent = by_bag(stage.offer("large"))
    assert len(sent) == 1 and sum(sent.values()) > 4


def test_who_is_refused_takes_nothing_from_what_the_first_is_sent_ahead() -> None:
    stage = stage_with(4)
    submit(stage, "ann", 500)
    for sent in stage.offer("large"):
        stage.succeed(sent, run_s=2)
    stage.submit(9, owner="bob", policy=BagPolicy(Policy(job_requirements="Host.NumCpus > 4")))
    assert by_bag(stage.offer("large")) == {1: 6}
