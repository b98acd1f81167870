"""Each way an attempt can end, and what follows."""

from __future__ import annotations

from array import array

import pytest

from tailrace.bag.order import Listed
from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Growth, Limits, Retries
from tailrace.pools.terms import Late, Pool
from tailrace.scheduler.bits import AllBits
from tailrace.scheduler.decisions import Close, TakenAway
from tailrace.scheduler.events import Change, Ended

from .stage import GIB, SECOND, Stage, assigned, dropped, kinds, settled


def ready(*pools: Pool, hosts: str = "ab", count: int = 10, **terms: object) -> tuple[Stage, int]:
    stage = Stage(*pools)
    stage.hosts(*hosts)
    bag = stage.submit(count + 1, **terms)  # type: ignore[arg-type]
    stage.pass_trial(hosts[0])
    return stage, bag


def closed(stage: Stage) -> list[tuple[Outcome, bool]]:
    return [(one.outcome, one.accepted) for one in stage.last if isinstance(one, Close)]


def test_a_success_is_closed_accepted_and_settled() -> None:
    stage, _ = ready()
    (one,) = stage.offer("a")
    stage.succeed(one)
    assert closed(stage) == [(Outcome.SUCCEEDED, True)]
    assert settled(stage.last) == [(one.index, Outcome.SUCCEEDED)]


@pytest.mark.parametrize(
    "outcome", [Outcome.HOST_FAILED, Outcome.LOST, Outcome.EXPIRED, Outcome.OVER_LIMIT]
)
def test_an_outcome_is_forgiven_as_often_as_the_bag_says(outcome: Outcome) -> None:
    stage, bag = ready(hosts="a", retries=Retries(0, 2, 2, 2, 2))
    for _ in range(2):
        (one,) = stage.offer("a")
        stage.end(one, outcome)
        assert stage.result(bag, one.index) is None
    (one,) = stage.offer("a")
    assert stage.tables.troubles[bag, one.index].counts == {outcome: 2}
    stage.end(one, outcome)
    assert stage.result(bag, one.index) is outcome


def test_a_lost_task_goes_to_another_host_if_there_is_one() -> None:
    stage, _ = ready(count=1)
    (one,) = stage.offer("a")
    stage.end(one, Outcome.LOST)
    assert stage.offer("a") == []
    assert stage.offer("b")[0].index == one.index


# preempted


def test_a_preemption_never_eats_a_retry() -> None:
    stage, bag = ready(hosts="a", retries=Retries(0, 0, 0, 0, 0), count=1)
    for _ in range(50):
        (one,) = stage.offer("a")
        stage.end(one, Outcome.PREEMPTED)
    (one,) = stage.offer("a")
    stage.succeed(one)
    assert stage.phase(bag) == "finished"


SPOT, SOLID = Pool("spot", max=0, reliable=False), Pool("solid", max=0)


def preempted_three_times(*pools: Pool, also: str = "") -> tuple[Stage, int]:
    stage = Stage(*pools)
    stage.host("a", pool="spot")
    if also:
        stage.host(also, pool="solid")
    bag = stage.submit(1)
    for _ in range(3):
        (one,) = stage.offer("a")
        stage.end(one, Outcome.PREEMPTED)
    return stage, bag


def test_after_three_preemptions_the_owner_is_told_and_a_reliable_pool_is_wanted() -> None:
    stage, bag = preempted_three_times(SPOT, SOLID, also="b")
    assert taken_away(stage) == [(0, "taken away 3 times, wanted on a reliable pool from now on")]
    assert stage.offer("a") == []
    told = stage.explain(f"task {bag}/0")
    assert "on a host of a reliable pool" in told
    assert "preempted on a, 3 times now: wanted on a reliable pool" in told
    (again,) = stage.offer("b")
    assert "3 times now" in again.why


def test_a_reliable_pool_that_lends_machines_is_waited_for() -> None:
    stage, _ = preempted_three_times(SPOT, Pool("solid", max=1))
    assert stage.offer("a") == []


