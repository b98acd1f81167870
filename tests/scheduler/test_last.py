"""The last task of a bag (`then`): sent once all others have their result, whatever that is."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Retries, Strategy
from tailrace.pools.terms import Pool
from tailrace.scheduler.events import Change

from .stage import SECOND, Stage, assigned, dropped

ONCE = Retries(0, 0, 0, 0, 0)


def staged(*, count: int = 4, cores: int = 4, **terms: Any) -> Stage:
    stage = Stage()
    stage.host("a", cores=cores)
    stage.submit(count, last=True, trial_us=0, **terms)
    return stage


@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"order_seed": 3},
        {"permutation": array("I", [2, 0, 1]).tobytes()},
        {"taken": [1]},
        {"taken": [0, 2], "order_seed": 3},
    ],
)
def test_it_comes_last_in_every_order(terms: Any) -> None:
    stage = staged(**terms)
    out = stage.offer("a")
    assert sorted(one.index for one in out) == [
        i for i in range(3) if i not in terms.get("taken", ())
    ]
    for one in out:
        assert stage.offer("a") == []
        assert "sent when all others have their result" in stage.explain("task 1/3")
        stage.restart()
        stage.back("a")
        stage.succeed(one)
    (last,) = stage.offer("a")
    assert last.index == 3
    stage.succeed(last)
    assert stage.phase(1) == "finished"


def test_it_is_sent_at_once_when_all_results_were_there_before() -> None:
    (only,) = staged(taken=[0, 1, 2]).offer("a")
    assert only.index == 3


def test_it_runs_after_failures_and_not_in_a_bag_that_was_cancelled() -> None:
    stage = staged(retries=ONCE)
    one, two, three = stage.offer("a")
    stage.fail(one)
    stage.succeed(two)
    stage.change(1, Change.CANCEL)
    stage.succeed(three)
    assert stage.offer("a") == []
    (last,) = assigned(stage.change(1, Change.RESUME))
    assert last.index == 3


def test_a_brake_on_the_last_failure_comes_before_it() -> None:
    stage = staged(retries=ONCE, max_failures=1)
    for one in stage.offer("a"):
        stage.fail(one)
    assert stage.offer("a") == []
    assert stage.phase(1) == "braked"
    stage.restart()
    stage.back("a")
    stage.change(1, Change.RESUME)
    assert [one.index for one in stage.offer("a")] == [3]


def test_it_looks_at_all_anew_when_another_was_tried_again() -> None:
    stage = staged(retries=ONCE)
    one, two, three = stage.offer("a")
    stage.fail(one)
    stage.succeed(two)
    stage.succeed(three)
    (last,) = stage.offer("a")
    stage.fail(last)
    assert stage.phase(1) == "finished"
    stage.change(1, Change.RETRY, 3, 0)
    (again,) = stage.offer("a")
    assert again.index == 0, "both had failed, but the last waits for the other"
    stage.restart()
    stage.back("a")
    stage.succeed(again)
    (after,) = stage.offer("a")
    assert after.index == 3
    stage.succeed(after)
    assert stage.results(1) == [Outcome.SUCCEEDED] * 4


def test_one_that_began_before_another_was_tried_again_is_ended_and_sent_anew() -> None:
    stage = staged(retries=ONCE)
    one, two, three = stage.offer("a")
    stage.fail(one)
    stage.succeed(two)
    stage.succeed(three)
    (early,) = stage.offer("a")
    stage.change(1, Change.RETRY, 0)
    (again,) = stage.offer("a")
    assert dropped(stage.succeed(again)) == [early.attempt]
    stage.end(early, Outcome.CANCELLED)
    (late,) = stage.offer("a")
    stage.succeed(late)
    assert stage.phase(1) == "finished"
    assert stage.tables.results[1, 3][0] == late.attempt


@pytest.mark.parametrize("name", ["wqr", "ntdmr"])
def test_it_is_never_replicated(name: str) -> None:
    """It runs in the bag's folder, where two of it would get in each other's way."""
    stage = Stage(Pool("home", max=0, reliable=False))
    stage.hosts("a", "b", "c")
    stage.submit(2, last=True, trial_us=0, repeatable=True, timeout_us=5 * SECOND,
                 replication=Strategy(name))  # fmt: skip
    (first,) = stage.offer("a")
    stage.offer("b")
    stage.wait(0)  # what is wanted at once is sent
    stage.succeed(first)
    for attempt in list(stage.scheduler.state.attempts.values()):
        if attempt.index == 0:
            stage.end(stage_assign(stage, attempt.attempt), Outcome.CANCELLED)
    sent = [one for host in ("a", "b", "c") for one in stage.offer(host) if one.index == 1]
    assert len(sent) == 1
    late = stage.wait(6)
    assert dropped(late) == [sent[0].attempt], "its time-out ends it before another is sent"
    assert assigned(late) == []


def stage_assign(stage: Stage, attempt: int) -> Any:
    return next(one for one in assigned(stage.all) if one.attempt == attempt)


def test_a_strategy_that_had_its_end_stays_away_also_after_a_restart() -> None:
    """All others had their result; one of them is tried again."""
    stage = staged(retries=ONCE, replication=Strategy("ntdmr"))
    for one in stage.offer("a"):
        stage.fail(one)
    assert [one.index for one in stage.offer("a")] == [3]
    stage.change(1, Change.RETRY, 0)
    assert stage.scheduler.state.bags[1].replication is None
    stage.restart()
    assert stage.scheduler.state.bags[1].replication is None
