"""Another attempt beside one that is out: work queue with replication, and NTDMr."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Growth, Limits, Retries, Strategy
from tailrace.pools.terms import Late, Pool
from tailrace.scheduler.decisions import Assign
from tailrace.scheduler.events import Change

from .stage import GIB, Stage, assigned, dropped

CHEAP = Pool("cheap", max=0, reliable=False, late_results=Late.IGNORE)
DEAR = Pool("dear", max=0)
FORGIVING = Retries(expired=1000, lost=1000)


def _wqr(count: int, hosts: int, most: int = 2) -> tuple[Stage, list[Assign]]:
    stage = Stage()
    stage.submit(count, replication=Strategy("wqr", {"most": most}), trial_us=0)
    sent = []
    for number in range(hosts):
        stage.host(f"h{number}")
        sent += stage.offer(f"h{number}")
    return stage, sent


def test_wqr_repeats_nothing_while_there_is_something_to_send() -> None:
    stage, sent = _wqr(3, 2)
    assert [one.index for one in sent] == [0, 1]
    stage.succeed(sent[0])
    assert [one.index for one in stage.offer("h0")] == [2]


def test_wqr_repeats_the_one_that_is_out_longest_on_another_host() -> None:
    stage, sent = _wqr(2, 4)
    assert [(one.index, one.host) for one in sent] == [
        (0, "h0"), (1, "h1"), (0, "h2"), (1, "h3")
    ]  # fmt: skip
    assert "wqr" in sent[2].why
    stage.host("h4")
    assert stage.offer("h4") == []


def test_wqr_goes_on_evenly_up_to_its_most() -> None:
    _, sent = _wqr(2, 7, most=3)
    assert [one.index for one in sent] == [0, 1, 0, 1, 0, 1]


def test_the_first_result_counts_and_the_other_attempt_is_dropped() -> None:
    stage, sent = _wqr(1, 2)
    assert dropped(stage.succeed(sent[1])) == [sent[0].attempt]
    assert stage.result(1, 0) is Outcome.SUCCEEDED
    stage.end(sent[0], Outcome.CANCELLED)
    assert stage.phase(1) == "finished"


def test_a_replica_that_is_lost_is_replaced_when_a_host_is_idle() -> None:
    stage, sent = _wqr(1, 2)
    stage.silent("h1")
    assert stage.result(1, 0) is None
    stage.host("h2")
    (again,) = stage.offer("h2")
    assert again.index == 0
    stage.succeed(sent[0])
    assert stage.phase(1) == "finished"


def test_replication_survives_a_restart() -> None:
    stage, sent = _wqr(2, 3)
    stage.restart()
    stage.back("h0", "h1", "h2")
    stage.host("h3")
    assert [one.index for one in stage.offer("h3")] == [1]
    for one in sent:
        stage.succeed(one)
    assert stage.phase(1) == "finished"


def _ntdmr(count: int, cheap: int, dear: int = 0, **options: Any) -> tuple[Stage, list[Assign]]:
    stage = Stage(CHEAP, DEAR)
    told = {"n": 1, "t_s": 100.0, "d_s": 200.0, "mr": 0.5, "turnaround_s": 100.0, **options}
    stage.submit(count, replication=Strategy("ntdmr", told), retries=FORGIVING, trial_us=0)
    sent = []
    for number in range(cheap):
        stage.host(f"c{number}", pool="cheap")
    for number in range(cheap):
        sent += stage.offer(f"c{number}")
    for number in range(dear):
        stage.host(f"d{number}", pool="dear")
        sent += stage.offer(f"d{number}")
    return stage, sent


def test_before_the_tail_only_cheap_hosts_get_tasks_with_four_turnarounds_of_time() -> None:
    _, sent = _ntdmr(6, 3, dear=2)
    assert [one.host for one in sent] == ["c0", "c1", "c2"]
    assert {one.timeout_us for one in sent} == {400_000_000}


def test_the_time_out_follows_the_turnarounds_after_five_results() -> None:
    stage, sent = _ntdmr(20, 3)
    for _ in range(5):
        stage.wait(10)
        one = sent.pop(0)
        stage.succeed(one)
        sent += stage.offer(one.host)
    assert sent[-1].timeout_us is not None
    assert 4 * 10_000_000 <= sent[-1].timeout_us < 4 * 30_000_000


def _in_the_tail(**options: Any) -> tuple[Stage, Assign]:
    """Three cheap hosts, two tasks left of four: one has been out for 10 s, and one for none."""
    stage, sent = _ntdmr(4, 3, dear=2, **options)
    stage.succeed(sent[0])
    sent += stage.offer("c0")
    assert [one.index for one in sent] == [0, 1, 2, 3]
    stage.wait(10)
    stage.succeed(sent[1])
    assert stage.tables.bags[1].tail_us == 10_000_000
    stage.succeed(sent[2])
    return stage, sent[3]


def test_in_the_tail_a_task_is_wanted_again_t_after_its_last_sending() -> None:
    stage, out = _in_the_tail(t_s=100.0)
    assert stage.offer("c1") == []
    assert assigned(stage.wait(89)) == []
    (second,) = assigned(stage.wait(1))
    assert (second.index, second.host, second.timeout_us) == (out.index, "c1", 200_000_000)


def test_after_n_cheap_ones_the_next_goes_to_a_dear_host_once() -> None:
    stage, out = _in_the_tail(n=1)
    stage.offer("c1"), stage.offer("c2")
    assert [one.host for one in assigned(stage.wait(90))] == ["c1"]
    assert [one.host for one in assigned(stage.wait(100))] == ["d0"]
    assert assigned(stage.wait(100)) == []
    assert stage.result(1, out.index) is None


def test_with_n_of_zero_the_dear_host_is_next_and_without_end_it_is_never() -> None:
    stage, _ = _in_the_tail(n=0)
    assert [one.host for one in assigned(stage.wait(90))] == ["d0"]
    stage, _ = _in_the_tail(n=-1)
    for host in ("c1", "c2"):
        stage.offer(host)
    sent = [*assigned(stage.wait(90)), *assigned(stage.wait(100))]
    assert [one.host for one in sent] == ["c1", "c2"]


def test_a_loser_whose_worker_ends_before_it_hears_of_the_drop_was_cancelled() -> None:
    """Its bag has ended, and with it the lease of its machine: nobody took it from us."""
    for vanished in (Outcome.PREEMPTED, Outcome.LOST):
        stage, sent = _wqr(1, 2)
        stage.succeed(sent[1])
        stage.end(sent[0], vanished, run_us=1000)
        assert stage.tables.outcomes[sent[0].attempt] is Outcome.CANCELLED


def test_what_is_only_wanted_is_dropped_with_the_result() -> None:
    stage, out = _in_the_tail(n=1)
    stage.wait(90)  # wanted, and no cheap host is idle
    assert stage.succeed(out)
    assert stage.phase(1) == "finished"


@pytest.mark.parametrize(("mr", "most"), [(0.02, 2), (0.07, 7), (0.071, 8), (0.0, 0)])
def test_at_most_mr_times_the_cheap_hosts_are_dear(mr: float, most: int) -> None:
    stage, sent = _ntdmr(99, 100, dear=50, n=0, t_s=0.0, mr=mr)
    on_dear = [one for one in [*sent, *assigned(stage.wait(1))] if one.host.startswith("d")]
    assert len(on_dear) == most


def test_an_attempt_that_was_sent_is_left_to_end_where_nothing_is_cancelled() -> None:
    stage, out = _in_the_tail(n=0, cancel=False)
    (second,) = assigned(stage.wait(90))
    assert dropped(stage.succeed(second)) == []
    assert stage.phase(1) == "finished"
    stage.succeed(out)


def test_the_tail_goes_on_after_a_restart() -> None:
    stage, out = _in_the_tail(n=1)
    stage.offer("c1")
    assert [one.host for one in assigned(stage.wait(90))] == ["c1"]
    stage.restart()
    stage.back("c0", "c1", "c2", "d0", "d1")
    stage.offer("c2"), stage.offer("d0")
    assert assigned(stage.wait(99)) == []
    assert [one.host for one in assigned(stage.wait(1))] == ["d0"]
    assert stage.result(1, out.index) is None


@pytest.mark.parametrize("strategy", ["ntdmr", "planned"])
def test_what_comes_in_the_tail_goes_to_a_dear_host_where_no_cheap_one_is_left(
    strategy: str,
) -> None:
    stage = Stage(Pool("cheap", max=0, reliable=False), Pool("dear", max=0))
    stage.submit(4, arrived=3, trial_us=0, replication=Strategy(strategy, {}))
    stage.hosts("c0", "c1", "c2", pool="cheap")
    for one in [*stage.offer("c0"), *stage.offer("c1"), *stage.offer("c2")]:
        stage.succeed(one)
    for name in ("c0", "c1", "c2"):
        stage.silent(name)
    stage.host("d0", pool="dear")
    assert stage.offer("d0") == []
    (late,) = stage.arrive(1, 4)
    assert late.host == "d0"
    stage.succeed(late)
    assert stage.phase(1) == "finished"


def test_a_host_that_leaves_its_pool_leaves_its_place_among_the_dear_ones() -> None:
    stage = Stage(Pool("cheap", max=0, reliable=False), Pool("dear", max=0))
    everything = Strategy("budget", {"amount": 100.0, "mr": 0.3})
    stage.submit(3, trial_us=0, replication=everything)
    stage.hosts("c0", "c1", "c2", pool="cheap")
    stage.offer("c0")
    stage.host("d0", pool="dear")
    (only,) = stage.offer("d0")
    stage.host("d0", pool="cheap")
    stage.end(only, Outcome.LOST)
    stage.host("d1", pool="dear")
    assert [one.host for one in stage.offer("d1")] == ["d1"]


def test_a_task_beyond_all_that_is_allowed_is_sent_again_also_after_a_restart() -> None:
    """Its cheap attempts and the dear one were taken away: it must end somewhere."""
    stage, out = _in_the_tail(n=1)
    stage.end(out, Outcome.PREEMPTED)
    (second,) = stage.offer("c1")
    stage.end(second, Outcome.PREEMPTED)
    for name in ("d0", "d1"):
        (dear,) = assigned(stage.last)
        assert dear.host == name
        stage.end(dear, Outcome.PREEMPTED)
    assert assigned(stage.last) == []
    stage.restart()
    stage.back("c0", "c1", "c2", "d0", "d1")
    assert [one.index for one in [*stage.offer("d1"), *stage.offer("c2")]] == [out.index]


def test_what_came_due_in_a_pause_is_sent_when_the_bag_goes_on() -> None:
    stage, out = _in_the_tail(t_s=100.0)
    stage.offer("c1")
    stage.change(1, Change.PAUSE)
    assert assigned(stage.wait(95)) == []
    assert [one.index for one in assigned(stage.change(1, Change.RESUME))] == [out.index]


def test_a_cancelled_bag_that_is_taken_up_after_a_restart_has_its_dear_hosts_again() -> None:
    stage, out = _in_the_tail(n=0)
    stage.change(1, Change.CANCEL)
    stage.end(out, Outcome.CANCELLED)
    stage.restart()
    stage.back("c0", "c1", "c2", "d0", "d1")
    stage.offer("d0")
    assert [one.host for one in assigned(stage.change(1, Change.RESUME))] == ["d0"]


def test_where_no_pool_is_reliable_the_cheap_ones_go_on() -> None:
    stage = Stage(CHEAP)
    told = {"n": 1, "t_s": 100.0, "d_s": 200.0, "turnaround_s": 100.0}
    stage.submit(1, replication=Strategy("ntdmr", told), retries=FORGIVING, trial_us=0)
    for name in ("c0", "c1"):
        stage.host(name, pool="cheap")
    for _ in range(5):
        (one, *_) = [*stage.offer("c0"), *stage.offer("c1"), *assigned(stage.wait(100))]
        stage.end(one, Outcome.LOST)
    assert stage.result(1, 0) is None


def test_in_the_tail_a_task_that_failed_is_tried_elsewhere() -> None:
    """A broken host is always the first that is idle: it would have the whole tail."""
    stage, out = _in_the_tail(n=3)
    assert assigned(stage.fail(out)) == []  # on the only host that offers
    assert stage.offer(out.host) == []
    (again,) = stage.offer("c1")
    assert (again.index, again.host != out.host) == (out.index, True)


def test_in_the_tail_a_task_that_failed_everywhere_else_comes_again_to_its_host() -> None:
    stage, out = _in_the_tail(n=3)
    stage.fail(out)
    stage.silent("c1"), stage.silent("c2")
    assert [one.host for one in stage.offer("c0")] == ["c0"]


def test_in_the_tail_no_task_is_sent_beside_itself() -> None:
    stage = Stage(CHEAP, DEAR)
    told = {"n": 3, "t_s": 10.0, "d_s": 200.0, "mr": 0.5, "turnaround_s": 100.0}
    stage.submit(1, replication=Strategy("ntdmr", told), retries=FORGIVING, trial_us=0)
    stage.host("c0", cores=4)
    stage.host("c1", cores=4)
    assert len(stage.offer("c0")) == 1
    assert assigned(stage.wait(20)) == []
    assert stage.offer("c0") == []
    assert [one.host for one in stage.offer("c1")] == ["c1"]


def test_in_the_tail_a_task_goes_where_its_needs_fit_that_have_grown() -> None:
    """Its attempt passed its limit on memory, so that it needs more than a cheap host has."""
    stage = Stage(CHEAP, DEAR)
    told = {"n": 3, "t_s": 10.0, "d_s": 200.0, "mr": 1.0, "turnaround_s": 100.0}
    stage.submit(1, replication=Strategy("ntdmr", told), retries=FORGIVING, trial_us=0,
                 needs={"cores": 1000, "memory": GIB}, limits=Limits(memory=GIB),
                 growth=Growth(grow=("memory",)))  # fmt: skip
    stage.host("c0", memory=GIB)
    stage.host("c1", memory=GIB)
    stage.host("d0", pool="dear", memory=4 * GIB)
    (out,) = stage.offer("c0")
    stage.offer("c1"), stage.offer("d0")
    (again,) = assigned(stage.end(out, Outcome.OVER_LIMIT, limit="memory"))
    assert (again.host, again.needs) == ("d0", {"cores": 1000, "memory": 2 * GIB})


def _on_dear(stage: Stage, sent: list[Assign], seconds: float) -> list[Assign]:
    """What is out there ends well after so long, and others follow."""
    stage.wait(seconds)
    out = [one for one in sent if one.host.startswith("d")]
    for one in out:
        stage.succeed(one)
    return [again for one in out for again in stage.offer(one.host)]


def test_a_reliable_host_has_the_time_that_attempts_take_there_and_not_d() -> None:
    """D of 20 s would give up each of them, and send it there again, without end."""
    stage, sent = _ntdmr(9, 10, dear=2, n=0, t_s=0.0, d_s=20.0, mr=1.0)
    assert {one.timeout_us for one in sent[1:]} == {4 * 100_000_000}  # assumed
    for _ in range(3):
        sent = _on_dear(stage, sent, 50)
    assert {one.timeout_us for one in sent} == {4 * 50_000_000}  # measured


def test_on_a_reliable_host_d_holds_where_it_is_longer() -> None:
    _, sent = _ntdmr(9, 10, dear=2, n=0, t_s=0.0, d_s=900.0, mr=1.0)
    assert {one.timeout_us for one in sent[1:]} == {900_000_000}


def test_what_was_given_up_on_a_reliable_host_has_twice_the_time_there() -> None:
    stage = Stage(CHEAP, replace(DEAR, late_results=Late.IGNORE))
    told = {"n": 0, "t_s": 0.0, "d_s": 20.0, "mr": 1.0, "turnaround_s": 100.0}
    stage.submit(1, replication=Strategy("ntdmr", told), retries=FORGIVING, trial_us=0)
    for name, pool in (("c0", "cheap"), ("c1", "cheap"), ("d0", "dear")):
        stage.host(name, pool=pool)
    stage.offer("c0"), stage.offer("d0")
    (first,) = assigned(stage.wait(0))
    assert first.attempt in dropped(stage.wait(400))
    stage.end(first, Outcome.CANCELLED)
    (again,) = stage.offer("d0")
    assert (first.timeout_us, again.timeout_us) == (400_000_000, 800_000_000)


def test_the_time_before_the_tail_may_be_given() -> None:
    stage, sent = _ntdmr(20, 3, patience_s=70.0)
    for _ in range(6):
        stage.wait(10)
        one = sent.pop(0)
        stage.succeed(one)
        sent += stage.offer(one.host)
    assert {one.timeout_us for one in sent} == {70_000_000}


def test_what_was_sent_again_at_once_is_out_alone_for_t() -> None:
    """When it was due after the attempt that failed counts no more."""
    stage, out = _in_the_tail(n=3, t_s=100.0)
    for name in ("c1", "c2"):
        stage.offer(name)
    stage.wait(80)
    (again,) = assigned(stage.end(out, Outcome.LOST))
    assert assigned(stage.wait(99)) == []
    (third,) = assigned(stage.wait(1))
    assert {out.host, again.host, third.host} == {"c0", "c1", "c2"}