@pytest.mark.parametrize("pools", [(SPOT,), (SPOT, SOLID)])
def test_without_a_reliable_host_it_goes_where_it_can(pools: tuple[Pool, ...]) -> None:
    stage, _ = preempted_three_times(*pools)
    assert len(stage.offer("a")) == 1


def taken_away(stage: Stage) -> list[tuple[int, str]]:
    return [(one.index, one.why) for one in stage.all if isinstance(one, TakenAway)]


def test_its_owner_is_told_once_also_where_no_pool_is_reliable() -> None:
    stage, _ = preempted_three_times(SPOT)
    for _ in range(3):
        (one,) = stage.offer("a")
        stage.end(one, Outcome.PREEMPTED)
    why = "taken away 3 times, wanted on a reliable pool from now on"
    assert taken_away(stage) == [(0, f"{why}; until the bag has one, it may go anywhere")]


def test_two_preemptions_are_nothing_special() -> None:
    stage = Stage(SPOT, SOLID)
    stage.host("a", pool="spot")
    stage.host("b", pool="solid")
    stage.submit(1)
    for _ in range(2):
        (one,) = stage.offer("a")
        stage.end(one, Outcome.PREEMPTED)
    assert len(stage.offer("a")) == 1
    assert taken_away(stage) == []


# over a limit


def growing(most: dict[str, int], *, memory: int = 32) -> tuple[Stage, int]:
    stage = Stage()
    stage.host("a", memory=memory * GIB)
    bag = stage.submit(1, needs={"cores": 1000, "memory": 2 * GIB}, limits=Limits(memory=2 * GIB),
                       growth=Growth(2.0, most, ("memory",)))  # fmt: skip
    return stage, bag


