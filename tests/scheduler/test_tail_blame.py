"""In the tail, too, another host shows whose fault a failure was."""

from __future__ import annotations

import pytest

from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Retries, Strategy
from tailrace.pools.terms import Pool

from .stage import Stage, assigned

SPOT, HOME = Pool("spot", max=0, reliable=False), Pool("home", max=0)


def in_tail(*cheap: str, mr: float = 1.0, t_s: float = 1000.0) -> Stage:
    """The one task is sent to the first of them; its tail has begun."""
    stage = Stage(SPOT, HOME)
    stage.hosts(*cheap, "x", pool="spot")
    stage.host("dear", pool="home")
    ntdmr = Strategy("ntdmr", {"n": 3, "t_s": t_s, "d_s": 5000.0, "mr": mr})
    stage.submit(1, trial_us=0, repeatable=True, replication=ntdmr, retries=Retries(task_failed=5))
    (sent,) = stage.offer(cheap[0])
    stage.silent("x")
    assert stage.scheduler.state.bags[1].tail_us is not None and sent.host == cheap[0]
    return stage


def fail_first(stage: Stage) -> None:
    (attempt,) = stage.scheduler.state.attempts.values()
    (sent,) = (one for one in assigned(stage.all) if one.attempt == attempt.attempt)
    stage.fail(sent)


@pytest.mark.parametrize("waits", [False, True], ids=["alone", "already wanted"])
def test_what_failed_on_the_only_cheap_host_goes_to_a_dear_one(waits: bool) -> None:
    stage = in_tail("a", t_s=10.0 if waits else 1000.0)
    if waits:
        stage.wait(20)
    fail_first(stage)
    assert stage.offer("a") == []
    (again,) = stage.offer("dear")
    stage.succeed(again)
    assert stage.result(1, 0) is Outcome.SUCCEEDED
    assert stage.scheduler.state.hosts["a"].booked == 1, "the other has shown whose fault it was"


def test_another_cheap_host_is_waited_for() -> None:
    stage = in_tail("a", "b")
    fail_first(stage)
    assert stage.offer("a") == stage.offer("dear") == []
    assert [one.host for one in stage.offer("b")] == ["b"]


def test_where_no_dear_one_may_be_used_it_goes_back() -> None:
    stage = in_tail("a", mr=0.0)
    fail_first(stage)
    assert stage.offer("dear") == []
    assert [one.host for one in stage.offer("a")] == ["a"]
