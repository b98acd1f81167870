"""Attempts that never began cost nothing: handed back by their worker, or sent ahead to a host that
is gone."""

from __future__ import annotations

import pytest

from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Retries
from tailrace.pools.terms import Pool
from tailrace.scheduler.decisions import Assign, PauseBag
from tailrace.scheduler.events import Change

from .stage import Stage

NONE = Retries(0, 0, 0, 0, 0)


def ready(*pools: Pool, count: int = 100, cores: int = 2, **terms: object) -> tuple[Stage, int]:
    """Tasks are known to be short, so that some are sent ahead."""
    stage = Stage(*pools)
    stage.host("a", cores=cores)
    bag = stage.submit(count + 1, **terms)  # type: ignore[arg-type]
    (trial,) = stage.offer("a")
    stage.succeed(trial, run_s=0.05)
    return stage, bag


def counts(stage: Stage, one: Assign) -> dict[str, int]:
    return stage.tables.troubles[one.bag, one.index].counts


@pytest.mark.parametrize("text", ["not started: SIGTERM", ""])
def test_what_a_worker_hands_back_is_sent_again_at_no_cost(text: str) -> None:
    stage, bag = ready(count=1, retries=NONE)
    for _ in range(30):
        (one,) = stage.offer("a")
        stage.end(one, Outcome.CANCELLED, text=text)
        assert counts(stage, one) == {}
    (one,) = stage.offer("a")
    assert one.why == f"again: handed back by a: {text or 'not started'}"
    stage.succeed(one)
    assert stage.phase(bag) == "finished"
    assert stage.tables.hosts["a"].booked == 0


def test_one_that_had_run_and_was_cancelled_unasked_is_lost() -> None:
    stage, bag = ready(count=1, retries=NONE)
    (one,) = stage.offer("a")
    stage.end(one, Outcome.CANCELLED, run_us=5)
    assert stage.result(bag, one.index) is Outcome.LOST


def test_handing_back_proves_nothing_of_a_pool_whose_workers_die() -> None:
    stage = Stage(Pool("cloud", max=1))
    stage.submit(5)
    for lease in range(1, 6):
        stage.host(f"m{lease}", lease=lease)
        (one,) = stage.offer(f"m{lease}")
        stage.end(one, Outcome.CANCELLED, text="not started: the worker's keeper died")
        stage.gone(lease, "gone")
        stage.wait(10)
    assert any(isinstance(one, PauseBag) for one in stage.all)


def test_only_those_that_can_have_begun_are_lost_with_their_host() -> None:
    stage, _ = ready(retries=NONE)
    sent = stage.offer("a")
    assert len(sent) > 10
    stage.silent("a")
    assert [stage.result(one.bag, one.index) for one in sent[:2]] == [Outcome.LOST] * 2
    for one in sent[2:]:
        assert stage.result(one.bag, one.index) is None and counts(stage, one) == {}
    assert "lost with a, sent ahead" in stage.explain(f"task 1/{sent[5].index}")


def test_one_lost_ahead_is_then_sent_only_where_it_begins_at_once() -> None:
    stage, _ = ready()
    lost = [one.index for one in stage.offer("a")]
    stage.silent("a")
    stage.back("a")
    first, second = stage.offer("a")
    assert first.index in lost and second.index in lost
    assert stage.offer("a") == []
    stage.succeed(first, run_s=0.05)
    (third,) = stage.offer("a")
    assert third.index in lost


def test_when_they_are_through_bundles_come_again() -> None:
    stage, _ = ready()
    lost = {one.index for one in stage.offer("a")}
    stage.silent("a")
    stage.back("a")
    while lost:
        for one in stage.offer("a"):
            lost.discard(one.index)
            stage.succeed(one, run_s=0.05)
    assert len(stage.offer("a")) > 2


def test_a_task_that_kills_its_hosts_ends_after_its_retries_and_no_other_fails() -> None:
    """However long ahead it was sent: the others end before it begins."""
    stage, bag = ready(cores=1, retries=Retries(lost=2))
    deadly = 7
    for _ in range(200):
        sent = stage.offer("a")
        for one in sent:
            if one.index == deadly:
                stage.silent("a")
                stage.back("a")
                break
            stage.succeed(one, run_s=0.05)
    results = stage.results(bag)
    assert results[deadly] is Outcome.LOST
    assert set(results[:deadly] + results[deadly + 1 :]) == {Outcome.SUCCEEDED}


def test_hosts_killed_again_and_again_fail_no_task_by_what_was_sent_ahead() -> None:
    """Each host ends two tasks and is killed, before the next two have begun."""
    stage, bag = ready(retries=NONE)
    for number in range(300):
        host = f"h{number}"
        stage.host(host, cores=2)
        for one in stage.offer(host)[:2]:
            stage.succeed(one, run_s=0.05)
        stage.silent(host)
    assert stage.phase(bag) == "finished"
    assert set(stage.results(bag)) == {Outcome.SUCCEEDED}


def test_one_preempted_ahead_counts_as_no_preemption() -> None:
    stage = Stage(Pool("cloud", max=1))
    bag = stage.submit(101)
    stage.host("m", cores=2, lease=1)
    (trial,) = stage.offer("m")
    stage.succeed(trial, run_s=0.05)
    sent = stage.offer("m")
    stage.change(bag, Change.PAUSE)
    stage.gone(1)
    told = [counts(stage, one) for one in sent]
    assert told[:2] == [{"preempted": 1}] * 2
    assert told[2:] == [{}] * (len(sent) - 2)


def test_after_a_restart_no_more_can_have_begun_than_fit_at_once() -> None:
    stage, _ = ready(retries=NONE)
    sent = stage.offer("a")
    stage.restart()
    stage.back("a")
    stage.silent("a")
    lost = [one for one in sent if stage.result(one.bag, one.index) is Outcome.LOST]
    assert lost == sent[:2]