def sizes(stage: Stage, bag: int) -> list[int]:
    """The memory it was given each time, until it failed."""
    found = []
    while stage.phase(bag) == "running":
        (one,) = stage.offer("a")
        found.append((one.limits.memory if one.limits else 0) or 0)
        assert (one.needs or {}).get("memory", 0) == found[-1]
        stage.end(one, Outcome.OVER_LIMIT, limit="memory")
    return [size // GIB for size in found]


def test_a_limit_grows_up_to_its_ceiling_without_eating_a_retry() -> None:
    stage, bag = growing({"memory": 10 * GIB})
    assert sizes(stage, bag) == [0, 4, 8, 10]
    assert stage.result(bag, 0) is Outcome.OVER_LIMIT


def test_a_limit_grows_up_to_the_largest_host() -> None:
    stage, bag = growing({"memory": 64 * GIB}, memory=7)
    assert sizes(stage, bag) == [0, 4, 7]


def test_a_limit_that_may_not_grow_costs_a_retry() -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(1, limits=Limits(time_us=SECOND), retries=Retries(over_limit=1))
    for why in ("first attempt", "again: over limit (its time limit) on a"):
        (one,) = stage.offer("a")
        assert one.limits is None and one.why == why
        stage.end(one, Outcome.OVER_LIMIT, limit="time", text="ran too long; raise it")
    assert stage.result(bag, 0) is Outcome.OVER_LIMIT


def test_a_time_limit_grows_too() -> None:
    stage = Stage()
    stage.host("a")
    stage.submit(1, limits=Limits(time_us=SECOND), growth=Growth(3.0, {}, ("time",)))
    (one,) = stage.offer("a")
    stage.end(one, Outcome.OVER_LIMIT, limit="time")
    (again,) = stage.offer("a")
    assert again.limits == Limits(time_us=3 * SECOND)
    assert again.needs is None


def test_a_task_that_has_grown_waits_for_room_beside_the_others() -> None:
    stage = Stage()
    stage.host("a", cores=4, memory=8 * GIB)
    stage.submit(10, needs={"cores": 1000, "memory": 2 * GIB}, limits=Limits(memory=2 * GIB),
                 growth=Growth(4.0, {}, ("memory",)))  # fmt: skip
    stage.pass_trial("a")
    sent = stage.offer("a")
    assert len(sent) == 4
    stage.end(sent[0], Outcome.OVER_LIMIT, limit="memory")
    assert [one.needs for one in stage.offer("a")] == [None]
    for one in sent[1:]:
        stage.succeed(one)
    while not any(one.needs for one in stage.offer("a")):
        live = list(stage.scheduler.state.attempts.values())
        if len(live) == 1 and live[0].needs:
            break
        for attempt in live:
            stage.tell(Ended(attempt.attempt, attempt.bag, attempt.index, "a", Outcome.SUCCEEDED))
    (grown,) = stage.scheduler.state.attempts.values()
    assert grown.needs == {"cores": 1000, "memory": 8 * GIB}
    assert stage.offer("a") == []


# time-outs


def test_a_repeatable_task_gets_a_second_attempt_beside_the_expired_one() -> None:
    stage, bag = ready(count=1, timeout_us=5 * SECOND)
    (one,) = stage.offer("a")
    stage.offer("b")
    (two,) = assigned(stage.wait(5))
    assert (two.index, two.host, two.why) == (one.index, "b", "again: expired on a")
    assert "past its time-out" in stage.explain(f"task {bag}/{one.index}")


def test_a_late_success_of_the_expired_one_counts_and_the_other_is_dropped() -> None:
    stage, bag = ready(count=1, timeout_us=5 * SECOND)
    (one,) = stage.offer("a")
    stage.offer("b")
    (two,) = assigned(stage.wait(5))
    stage.succeed(one)
    assert stage.tables.results[bag, one.index] == (one.attempt, Outcome.SUCCEEDED)
    assert dropped(stage.last) == [two.attempt]
    stage.end(two, Outcome.CANCELLED)
    assert closed(stage) == [(Outcome.CANCELLED, False)]
    assert kinds(stage.last) == ["Close"]


def test_the_second_success_is_waste() -> None:
    stage, _ = ready(count=1, timeout_us=5 * SECOND)
    (one,) = stage.offer("a")
    stage.offer("b")
    (two,) = assigned(stage.wait(5))
    stage.succeed(two)
    assert dropped(stage.last) == [one.attempt]
    stage.succeed(one)
    assert closed(stage) == [(Outcome.SUCCEEDED, False)]
    assert settled(stage.last) == []


def test_a_task_that_must_not_run_twice_is_ended_before_it_is_sent_again() -> None:
    stage, _ = ready(count=1, timeout_us=5 * SECOND, repeatable=False)
    (one,) = stage.offer("a")
    stage.offer("b")
    stage.wait(5)
    assert dropped(stage.last) == [one.attempt]
    assert assigned(stage.last) == []
    stage.end(one, Outcome.CANCELLED)
    assert closed(stage) == [(Outcome.EXPIRED, False)]
    assert [sent.index for sent in assigned(stage.last)] == [one.index]


def test_an_attempt_s_time_out_is_booked_once_and_the_last_one_ends_the_task() -> None:
    stage, bag = ready(count=1, timeout_us=5 * SECOND, retries=Retries(expired=1))
    (one,) = stage.offer("a")
    stage.wait(5)
    (two,) = stage.offer("b")
    stage.end(one, Outcome.LOST)
    assert stage.tables.troubles[bag, one.index].counts == {"expired": 1}
    stage.wait(5)
    assert dropped(stage.last) == [two.attempt]
    stage.end(two, Outcome.CANCELLED)
    assert stage.result(bag, one.index) is Outcome.EXPIRED


def test_where_late_results_are_ignored_an_expired_one_is_dropped_and_counts_for_nothing() -> None:
    pool = Pool("paper", max=0, late_results=Late.IGNORE)
    stage, bag = ready(pool, count=1, timeout_us=5 * SECOND)
    (one,) = stage.offer("a")
    stage.offer("b")
    stage.wait(5)
    assert dropped(stage.last) == [one.attempt]
    (two,) = assigned(stage.last)
    stage.succeed(one)
    assert closed(stage) == [(Outcome.EXPIRED, False)]
    stage.succeed(two)
    assert stage.tables.results[bag, one.index] == (two.attempt, Outcome.SUCCEEDED)


def test_a_result_in_the_very_moment_of_its_time_out_is_in_time() -> None:
    pool = Pool("paper", max=0, late_results=Late.IGNORE)
    stage, bag = ready(pool, count=1, timeout_us=5 * SECOND)
    (one,) = stage.offer("a")
    stage.offer("b")
    stage.now += 5 * SECOND
    stage.succeed(one)
    assert stage.result(bag, one.index) is Outcome.SUCCEEDED
    assert stage.wait(0) == []


def test_a_result_after_that_moment_is_late_also_without_a_tick_between() -> None:
    pool = Pool("paper", max=0, late_results=Late.IGNORE)
    stage, bag = ready(pool, count=1, timeout_us=5 * SECOND, retries=Retries(expired=0))
    (one,) = stage.offer("a")
    stage.now += 5 * SECOND + 1
    stage.succeed(one)
    assert stage.result(bag, one.index) is Outcome.EXPIRED


def test_a_pool_has_a_shortest_time_out() -> None:
    stage, _ = ready(Pool("far", max=0, min_timeout_us=60 * SECOND), timeout_us=SECOND)
    assert stage.offer("a")[0].timeout_us == 60 * SECOND


def test_after_a_restart_nothing_expires_before_its_grace_is_over() -> None:
    stage, _ = ready(count=1, timeout_us=5 * SECOND)
    (one,) = stage.offer("a")
    stage.now += 100 * SECOND
    stage.restart(grace_us=60 * SECOND)
    stage.back("a", "b")
    stage.offer("b")
    assert assigned(stage.wait(59)) == []
    assert [sent.index for sent in assigned(stage.wait(1))] == [one.index]


def test_time_outs_that_are_not_needed_do_not_pile_up() -> None:
    stage = Stage(check=False)
    stage.host("a")
    stage.submit(20_000, timeout_us=3600 * SECOND)
    for _ in range(10_000):
        (one,) = stage.offer("a")
        stage.succeed(one)
    assert len(stage.scheduler.state.timers) < 2500


# late


@pytest.mark.parametrize("late", [Late.ACCEPT, Late.IGNORE])
def test_a_success_after_it_was_given_up_counts_where_the_pool_says_so(late: Late) -> None:
    stage, bag = ready(Pool("home", max=0, late_results=late), count=1)
    (one,) = stage.offer("a")
    stage.silent("a")
    assert stage.tables.outcomes[one.attempt] is Outcome.LOST
    (two,) = stage.offer("b")
    stage.succeed(one)
    if late is Late.ACCEPT:
        assert stage.tables.results[bag, one.index] == (one.attempt, Outcome.SUCCEEDED)
        assert dropped(stage.last) == [two.attempt]
    else:
        assert stage.last == []


def test_a_late_failure_says_nothing() -> None:
    stage, _ = ready(count=1)
    (one,) = stage.offer("a")
    stage.silent("a")
    assert stage.fail(one) == []


def test_what_was_never_sent_is_ignored() -> None:
    stage, bag = ready()
    for number, owner in ((99, bag), (1, 99)):
        assert stage.tell(Ended(number, owner, 3, "a", Outcome.SUCCEEDED)) == []


def test_a_result_told_twice_counts_once() -> None:
    stage, _ = ready()
    (one,) = stage.offer("a")
    stage.succeed(one)
    assert stage.succeed(one) == []


# silence


def test_attempts_of_a_silent_host_are_lost() -> None:
    stage, _ = ready(count=1)
    (one,) = stage.offer("a")
    stage.silent("a")
    assert closed(stage) == [(Outcome.LOST, False)]
    assert stage.offer("b")[0].index == one.index


def test_a_task_that_must_not_run_twice_waits_for_its_silent_host() -> None:
    stage, bag = ready(count=1, repeatable=False)
    (one,) = stage.offer("a")
    stage.silent("a")
    assert stage.offer("b") == []
    told = stage.explain(f"task {bag}/{one.index}")
    assert "the host is not connected, and no second one is sent while it may still run" in told
    stage.back("a")
    stage.succeed(one)
    assert stage.phase(bag) == "finished"


# the owner


def test_a_cancelled_bag_drops_what_runs_and_can_be_resumed() -> None:
    stage, bag = ready(count=2)
    (one,) = stage.offer("a")
    stage.change(bag, Change.CANCEL, why="enough")
    assert dropped(stage.last) == [one.attempt]
    assert stage.phase(bag) == "cancelled"
    stage.end(one, Outcome.CANCELLED)
    assert stage.offer("a") == []
    stage.change(bag, Change.RESUME)
    assert [sent.index for sent in assigned(stage.last)] == [one.index]


def test_a_restart_asks_again_to_drop_what_was_cancelled() -> None:
    stage, bag = ready(count=2)
    (one,) = stage.offer("a")
    stage.change(bag, Change.CANCEL)
    stage.restart()
    assert stage.scheduler.state.attempts[one.attempt].dropping is Outcome.CANCELLED


def test_a_cancelled_bag_whose_results_all_came_is_finished_when_resumed() -> None:
    stage, bag = ready(count=1)
    (one,) = stage.offer("a")
    stage.change(bag, Change.CANCEL)
    stage.succeed(one)
    assert stage.phase(bag) == "cancelled"
    stage.change(bag, Change.RESUME)
    assert stage.phase(bag) == "finished"


def test_a_cancelled_bag_cannot_be_paused_into_life() -> None:
    stage, bag = ready()
    stage.change(bag, Change.CANCEL)
    stage.change(bag, Change.PAUSE)
    assert stage.phase(bag) == "cancelled"


def test_a_paused_bag_sends_nothing_until_it_is_resumed() -> None:
    stage, bag = ready()
    (one,) = stage.offer("a")
    stage.change(bag, Change.PAUSE, why="lunch")
    assert stage.offer("b") == []
    stage.succeed(one)
    assert stage.phase(bag) == "paused"
    assert "The bag is paused: lunch." in stage.explain(f"bag {bag}")
    stage.change(bag, Change.RESUME)
    assert [sent.host for sent in assigned(stage.last)] == ["b"]


def test_failed_tasks_can_be_tried_again() -> None:
    stage, bag = ready(hosts="a", count=1, retries=Retries(task_failed=0))
    (one,) = stage.offer("a")
    stage.fail(one)
    assert stage.phase(bag) == "finished"
    stage.change(bag, Change.RETRY, 0, one.index, 77)
    assert kinds(stage.last)[0] == "Reopen"
    assert stage.phase(bag) == "running"
    (again,) = stage.offer("a")
    assert (again.index, again.why) == (one.index, "again: its owner asked to try it again")
    stage.succeed(again)
    assert stage.results(bag) == [Outcome.SUCCEEDED] * 2
    assert stage.phase(bag) == "finished"


def test_trying_again_what_did_not_fail_changes_nothing() -> None:
    stage, bag = ready(hosts="a", count=1)
    (one,) = stage.offer("a")
    stage.succeed(one)
    assert stage.change(bag, Change.RETRY, 0, 1) == []
    assert stage.phase(bag) == "finished"


def test_a_finished_bag_is_light() -> None:
    stage = Stage(check=False)
    stage.host("a")
    bag = stage.submit(3000, permutation=array("I", range(3000)).tobytes())
    while stage.phase(bag) == "running":
        for one in stage.offer("a"):
            stage.succeed(one, run_s=0.0001)
    known = stage.scheduler.state.bags[bag]
    assert isinstance(known.done, AllBits) and isinstance(known.order, Listed)
    assert not (known.live or known.troubles or known.requeue.waiting or known.trials)
