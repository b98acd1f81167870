"""Time-outs that a strategy guesses: what becomes of a task that takes longer than the others."""

from __future__ import annotations

from typing import Any

import pytest
from tests.scheduler.stage import SECOND, Stage, assigned, dropped

from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Retries, Strategy
from tailrace.knowledge.inquiry import Forecast, Plan
from tailrace.knowledge.sendings import Fate
from tailrace.pools.terms import Late, Pool
from tailrace.scheduler.decisions import Assign, Replan
from tailrace.scheduler.events import Change, PlanReady

ACCEPTING = Pool("cheap", max=0, reliable=False)
IGNORING = Pool("cheap", max=0, reliable=False, late_results=Late.IGNORE)
DEAR = Pool("dear", max=0)
TURNAROUND_S, GUESS_S = 25.0, 100


def before_the_tail(pool: Pool, expired: int, **options: Any) -> tuple[Stage, Assign]:
    """A task is out, of many; it will take as long as it takes."""
    stage = Stage(pool, DEAR)
    stage.submit(
        20, trial_us=0, retries=Retries(expired=expired),
        replication=Strategy("ntdmr", {"turnaround_s": TURNAROUND_S, **options}),
    )  # fmt: skip
    stage.hosts("h0", "h1", "h2", pool="cheap")
    (one,) = stage.offer("h0")
    assert one.timeout_us == GUESS_S * SECOND
    return stage, one


def given_up(stage: Stage, one: Assign, ran_s: float) -> None:
    """Its time-out passes, and its host ends it."""
    assert one.timeout_us is not None
    assert one.attempt in dropped(stage.wait(one.timeout_us / SECOND))
    stage.end(one, Outcome.CANCELLED, run_us=int(ran_s * SECOND))


def test_a_task_is_not_given_up_while_an_attempt_of_it_runs_whose_result_would_count() -> None:
    stage, first = before_the_tail(ACCEPTING, expired=1)
    stage.wait(GUESS_S)
    (second,) = stage.offer("h1")
    assert second.index == first.index
    assert dropped(stage.wait(GUESS_S)) == []
    stage.end(second, Outcome.LOST)
    assert stage.result(1, first.index) is None
    stage.succeed(first)
    assert stage.result(1, first.index) is Outcome.SUCCEEDED


def test_so_it_is_after_a_restart() -> None:
    stage, first = before_the_tail(ACCEPTING, expired=1)
    stage.wait(GUESS_S)
    (second,) = stage.offer("h1")
    stage.wait(GUESS_S)
    stage.restart()
    stage.back("h0", "h1", "h2")
    stage.end(second, Outcome.LOST)
    assert stage.result(1, first.index) is None
    stage.end(first, Outcome.LOST)
    assert stage.result(1, first.index) is Outcome.EXPIRED, "nothing of it runs any more"


def test_where_late_results_are_ignored_the_next_has_twice_the_time_and_costs_no_retry() -> None:
    stage, one = before_the_tail(IGNORING, expired=0)
    for doubled in range(1, 5):
        given_up(stage, one, ran_s=1)
        (again,) = stage.offer("h1")
        assert (again.index, again.timeout_us) == (one.index, 2**doubled * GUESS_S * SECOND)
        one = again
    stage.restart()
    stage.back("h0", "h1", "h2")
    given_up(stage, one, ran_s=1)
    (again,) = stage.offer("h1")
    assert again.timeout_us == 32 * GUESS_S * SECOND
    stage.succeed(again)
    assert stage.result(1, one.index) is Outcome.SUCCEEDED


def test_a_task_that_never_ends_is_given_up_in_the_end() -> None:
    stage, one = before_the_tail(IGNORING, expired=0)
    for _ in range(20):
        given_up(stage, one, ran_s=1)
        (one,) = stage.offer("h1")
        if one.index:
            break
    assert stage.result(1, 0) is Outcome.EXPIRED


def test_an_attempt_that_never_ran_says_nothing_of_how_long_its_task_takes() -> None:
    stage, one = before_the_tail(IGNORING, expired=0)
    given_up(stage, one, ran_s=0)
    assert stage.result(1, one.index) is Outcome.EXPIRED


