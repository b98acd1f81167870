"""Whose fault was it?"""

from __future__ import annotations

import pytest

from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Retries
from tailrace.pools.terms import Pool
from tailrace.scheduler.decisions import Exclude, Remember
from tailrace.scheduler.rows import HostRow

from .stage import Stage, assigned, kinds, settled


def ready(count: int = 10, *hosts: str, **terms: object) -> tuple[Stage, int]:
    """Hosts of one kind, its trial passed."""
    stage = Stage()
    stage.hosts(*(hosts or ("a", "b", "c")))
    bag = stage.submit(count + 1, **terms)  # type: ignore[arg-type]
    stage.pass_trial((hosts or ("a",))[0])
    return stage, bag


def booked(stage: Stage, host: str) -> int:
    return stage.tables.hosts[host].booked


def test_a_failure_is_provisional_and_the_next_attempt_goes_elsewhere() -> None:
    stage, bag = ready()
    (one,) = stage.offer("a")
    stage.fail(one)
    assert stage.result(bag, one.index) is None
    assert one.index not in [sent.index for sent in stage.offer("a")]
    (again,) = stage.offer("b")
    assert again.index == one.index
    assert again.why == "again: task failed (exit 1, no) on a"


def test_success_elsewhere_books_the_failure_on_the_first_host_and_returns_the_retry() -> None:
    stage, bag = ready(retries=Retries(task_failed=1))
    (one,) = stage.offer("a")
    stage.fail(one)
    (again,) = stage.offer("b")
    stage.succeed(again)
    assert stage.result(bag, one.index) is Outcome.SUCCEEDED
    assert (booked(stage, "a"), booked(stage, "b")) == (1, 0)


def test_a_task_that_cannot_be_made_is_nobodys_fault_and_not_tried_again() -> None:
    stage, bag = ready(retries=Retries(task_failed=9))
    (one,) = stage.offer("a")
    stage.end(one, Outcome.TASK_FAILED, text="the format does not suit 1.5", unmade=True)
    assert stage.result(bag, one.index) is Outcome.TASK_FAILED
    assert booked(stage, "a") == 0
    assert one.index not in [sent.index for host in "abc" for sent in stage.offer(host)]


def test_what_was_never_sent_proves_nothing_of_its_host() -> None:
    stage = Stage()
    stage.hosts("a")
    stage.submit(3)
    (one,) = stage.offer("a")
    stage.end(one, Outcome.TASK_FAILED, text="no", unmade=True)
    assert not stage.scheduler.state.hosts["a"].proven


def test_many_tasks_that_cannot_be_made_brake_their_bag() -> None:
    stage, bag = ready(100)
    for n in range(20):
        (one,) = stage.offer("a")
        stage.end(one, Outcome.TASK_FAILED, text=f"the format does not suit {n}.5", unmade=True)
    assert stage.offer("a") == []
    assert "20 attempts in a row failed alike" in stage.tables.bags[bag].why


@pytest.mark.parametrize("text", ["no file run_17.csv", "no file run_4.csv"])
def test_the_same_failure_elsewhere_books_it_on_the_task(text: str) -> None:
    """The same but for the numbers in it."""
    stage, bag = ready()
    (one,) = stage.offer("a")
    stage.fail(one, text="no file run_17.csv")
    (again,) = stage.offer("b")
    stage.fail(again, text=text)
    assert stage.result(bag, one.index) is Outcome.TASK_FAILED
    assert (booked(stage, "a"), booked(stage, "b")) == (0, 0)


def test_another_exit_code_is_another_failure() -> None:
    stage, bag = ready()
    (one,) = stage.offer("a")
    stage.fail(one, exit=1)
    (again,) = stage.offer("b")
    stage.fail(again, exit=2)
    assert stage.result(bag, one.index) is None
    assert stage.offer("c")[0].index == one.index


