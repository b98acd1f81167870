"""An event costs the same with ten hosts and a thousand, with two bags and many, and however many
tasks wait. Counted in calls of functions, which no busy machine can distort."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import pytest

from tailrace.bag.outcome import Outcome
from tailrace.bag.policy import BagPolicy, Policy
from tailrace.bag.terms import Retries, Strategy
from tailrace.cli.version import compiled
from tailrace.pools.terms import Pool

from .stage import Stage

NTDMR: dict[str, object] = {"replication": Strategy("ntdmr")}
BY_POLICY: dict[str, object] = {
    "policy": BagPolicy(Policy(replication_requirements="NumberOfReplicas < 2"))
}

pytestmark = pytest.mark.skipif(compiled(), reason="compiled modules tell a tracer nothing")


def calls(work: Callable[[], object]) -> int:
    """Python functions entered and lines run: a loop over everything shows in the lines."""
    count = 0

    def note(frame: object, event: str, arg: object) -> object:
        nonlocal count
        count += 1
        return note

    sys.settrace(note)  # type: ignore[arg-type]
    try:
        work()
    finally:
        sys.settrace(None)
    return count


def cost_of_a_task(stage: Stage, host: str) -> int:
    """Offered, assigned, ended; the least of a few, as now and then something is stored."""

    def one() -> None:
        for sent in stage.offer(host):
            stage.succeed(sent)

    return min(calls(one) for _ in range(5))


def crowd(hosts: int = 10, done: int = 0, hungry: int = 0, waiting: int = 0) -> Stage:
    stage = Stage(check=False)
    for _ in range(done):
        stage.submit(0)
    stage.hosts(*(f"h{number}" for number in range(hosts)))
    stage.submit(100_000)
    for _ in range(hungry):
        stage.submit(5)
    stage.pass_trial("h0")
    stage.tables.enter = lambda decisions, now: None  # type: ignore[method-assign]
    if waiting:
        _expire(stage, "h1", waiting)
    return stage


def _expire(stage: Stage, host: str, count: int) -> None:
    while count > 0:
        for sent in stage.offer(host):
            stage.succeed(sent, run_s=0.0001)
        sent_ahead = stage.offer(host)
        for one in sent_ahead:
            stage.end(one, Outcome.EXPIRED)
        count -= len(sent_ahead)


def test_many_hosts() -> None:
    assert cost_of_a_task(crowd(hosts=1000), "h3") <= cost_of_a_task(crowd(hosts=10), "h3")


def test_many_finished_bags() -> None:
    assert cost_of_a_task(crowd(done=500), "h3") <= cost_of_a_task(crowd(done=2), "h3")


def test_many_hungry_bags() -> None:
    assert cost_of_a_task(crowd(hungry=500), "h3") <= cost_of_a_task(crowd(hungry=10), "h3")


def test_many_bags_whose_rank_each_host_has_to_be_asked_for() -> None:
    """Those that look the same to it are asked about once."""

    def among(bags: int) -> int:
        stage = Stage(check=False)
        stage.hosts("h")
        policy = BagPolicy(Policy(rank="Tail ? Host.JobsToday : Host.NumCpus"))
        for count in [1] * bags + [1000] * bags:
            stage.submit(count, policy=policy, trial_us=0)
        stage.tables.enter = lambda decisions, now: None  # type: ignore[method-assign]
        return cost_of_a_task(stage, "h")

    assert among(300) <= among(5) * 1.2  # a heap of them is a little higher


@pytest.mark.parametrize("strategy", [NTDMR, BY_POLICY], ids=["ntdmr", "ReplicationRequirements"])
def test_many_bags_that_could_repeat_tasks_and_want_nothing(strategy: dict[str, object]) -> None:
    def among(bags: int) -> int:
        stage = Stage(check=False)
        stage.hosts("h1", "h2")
        for _ in range(bags):
            stage.submit(3, arrived=0, repeatable=True, **strategy)
        stage.submit(100_000)
        stage.pass_trial("h1")
        stage.tables.enter = lambda decisions, now: None  # type: ignore[method-assign]
        return cost_of_a_task(stage, "h1")

    assert among(300) <= among(10)


def test_many_hungry_bags_of_other_pools() -> None:
    def among(others: int) -> int:
        stage = Stage(Pool("home", max=0), Pool("away", max=0), check=False)
        stage.host("far", pool="away")
        for _ in range(others):
            stage.submit(5, pools=("away",))
        stage.host("h", pool="home")
        stage.submit(1000)
        stage.pass_trial("h")
        return cost_of_a_task(stage, "h")

    assert among(500) <= among(2)


def test_many_idle_hosts_that_a_bag_may_not_use() -> None:
    def among(idle: int) -> int:
        stage = Stage(Pool("home", max=0), Pool("away", max=0), check=False)
        bag = stage.submit(100, pools=("away",), arrived=0)
        stage.host("far", pool="away")
        for number in range(idle):
            stage.host(f"h{number}")
            stage.offer(f"h{number}")
        return min(calls(lambda: stage.arrive(bag, count)) for count in range(1, 5))  # noqa: B023

    assert among(1000) <= among(10)


HAPPENINGS = ("a preemption", "a failure", "a submission", "a machine that is lost")


@pytest.mark.parametrize("what", HAPPENINGS)
def test_many_bags_that_have_sent_all_idle_hosts_away(what: str) -> None:
    """Only the bag that has more to send looks at them again."""

    def among(bags: int) -> int:
        stage = Stage(check=False)
        stage.host("w", cores=4)
        stage.hosts("lost")
        for number in range(bags):
            own = f'Host.Name == "{"x" if number else "w"}" && Host.ErrorRate < 0.9'
            stage.submit(500, policy=BagPolicy(Policy(job_requirements=own)), trial_us=0)
        out = stage.offer("w")
        for number in range(30):
            stage.host(f"idle{number}")
            assert stage.offer(f"idle{number}") == []

        def happens() -> None:
            if what == "a submission":
                policy = BagPolicy(Policy(job_requirements='Host.Name == "y"'))
                stage.submit(9, policy=policy, trial_us=0)
            elif what == "a machine that is lost":
                stage.silent("lost")
            else:
                failed = what == "a failure"
                stage.end(out.pop(), Outcome.TASK_FAILED if failed else Outcome.PREEMPTED)

        return calls(happens)

    looks = 30 * 100  # hosts, and bags that were there before: a look takes dozens of lines
    assert among(101) - among(1) < 2 * looks


def test_many_idle_hosts_while_what_is_wanted_waits_for_a_reliable_one() -> None:
    """One task of two is wanted a second time, on the reliable host, which is busy."""

    def among(idle: int) -> int:
        cheap, own = Pool("cheap", max=0, reliable=False), Pool("own", max=0)
        stage = Stage(cheap, own, check=False)
        stage.hosts(*(f"h{number}" for number in range(idle)), pool="cheap")
        stage.host("own", pool="own")
        stage.submit(2, trial_us=0, replication=Strategy("ntdmr", {"n": 0, "t_s": 1}))
        for number in range(idle):
            stage.offer(f"h{number}")
        stage.wait(5)
        bag = stage.scheduler.state.bags[1]
        assert bag.replication is not None and bag.replication.waits(0)
        other = stage.submit(9, trial_us=0, pools=("own",), arrived=0)
        return min(calls(lambda: stage.arrive(other, count)) for count in range(1, 5))  # noqa: B023

    assert among(1000) <= among(10)


def test_nobody_wakes_for_the_time_out_of_an_attempt_that_has_ended() -> None:
    stage = Stage()
    stage.hosts("a", "b")
    stage.submit(3, timeout_us=60_000_000, trial_us=0)
    (first,), (second,) = stage.offer("a"), stage.offer("b")
    assert stage.scheduler.next_wakeup() == 60_000_000
    stage.wait(5)
    stage.succeed(second)
    stage.succeed(first)
    assert stage.scheduler.next_wakeup() is None
    stage.offer("b")
    assert stage.scheduler.next_wakeup() == 65_000_000


def test_many_tasks_that_avoid_the_host_that_asks() -> None:
    many, few = crowd(waiting=5000), crowd(waiting=50)
    waiting = [len(stage.scheduler.state.bags[1].requeue.waiting) for stage in (many, few)]
    assert waiting[0] >= 5000 and waiting[1] < 5000
    per_task = [_per_task(stage) for stage in (many, few)]
    assert per_task[0] <= per_task[1] * 1.1


def _per_task(stage: Stage) -> float:
    sent = []
    count = calls(lambda: sent.extend(stage.offer("h1")))
    return count / len(sent)


def test_a_host_that_joins_costs_no_more_for_the_hosts_there_are() -> None:
    few, many = crowd(hosts=10), crowd(hosts=1000)
    assert calls(lambda: many.host("new")) <= calls(lambda: few.host("new"))


def test_a_failure_costs_no_more_with_many_hosts() -> None:
    def fail(stage: Stage) -> None:
        (one,) = stage.offer("h3")
        stage.fail(one)
        (again,) = stage.offer("h4")
        stage.succeed(again)

    few, many = crowd(hosts=10), crowd(hosts=1000)
    assert calls(lambda: fail(many)) <= calls(lambda: fail(few))


def test_a_task_given_up_in_the_tail_costs_no_more_with_many_hosts() -> None:
    """Of a bag for which no reliable one is there."""

    def cost(hosts: int) -> int:
        stage = Stage(Pool("cheap", max=0, reliable=False), Pool("home", max=0), check=False)
        stage.submit(6, trial_us=0, retries=Retries(lost=0), replication=Strategy("ntdmr"))
        names = [f"h{number}" for number in range(hosts)]
        stage.hosts(*names, pool="cheap")
        sent = [one for name in names[:6] for one in stage.offer(name)]
        return min(calls(partial(stage.end, one, Outcome.LOST)) for one in sent[:5])

    assert cost(1000) < 1.5 * cost(10)