def test_of_a_task_that_is_tried_anew_what_had_expired_before_may_end_after() -> None:
    stage, first = before_the_tail(IGNORING, expired=3)
    assert first.attempt in dropped(stage.wait(GUESS_S))
    (second,) = stage.offer("h1")
    stage.end(second, Outcome.TASK_FAILED, unmade=True)
    assert stage.result(1, first.index) is Outcome.TASK_FAILED
    stage.change(1, Change.RETRY, first.index)
    stage.end(first, Outcome.CANCELLED, run_us=GUESS_S * SECOND)
    (third,) = stage.offer("h2")
    assert (third.index, third.timeout_us) == (first.index, 2 * GUESS_S * SECOND)


def test_a_time_that_was_given_is_not_lengthened() -> None:
    stage, one = before_the_tail(IGNORING, expired=0, patience_s=float(GUESS_S))
    given_up(stage, one, ran_s=1)
    assert stage.result(1, one.index) is Outcome.EXPIRED


# planned


def planned_tail(pool: Pool, *dear: str, expired: int = 3) -> tuple[Stage, Assign]:
    """One task is left, three unreliable hosts, and a plan without end on those alone."""
    stage = Stage(pool, DEAR)
    stage.submit(3, trial_us=0, replication=Strategy("planned", {"every_s": 1e9}),
                 retries=Retries(expired=expired))  # fmt: skip
    stage.hosts("h0", "h1", "h2", pool="cheap")
    sent = [one for name in ("h0", "h1", "h2") for one in stage.offer(name)]
    for name in dear:
        stage.host(name, pool="dear")
        stage.offer(name)
    stage.succeed(sent[0])
    nothing = Forecast(0, 0, 0)
    stage.tell(PlanReady(1, 1, Plan(1, -1, 30 * SECOND, 30 * SECOND, 0.0, 0, 0, 2, nothing,
                                    nothing, "USD", 1, 1)))  # fmt: skip
    stage.succeed(sent[1])
    return stage, sent[2]


def test_a_plan_without_end_sends_a_task_no_more_often_than_its_retries_say() -> None:
    stage, out = planned_tail(ACCEPTING)
    stage.hosts(*(f"m{n}" for n in range(9)), pool="cheap")
    for n in range(9):
        stage.offer(f"m{n}")
    for _ in range(500):
        stage.wait(30)
    sent = [one for one in assigned(stage.all) if one.index == out.index]
    assert 4 <= len(sent) <= 6
    assert stage.result(1, out.index) is None, "they run, and their results would count"


def test_what_expired_more_often_than_is_forgiven_goes_to_a_reliable_host_once() -> None:
    """Though the plan has none: it was made before that."""
    stage, out = planned_tail(IGNORING, "d0", expired=0)
    stage.wait(20_000)
    stage.end(out, Outcome.CANCELLED)
    stage.wait(30)
    (surely,) = [one for one in assigned(stage.all) if one.host == "d0"]
    assert surely.index == out.index
    stage.succeed(surely)
    assert stage.phase(1) == "finished" and stage.result(1, out.index) is Outcome.SUCCEEDED


@pytest.mark.parametrize("restarts", [False, True])
def test_it_goes_there_also_without_a_plan_and_after_a_restart(restarts: bool) -> None:
    stage = Stage(IGNORING, Pool("dear", max=1))
    stage.submit(3, trial_us=0, replication=Strategy("planned", {}), retries=Retries(lost=0))
    stage.hosts("h0", "h1", "h2", pool="cheap")
    sent = [one for name in ("h0", "h1", "h2") for one in stage.offer(name)]
    stage.succeed(sent[0]), stage.succeed(sent[1])
    stage.tell(PlanReady(1, 1, None))
    stage.end(sent[2], Outcome.LOST)
    if restarts:
        stage.restart()
    stage.host("d0", pool="dear")
    (surely,) = stage.offer("d0")
    assert surely.index == sent[2].index


def seen_after(*, fails: int) -> list[tuple[int, int]]:
    """What a plan is asked with, when one task was lost so often: fate and time of each."""
    stage = Stage(IGNORING, DEAR)
    stage.submit(6, trial_us=0, replication=Strategy("planned", {"turnaround_s": TURNAROUND_S}),
                 retries=Retries(lost=9999))  # fmt: skip
    stage.hosts("h0", "h1", pool="cheap")
    (one,) = stage.offer("h0")
    for n in range(fails):
        stage.end(one, Outcome.LOST)
        (one,) = stage.offer(("h1", "h0")[n % 2])
        assert one.index == 0
    given_up(stage, one, ran_s=1)
    for _ in range(6):
        for one in [*stage.offer("h0"), *stage.offer("h1")]:
            stage.succeed(one)
    (asked,) = [one.inquiry for one in stage.all if isinstance(one, Replan)]
    return [(one.fate, one.took_us) for one in asked.seen]