def test_different_failures_on_three_hosts_are_the_task_s() -> None:
    stage, _ = ready()
    for exit, host in enumerate(("a", "b", "c"), 1):
        (one,) = stage.offer(host)
        stage.fail(one, exit=exit)
    assert settled(stage.last) == [(one.index, Outcome.TASK_FAILED)]
    assert [booked(stage, host) for host in ("a", "b", "c")] == [0, 0, 0]


def test_with_a_single_host_the_task_is_to_blame_and_its_retries_are_used_there() -> None:
    stage, bag = ready(10, "a", retries=Retries(task_failed=2))
    (one,) = stage.offer("a")
    index = one.index
    for _ in range(2):
        stage.fail(one)
        assert stage.result(bag, index) is None
        (one,) = stage.offer("a")
        assert one.index == index
    stage.fail(one)
    assert stage.result(bag, index) is Outcome.TASK_FAILED


def test_without_retries_the_first_failure_is_the_last() -> None:
    stage, bag = ready(retries=Retries(task_failed=0))
    (one,) = stage.offer("a")
    stage.fail(one)
    assert stage.result(bag, one.index) is Outcome.TASK_FAILED


def test_hosts_the_bag_may_not_use_are_nobody_to_ask() -> None:
    stage = Stage()
    stage.host("a")
    stage.host("small", cores=0)
    stage.host("foreign", pool="elsewhere")
    bag = stage.submit(2, pools=("home",))
    stage.pass_trial("a")
    (one,) = stage.offer("a")
    stage.fail(one)
    (again,) = stage.offer("a")
    stage.fail(again)
    assert stage.result(bag, 1) is Outcome.TASK_FAILED


def test_a_task_goes_back_to_an_avoided_host_when_the_others_leave() -> None:
    stage, _ = ready(1, "a", "b")
    (one,) = stage.offer("a")
    stage.fail(one)
    assert stage.offer("a") == []
    stage.silent("b")
    assert [sent.index for sent in assigned(stage.last)] == [one.index]


def test_the_blame_survives_a_restart() -> None:
    stage, bag = ready(1, "a", "b")
    (one,) = stage.offer("a")
    stage.fail(one)
    stage.restart()
    stage.back("a", "b")
    assert stage.offer("a") == []
    (again,) = stage.offer("b")
    stage.succeed(again)
    assert stage.phase(bag) == "finished"
    assert booked(stage, "a") == 1


# exclusion


def bad_luck(stage: Stage, host: str, other: str, times: int) -> None:
    """Tasks fail on one host and succeed on the other."""
    for _ in range(times):
        (one,) = stage.offer(host)
        stage.fail(one)
        (again,) = stage.offer(other)
        stage.succeed(again)


def test_a_host_is_excluded_when_its_failures_are_improbable() -> None:
    stage, _ = ready(100)
    bad_luck(stage, "b", "c", 3)
    assert not [one for one in stage.all if isinstance(one, Exclude)]
    bad_luck(stage, "b", "c", 1)
    (told,) = [one for one in stage.last if isinstance(one, Exclude)]
    assert (told.host, told.until_us) == ("b", stage.now + 60_000_000)
    assert told.why == "4 failures booked on it, the last: task 4 succeeded elsewhere"
    assert stage.offer("b") == []
    assert "excluded for 60 s more (time 1), then probed: 4 failures" in stage.explain("host b")


def test_a_host_is_not_excluded_for_what_happens_to_all() -> None:
    stage, _ = ready(400, "a", "b", "c", retries=Retries(task_failed=3))
    for _ in range(20):
        for one, other in (("a", "b"), ("b", "c"), ("c", "a")):
            bad_luck(stage, one, other, 1)
            for _ in range(3):
                (sent,) = stage.offer(other)
                stage.succeed(sent)
    excluded = [one for one in stage.all if isinstance(one, Exclude)]
    assert len(excluded) <= 2  # the first to fail, before the others' rate was known


def excluded_host() -> Stage:
    stage, _ = ready(200)
    bad_luck(stage, "b", "c", 4)
    return stage


