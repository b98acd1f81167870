"""The tail, as policies see it: when it begins, and when it is over."""

from __future__ import annotations

import pytest

from tailrace.bag.outcome import Outcome
from tailrace.scheduler import verdicts

from .stage import SECOND, Stage, assigned
from .test_policies import HOME, SPOT, said, stage_of, submit


def test_nothing_is_repeated_before_the_tail() -> None:
    stage = stage_of()
    submit(stage, 9, said(replication_requirements="true", job_requirements='Host.Pool == "home"'))
    stage.offer("home")
    for _ in range(10):
        assert not assigned(stage.wait(60))


@pytest.mark.parametrize("stays", [False, True])
def test_a_tail_may_stay(stays: bool) -> None:
    stage = stage_of()
    submit(stage, 2, said(rank="Tail ? 1 : 0"), tail_below=1, tail_stays=stays)
    assert _ranks(stage) == {0.0}
    (sent,) = stage.offer("home")
    stage.offer("spot")
    assert _ranks(stage) == {1.0}, "none waits to be sent"
    stage.end(sent, Outcome.LOST)
    assert _ranks(stage) == {float(stays)}, "one waits again"
    stage.restart()
    stage.back("home", "spot")
    assert _ranks(stage) == {float(stays)}


def test_a_tail_that_stays_is_over_when_the_bag_grows() -> None:
    stage = stage_of()
    bag = submit(stage, 2, said(rank="Tail ? 1 : 0"), tail_below=1, tail_stays=True)
    stage.offer("home"), stage.offer("spot")
    assert _ranks(stage) == {1.0}
    stage.grow(bag, 100)
    assert _ranks(stage) == {0.0}


@pytest.mark.parametrize("pool, lost, then", [("home", 0, 2), ("spot", 0, 3), ("home", 1, 3)])
def test_who_comes_into_its_tail_or_leaves_it_stands_elsewhere_at_once(
    pool: str, lost: int, then: int
) -> None:
    """Three bags that look the same to their rank, until one of the second's two tasks is sent;
    and again, if that is lost."""
    stage = stage_of(HOME, SPOT)
    policy = said(rank='Tail ? (Host.Pool == "home" ? 9 : -9) : 1')
    for count in (99, 2, 99):
        submit(stage, count, policy, tail_below=2)
    (first,) = stage.offer("home")
    stage.wait(5)
    stage.succeed(first)
    (second,) = stage.offer("home")
    stage.wait(3)
    (third,) = stage.offer("spot")
    stage.wait(2)
    stage.succeed(third)
    stage.end(second, Outcome.LOST if lost else Outcome.SUCCEEDED)
    assert [first.bag, second.bag, third.bag] == [1, 2, 3]
    assert [one.bag for one in stage.offer(pool)] == [then]


def _ranks(stage: Stage) -> set[float]:
    return {one.rank for one in verdicts.trial(stage.scheduler.state, 1)}


def test_the_tail_begins_in_the_midst_of_what_a_large_host_takes() -> None:
    """What it is sent at once ends where fewer are left than the bag says; of those, it is asked
    anew."""
    stage = stage_of(HOME, SPOT, cores=16)
    keeps = 'Tail ? Host.Pool == "spot" : Host.Pool == "home"'
    submit(stage, 12, said(job_requirements=keeps), tail_below=4)
    assert len(stage.offer("home")) == 9 and stage.offer("home") == []
    assert [one.index for one in stage.offer("spot")] == [9, 10, 11]


def test_a_large_host_that_matches_in_the_tail_too_gets_the_rest_when_it_asks_again() -> None:
    stage = stage_of(HOME, cores=16)
    submit(stage, 12, said(deadline="Tail ? 60 : 600"), tail_below=4)
    sent = [*stage.offer("home"), *stage.offer("home")]
    assert [one.timeout_us for one in sent] == [600 * SECOND] * 9 + [60 * SECOND] * 3