def test_one_task_does_not_push_out_what_is_known_of_the_others() -> None:
    fates = [fate for fate, _ in seen_after(fails=3000)]
    assert fates.count(Fate.RETURNED) >= 5
    assert 1 <= fates.count(Fate.FAILED) <= 10


def test_of_what_ran_until_its_time_out_a_plan_knows_only_that_it_takes_longer() -> None:
    assert (Fate.OUT, GUESS_S * SECOND) in seen_after(fails=0)


@pytest.mark.parametrize("restarts", [False, True])
def test_what_was_handed_back_after_its_time_out_is_told_as_the_tables_have_it(
    restarts: bool,
) -> None:
    stage = Stage(ACCEPTING, DEAR)
    stage.submit(6, trial_us=0, replication=Strategy("planned", {"turnaround_s": TURNAROUND_S}))
    stage.hosts("h0", "h1", pool="cheap")
    (one,) = stage.offer("h0")
    stage.wait(GUESS_S)
    stage.end(one, Outcome.CANCELLED, run_us=50 * SECOND)
    if restarts:
        stage.restart()
        stage.back("h0", "h1")
    for _ in range(6):
        for one in [*stage.offer("h0"), *stage.offer("h1")]:
            stage.succeed(one)
    (asked,) = [one.inquiry for one in stage.all if isinstance(one, Replan)]
    assert (Fate.EXPIRED, GUESS_S * SECOND) in [(one.fate, one.took_us) for one in asked.seen]


def test_what_is_due_later_since_its_time_has_grown_is_due_then() -> None:
    """T was 30 s as it was sent in the tail, and 60 s as its first attempt proved too short; and no
    reliable host is there to go to."""
    stage = Stage(IGNORING)
    options = {"turnaround_s": TURNAROUND_S, "n": 1, "t_s": 30.0, "d_s": 100.0, "mr": 1.0}
    stage.submit(3, trial_us=0, replication=Strategy("ntdmr", options))
    stage.hosts("h0", "h1", "h2", pool="cheap")
    first, second, third = (one for host in ("h0", "h1", "h2") for one in stage.offer(host))
    stage.succeed(first)
    stage.now = 90 * SECOND
    stage.offer("h0")
    stage.succeed(second)
    stage.offer("h1")
    sent = len(assigned(stage.all))
    while stage.now < 149 * SECOND:
        stage.wait(1)
        if stage.now == 101 * SECOND:
            stage.end(third, Outcome.CANCELLED, run_us=100 * SECOND)
            stage.hosts("h3", pool="cheap")
            assert not stage.offer("h3")
    assert len(assigned(stage.all)) == sent
    assert [one.host for one in assigned(stage.wait(1))] == ["h3"]


def test_who_outlasts_d_goes_to_a_reliable_host_when_t_has_passed() -> None:
    """As the strategy has it: D is given, and does not grow where there is a reliable pool."""
    stage = Stage(IGNORING, DEAR)
    options = {"turnaround_s": TURNAROUND_S, "n": 1, "t_s": 30.0, "d_s": 100.0, "mr": 1.0}
    stage.submit(3, trial_us=0, replication=Strategy("ntdmr", options))
    stage.hosts("h0", "h1", "h2", pool="cheap")
    stage.host("d0", pool="dear")
    stage.offer("d0")
    first, second, third = (one for host in ("h0", "h1", "h2") for one in stage.offer(host))
    stage.succeed(first)
    stage.now = 90 * SECOND
    stage.offer("h0")
    stage.succeed(second)
    stage.offer("h1")
    while stage.now < 119 * SECOND:
        stage.wait(1)
        if stage.now == 101 * SECOND:
            stage.end(third, Outcome.CANCELLED, run_us=100 * SECOND)
    assert [one.host for one in assigned(stage.wait(1))] == ["d0"]