def test_after_its_exclusion_a_host_is_probed_with_one_task_and_then_trusted() -> None:
    stage = excluded_host()
    stage.host("b", cores=4)
    assert stage.offer("b") == []
    stage.wait(60)
    (probe,) = assigned(stage.last)
    assert stage.offer("b") == []
    assert "being probed" in stage.explain("host b")
    stage.succeed(probe)
    assert [one.host for one in assigned(stage.last)] == ["b"] * 4
    assert stage.tables.hosts["b"].excluded_until_us == 0


def test_a_probe_that_fails_doubles_the_exclusion() -> None:
    stage = excluded_host()
    stage.wait(60)
    (probe,) = stage.offer("b")
    stage.fail(probe)
    (again,) = stage.offer("c")
    stage.succeed(again)
    (told,) = [one for one in stage.last if isinstance(one, Exclude)]
    assert told.until_us == stage.now + 120_000_000
    stage.wait(119)
    assert stage.offer("b") == []
    stage.wait(1)
    assert len(assigned(stage.last)) == 1


def test_failures_booked_while_it_is_excluded_do_not_double_it() -> None:
    stage, _ = ready(200, "a", "b", "c")
    stage.host("b", cores=6)
    sent = stage.offer("b")
    assert len(sent) == 6
    for one in sent:
        stage.fail(one)
    for _ in sent:
        (again,) = stage.offer("c")
        stage.succeed(again)
    assert len([one for one in stage.all if isinstance(one, Exclude)]) == 1


def test_the_last_host_is_never_excluded() -> None:
    stage, _ = ready(100, "a", "b")
    bad_luck(stage, "b", "a", 3)
    (one,) = stage.offer("b")
    stage.fail(one)
    (again,) = stage.offer("a")
    stage.silent("a")
    stage.succeed(again)
    assert not [one for one in stage.all if isinstance(one, Exclude)]


def test_the_last_host_of_a_bag_s_pool_is_never_excluded() -> None:
    stage = Stage(Pool("home", max=0), Pool("away", max=0))
    stage.host("a")
    stage.host("b", pool="away")
    stage.submit(50)
    stage.submit(50, pools=("away",))
    stage.pass_trial("a")
    bad_luck(stage, "b", "a", 4)
    assert not [one for one in stage.all if isinstance(one, Exclude)]


def test_an_excluded_host_is_readmitted_when_the_others_leave() -> None:
    stage = excluded_host()
    stage.offer("b")
    stage.silent("a")
    assert assigned(stage.last) == []
    stage.silent("c")
    (probe,) = assigned(stage.last)
    assert probe.host == "b"


def test_an_exclusion_survives_a_restart_and_is_followed_by_a_probe() -> None:
    stage = excluded_host()
    stage.restart()
    stage.back("a", "c", "b")
    stage.host("b", cores=4)
    assert stage.offer("b") == []
    stage.wait(61)
    assert len(assigned(stage.last)) == 1


def test_a_host_that_cannot_run_tasks_is_booked_at_once() -> None:
    stage, bag = ready(20)
    for _ in range(5):
        (one,) = stage.offer("b")
        stage.end(one, Outcome.HOST_FAILED, text="no space left")
    assert [one.host for one in stage.last if isinstance(one, Exclude)] == ["b"]
    assert stage.phase(bag) == "running"


def test_a_host_s_record_is_stored_now_and_then_and_nearly_whole() -> None:
    stage, _ = ready(100, "a")
    stored = 0
    for done in range(2, 60):
        (one,) = stage.offer("a")
        stage.succeed(one)
        for row in [d.row for d in stage.last if isinstance(d, Remember)]:
            stored = row.succeeded if isinstance(row, HostRow) else stored
        known = stage.tables.hosts["a"].succeeded
        assert known * 2 >= done and known + 16 >= done
    assert stored == 48
    assert kinds(stage.last).count("Settle") == 1
