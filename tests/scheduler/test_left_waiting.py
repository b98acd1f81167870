"""Bags and tasks that nobody would look at any more, if it were not for what is tried here."""

from __future__ import annotations

from tests.scheduler.stage import SECOND, Stage, assigned

from tailrace.bag.policy import BagPolicy, Policy
from tailrace.bag.terms import Strategy
from tailrace.pools.terms import Pool

HOME, SPOT = Pool("home", max=0), Pool("spot", max=0, reliable=False)
DEAR = Pool("dear", max=0, reliable=True)


def said(**terms: str) -> BagPolicy:
    return BagPolicy(Policy(**terms))


def ntdmr(n: int = 3, **options: float) -> Strategy:
    return Strategy("ntdmr", {"n": n, "t_s": 10.0, "turnaround_s": 100.0, **options})


def doubted(n: int) -> Stage:
    """Its task has failed on both cheap hosts, each time otherwise: whose fault it was is open."""
    stage = Stage(SPOT, DEAR)
    stage.hosts("c1", "c2", pool="spot")
    stage.host("d", pool="dear")
    stage.submit(1, trial_us=0, replication=ntdmr(n))
    for number, host in enumerate(("c1", "c2")):
        (sent,) = stage.offer(host)
        stage.wait(1)
        stage.fail(sent, exit=1 + number, text=f"in another way {number}")
    return stage


def test_a_task_goes_back_to_cheap_hosts_when_the_reliable_one_has_left() -> None:
    stage = doubted(3)
    stage.silent("d")
    hosts = [sent.host for name in ("c1", "c2") for sent in stage.offer(name)]
    hosts += [sent.host for sent in assigned(stage.wait(60))]
    assert hosts


def test_without_end_means_never_on_a_reliable_host_whatever_fails() -> None:
    stage = doubted(-1)
    assert stage.offer("d") == []
    stage.wait(3600)
    assert stage.scheduler.state.hosts["d"].live == {}


def test_the_time_of_attempts_on_reliable_hosts_has_a_bound() -> None:
    """Forty are given up at once: that is one reason to wait longer, not forty."""
    stage = Stage(DEAR, check=False)
    stage.submit(100, trial_us=0, replication=ntdmr(turnaround_s=3600.0))
    names = [f"h{number}" for number in range(40)]
    stage.hosts(*names)
    sent = [stage.offer(name)[0] for name in names]
    stage.wait(5 * 3600)
    for one in sent:
        stage.succeed(one, run_s=5 * 3600)
    (again, *_) = stage.offer("h0")
    assert again.timeout_us == 2 * 4 * 5 * 3600 * SECOND  # four times the mean, twice


def test_a_host_that_was_sent_away_is_looked_at_when_sending_begins_the_tail() -> None:
    stage = Stage(HOME, DEAR)
    stage.host("d", pool="dear")
    policy = said(job_requirements='Host.Pool == "home" || BOT.Tail')
    stage.submit(20, trial_us=0, tail_below=5, policy=policy)
    assert stage.offer("d") == []
    stage.host("h", cores=17)
    assert stage.offer("h")
    assert [one.host for one in assigned(stage.wait(60))] == ["d"]


def test_a_host_that_was_sent_away_is_looked_at_when_another_that_comes_begins_the_tail() -> None:
    stage = Stage(HOME, DEAR)
    stage.host("d", pool="dear")
    stage.submit(5, trial_us=0, policy=said(job_requirements="BOT.Tail"))
    assert stage.offer("d") == []
    stage.host("h", cores=10)
    assert [one.host for one in assigned(stage.wait(60))] == ["d"]


def test_the_alarm_for_midnight_is_set_once() -> None:
    stage = Stage(HOME, check=False)
    stage.host("full")
    stage.host("w", cores=4)
    policy = said(job_requirements='Host.Name == "w" || Host.JobsToday > 5')
    stage.submit(1000, trial_us=0, policy=policy)
    stage.offer("full")
    before = len(stage.scheduler.state.timers)
    for _ in range(60):
        sent = stage.offer("w")
        stage.wait(1)
        for one in sent:
            stage.succeed(one, run_s=1)
        stage.wait(1)
    assert len(stage.scheduler.state.timers) <= before + 5


def test_what_waits_for_another_attempt_is_no_more_than_the_tail_leaves() -> None:
    stage = Stage(HOME)
    stage.host("good", cores=20)
    bag = stage.submit(20, trial_us=0, tail_below=10)
    assert len(stage.offer("good")) == 20
    stage.silent("good")
    stage.host("bad", cores=20)
    stage.set_policy(bag, said(job_requirements='!BOT.Tail || Host.Name == "good"'))
    assert len(stage.offer("bad")) == 11


def test_a_bag_that_stood_alone_for_a_while_is_not_far_back_in_line() -> None:
    """It held a hundred cores beside another, then none: what it holds now counts."""
    stage = Stage(HOME)
    stage.host("big", cores=100)
    first, _ = stage.submit(1000, trial_us=0), stage.submit(1, trial_us=0)
    sent = stage.offer("big")
    stage.wait(60)
    stage.host("other")
    sent += stage.offer("other")
    for one in sent:
        if one.bag != first:
            stage.succeed(one)
    stage.silent("big")
    stage.silent("other")
    stage.wait(3600)
    second = stage.submit(1000, trial_us=0)
    stage.host("w")
    served = []
    for _ in range(30):
        (one,) = stage.offer("w")
        served.append(one.bag)
        stage.now += 600 * SECOND
        stage.succeed(one, run_s=600)
    assert {first, second} == set(served)


def test_what_a_bag_holds_is_known_after_a_restart_though_others_fill_its_host() -> None:
    stage = Stage(HOME)
    stage.host("h", cores=8, gpus=1)
    stage.submit(7, trial_us=0, owner="ann")
    stage.offer("h")
    bag = stage.submit(1, trial_us=0, owner="bob", needs={"cores": 1000, "gpus": 1})
    stage.offer("h")
    before = stage.scheduler.state.bags[bag].held
    stage.restart()
    assert stage.scheduler.state.bags[bag].held == before == 1000
