"""Bags that look the same to their rank stand in line together, and are asked about once."""

from __future__ import annotations

from typing import Any

import pytest

from tailrace.bag.policy import BagPolicy, Policy
from tailrace.bag.terms import Strategy
from tailrace.scheduler.events import BagForgotten
from tailrace.scheduler.kin import has_kin
from tailrace.scheduler.lines import Lines

from .stage import Stage

DAY_S = 24 * 3600


def said(**texts: str) -> BagPolicy:
    return BagPolicy(Policy(**texts))


def submit(stage: Stage, count: int, rank: str, **terms: Any) -> int:
    policy = said(rank=rank, **terms.pop("policy", {}))
    return stage.submit(count, policy=policy, trial_us=0, **terms)


def lines(stage: Stage) -> Lines:
    return stage.scheduler.state.lines["home"]


@pytest.mark.parametrize(
    "rank, alike",
    [
        ("Host.NumCpus", True),
        ("Tail ? 1 : Host.NumCpus", True),
        ('BOT.Owner == "ann" ? Host.NumCpus : Now % 60', True),
        ("5", False),
        ("BOT.JobsLeft", False),
        ("Elapsed", False),
        ('BOT.Name == "a" ? 1 : 2', False),
        ("Lottery", False),
        ("Host.RunningOfBot", False),
    ],
)
def test_which_ranks_make_kin(rank: str, alike: bool) -> None:
    stage = Stage()
    stage.hosts("h")
    bag = submit(stage, 9, rank)
    rules = stage.scheduler.state.bags[bag].rules
    assert rules is not None and has_kin(rules.policy.rank) is alike
    assert (bag in lines(stage).judged) is (not alike and rank != "5")


def test_a_strategy_with_a_tail_of_its_own_is_judged_alone() -> None:
    stage = Stage()
    stage.hosts("h")
    strategy = Strategy("ntdmr", {"n": 1, "t_s": 10})
    bag = submit(stage, 9, "Tail ? 1 : Host.NumCpus", replication=strategy)
    assert bag in lines(stage).judged


def test_the_lines_may_be_sorted_anew_while_hosts_are_served() -> None:
    """The first thing that is sent after so long; beside a rank at which nobody is left."""
    stage = Stage()
    stage.host("h", cores=4)
    stage.wait(1)
    submit(stage, 1, "1")
    submit(stage, 50, "5", most_running=2, needs={"cores": 1000})
    submit(stage, 50, "5", most_running=1, needs={"cores": 1000})
    first = stage.offer("h")
    assert [one.bag for one in first] == [2, 3, 2, 1]
    for one in first:
        stage.succeed(one)
    stage.wait(11 * DAY_S)
    assert [one.bag for one in stage.offer("h")] == [2, 3, 2]


def test_who_comes_into_its_tail_by_what_was_sent_is_not_asked_again() -> None:
    """Its Concurrency is lower then, and would bound those behind it."""
    policy = {"concurrency": '(Tail && BOT.Name == "x") ? 1 : 4'}
    stage = Stage()
    stage.host("h", cores=4)
    rank = "(Tail ? 1 : 2) + 0 * Host.NumCpus"
    submit(stage, 2, rank, tail_below=2, most_running=1, name="x", policy=policy)
    submit(stage, 1, rank, tail_below=2, policy=policy)
    submit(stage, 9, "-5")
    assert [one.bag for one in stage.offer("h")] == [1, 2, 3, 3]


def test_a_place_where_nobody_stands_is_forgotten() -> None:
    stage = Stage()
    stage.hosts("h")
    for number in range(1, 30):
        submit(stage, 1, f"Host.NumCpus + {number}", owner=f"owner{number}")
        (sent,) = stage.offer("h")
        stage.succeed(sent)
        stage.tell(BagForgotten(number))
    assert lines(stage).by_rank == {}


def test_who_has_sent_all_its_tasks_is_not_counted_in_the_queue() -> None:
    stage = Stage()
    stage.hosts("a", "b", "c")
    for count in (1, 1, 99):
        submit(stage, count, "Host.NumCpus")
    assert [stage.offer(name)[0].bag for name in ("a", "b")] == [1, 2]
    assert stage.scheduler.state.queued == 1


def test_a_host_that_calls_again_sends_nobody_back_in_line() -> None:
    """It is counted out and in, and between these all others may seem to be in their tails."""
    stage = Stage()
    stage.host("h", cores=8)
    for _ in range(5):
        submit(stage, 6, "Tail ? 1 : Host.NumCpus")
    stage.host("other", cores=1)
    before = dict(lines(stage).standing)
    stage.back("h", "other")
    stage.wait(1)
    assert lines(stage).standing == before
