"""Hosts that were sent away are looked at again, in time, in turn, and not too often."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from tailrace.bag.outcome import Outcome
from tailrace.bag.policy import BagPolicy, HostPolicy, Policy
from tailrace.bag.terms import Retries, Strategy
from tailrace.pools.terms import Pool
from tailrace.scheduler import policies, verdicts
from tailrace.scheduler.decisions import Acquire, Assign, Unmatched
from tailrace.scheduler.events import BagChanged, Change
from tailrace.scheduler.rules import Ruling

from .stage import GIB, SECOND, Stage, assigned

HOME, SPOT = Pool("home", max=0), Pool("spot", max=0, reliable=False)
HOUR = 3600 * SECOND


def said(**texts: str) -> BagPolicy:
    return BagPolicy(Policy(**texts))


def pass_time(stage: Stage, until_us: int) -> list[Assign]:
    """Woken whenever the scheduler asks for it, and by nothing else."""
    sent = []
    while (wakes := stage.scheduler.next_wakeup()) is not None and wakes <= until_us:
        stage.now = max(wakes, stage.now)
        sent += assigned(stage.wait(0))
    stage.now = until_us
    return sent


def unmatched(stage: Stage, until_us: int) -> list[str]:
    before = len(stage.all)
    pass_time(stage, until_us)
    return [one.why for one in stage.all[before:] if isinstance(one, Unmatched)]


def test_a_machine_that_is_lent_at_night_gets_work_at_night() -> None:
    """Its bag has no policy; the machine's owner looks at the clock."""
    stage = Stage(HOME)
    stage.host("home")
    stage.tell(replace(stage.seen["home"], says=HostPolicy(host_requirements="HourOfDay >= 20")))
    stage.submit(5, trial_us=0)
    assert stage.offer("home") == []
    (sent,) = pass_time(stage, 21 * HOUR)
    assert sent.host == "home"


@pytest.mark.parametrize("matching", ["fcfs", "random"])
def test_those_that_look_again_are_served_by_rank(matching: str) -> None:
    """Also beside a bag that picks its hosts."""
    stage = Stage(HOME)
    stage.hosts("a", "b", "c")
    ranks = {}
    for rank, name in ((0, "fcfs"), (10, "fcfs"), (5, matching)):
        policy = said(job_requirements="HourOfDay >= 1", rank=str(rank))
        ranks[stage.submit(2, policy=policy, trial_us=0, matching=Strategy(name))] = rank
    for host in ("a", "b", "c"):
        assert stage.offer(host) == []
    sent = pass_time(stage, HOUR + 61 * SECOND)
    assert sorted(ranks[one.bag] for one in sent) == [5, 10, 10]


def test_looking_again_costs_little_where_many_bags_send_many_hosts_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each bag has a host of its own on which tasks end all the time, and sends all others away."""
    count, seconds = 20, 60
    stage = Stage(HOME, check=False)
    for number in range(count):
        stage.host(f"idle{number}")
        stage.host(f"w{number}", cores=4)
        own = f'Host.Name == "w{number}" && Host.ErrorRate < 0.5'
        stage.submit(5000, policy=said(job_requirements=own), trial_us=0)
    asked = _count_asked(monkeypatch)
    out = {f"w{n}": stage.offer(f"w{n}") for n in range(count)}
    for number in range(count):
        assert stage.offer(f"idle{number}") == []
    asked.clear()
    for _ in range(seconds):
        stage.wait(1)
        for host in out:
            stage.succeed(out[host].pop(0), run_s=1)
            out[host] += stage.offer(host)
    by_offers = count * count * seconds  # each is asked of each host that offers
    looks = asked["ruled"] - by_offers
    assert looks <= 1.1 * count * count * seconds, "once a second for each bag and idle host"
    assert min(len(one) for one in out.values()) > 0


def _count_asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    asked: Counter[str] = Counter()
    ruled_by = policies.ruled_by

    def counted(*what: object) -> Ruling:
        asked["ruled"] += 1
        return ruled_by(*what)  # type: ignore[arg-type]

    monkeypatch.setattr(policies, "ruled_by", counted)
    return asked


def test_what_is_known_of_hosts_for_good_is_not_asked_again_when_a_task_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All of them are looked at, for one where it has not failed."""
    stage = Stage(HOME, check=False)
    stage.hosts(*(f"h{number}" for number in range(20)))
    stage.submit(9, policy=said(job_requirements='Host.Name == "h0"'), trial_us=0)
    sent = [one for number in range(20) for one in stage.offer(f"h{number}")]
    asked = _count_asked(monkeypatch)
    stage.fail(sent[0])
    assert [one.host for one in stage.offer("h0")] == ["h0"]
    assert asked["ruled"] == 0


def test_it_is_said_again_when_another_policy_or_a_host_brought_it_about_again() -> None:
    stage = Stage(HOME)
    stage.host("home")
    stage.submit(3, policy=said(job_requirements="Host.NumCpus >= 8"), trial_us=0)
    assert stage.offer("home") == []
    assert unmatched(stage, 300 * SECOND) == ["the only host is sent away: 1 by Host.NumCpus >= 8"]
    stage.tell(BagChanged(1, Change.POLICY, policy=said(job_requirements="Host.NumCpus >= 4")))
    assert unmatched(stage, 600 * SECOND) == ["the only host is sent away: 1 by Host.NumCpus >= 4"]
    other = said(job_requirements="Host.Succeeded < 1")
    (sent,) = assigned(stage.tell(BagChanged(1, Change.POLICY, policy=other)))
    stage.succeed(sent)
    assert stage.offer("home") == []
    assert unmatched(stage, 900 * SECOND) == ["the only host is sent away: 1 by Host.Succeeded < 1"]


def test_a_host_of_another_pool_is_no_reason_to_be_silent() -> None:
    stage = Stage(HOME, SPOT)
    stage.host("home")
    stage.host("spot", pool="spot", cores=16)
    policy = said(job_requirements="Host.NumCpus >= 8")
    stage.submit(3, policy=policy, pools=("home",), trial_us=0)
    for host in ("home", "spot"):
        assert stage.offer(host) == []
    (told,) = unmatched(stage, 300 * SECOND)
    assert told == (
        "all 2 hosts are sent away: 1 by Host.NumCpus >= 8; 1 by its pool spot is not among the "
        "bag's"
    )


@pytest.mark.parametrize(
    "policy, clause",
    [
        (said(grid_policy='Pool.Name == "x"'), 'GridPolicy = Pool.Name == "x"'),
        (said(job_requirements='true && Host.Pool == "x"'), 'Host.Pool == "x"'),
        (said(concurrency="Host.NumCpus - 1"), "Concurrency = Host.NumCpus - 1"),
        (said(deadline="BOT.JobsLeft - 9"), "Deadline = BOT.JobsLeft - 9"),
    ],
)
def test_it_is_said_why_no_pool_is_asked_for_machines(policy: BagPolicy, clause: str) -> None:
    """Nor does any host come that could be sent away."""
    stage = Stage(Pool("lab", max=9, capacity={"cores": 1000}))
    stage.submit(3, policy=policy, trial_us=0)
    assert unmatched(stage, 59 * SECOND) == []
    why = f"ool lab is not asked for machines: {clause}"
    assert unmatched(stage, 900 * SECOND) == [f"no host is connected; p{why}"]
    assert f"P{why}." in stage.explain("bag 1")


def test_it_is_said_why_the_machine_that_came_was_given_back() -> None:
    """How large it is was not known before; it is gone when the minute is over."""
    stage = Stage(Pool("lab", max=1))
    stage.submit(3, policy=said(job_requirements="Host.NumCpus > 99"), trial_us=0)
    (lease,) = (one.lease for one in stage.all if isinstance(one, Acquire))
    stage.host("lab", lease=lease)
    assert stage.offer("lab") == []
    pass_time(stage, 20 * SECOND)
    stage.gone(lease)
    (why,) = unmatched(stage, 300 * SECOND)
    assert why == "no host is connected; pool lab is not asked for machines: Host.NumCpus > 99"


def test_nothing_is_said_while_machines_are_on_their_way() -> None:
    stage = Stage(Pool("lab", max=1), Pool("x", max=0))
    stage.submit(3, policy=said(job_requirements='Host.Name == "zz"'), trial_us=0)
    assert unmatched(stage, 600 * SECOND) == []
    stage.host("lab", lease=1)
    assert stage.offer("lab") == []
    told = ['the only host is sent away: 1 by Host.Name == "zz"']
    assert unmatched(stage, 900 * SECOND) == told


@pytest.mark.parametrize("concurrency", ["0", "0.5", "Host.NumCpus - 1"])
def test_a_host_that_may_hold_nothing_does_not_match(concurrency: str) -> None:
    stage = Stage(HOME)
    stage.host("home")
    stage.submit(3, policy=said(concurrency=concurrency), trial_us=0)
    assert stage.offer("home") == []
    (verdict,) = verdicts.trial(stage.scheduler.state, 1)
    gives = "0.5" if concurrency == "0.5" else "0"
    assert (verdict.matches, verdict.why) == (
        False, f"Concurrency gives {gives}: it may hold no task")  # fmt: skip
    (why,) = unmatched(stage, 300 * SECOND)
    assert why == f"the only host is sent away: 1 by {verdict.why}"


def test_tasks_that_wait_for_another_attempt_and_may_go_nowhere_say_so() -> None:
    """Each has failed once, and may now go to a pool alone that is not there."""
    stage = Stage(HOME)
    stage.hosts("a", "b")
    clause = 'Job.Failures < 1 || Host.Pool == "trusted"'
    stage.submit(2, policy=said(job_requirements=clause), trial_us=0)
    for sent in (*stage.offer("a"), *stage.offer("b")):
        stage.fail(sent)
    assert stage.offer("a") == stage.offer("b") == []
    found = verdicts.trial(stage.scheduler.state, 1)
    assert [(one.host, one.matches) for one in found] == [("a", False), ("b", False)]
    assert f"2 by {clause}" in stage.explain("bag 1")
    assert unmatched(stage, 900 * SECOND) == [f"all 2 hosts are sent away: 2 by {clause}"]


def test_tasks_that_wait_for_another_attempt_and_for_the_evening_are_sent_then() -> None:
    stage = Stage(HOME)
    stage.hosts("a", "b")
    stage.submit(1, policy=said(job_requirements="Job.Failures < 1 || HourOfDay >= 1"), trial_us=0)
    (sent,) = stage.offer("a")
    stage.fail(sent)
    assert stage.offer("a") == stage.offer("b") == []
    assert [one.host for one in pass_time(stage, HOUR + 61 * SECOND)] == ["b"]


def test_a_policy_that_counts_bags_looks_again_when_there_is_one_more() -> None:
    stage = Stage(HOME)
    stage.host("home")
    stage.submit(3, policy=said(job_requirements="Queue.BOTsInQueue > 1"), trial_us=0)
    assert stage.offer("home") == []
    stage.submit(3, policy=said(job_requirements='Host.Name == "zz"'), trial_us=0)
    pass_time(stage, 30 * SECOND)
    assert [one.bag for one in assigned(stage.all)] == [1]


def test_work_that_comes_later_is_bound_by_the_concurrency_of_the_best() -> None:
    """Which would send more if the host might hold more; there is room for two."""
    stage = Stage(HOME)
    stage.host("home", cores=4)
    stage.submit(9, policy=said(rank="5", concurrency="2"), trial_us=0)
    assert len(stage.offer("home")) == 2
    assert stage.offer("home") == []
    before = len(stage.all)
    stage.submit(9, policy=said(concurrency="4"), trial_us=0)
    assert assigned(stage.all[before:]) == []


def test_work_that_comes_later_looks_only_where_it_may_go() -> None:
    """Beside a bag that bounds it, and sends the host away that it may have."""
    stage = Stage(HOME, SPOT)
    stage.host("home", cores=4)
    stage.host("spot", pool="spot", cores=4)
    stage.submit(9, policy=said(rank="5", concurrency="2", job_requirements="Host.NumCpus > 4"))
    assert stage.offer("home") == stage.offer("spot") == []
    before = len(stage.all)
    policy = said(job_requirements='Host.Pool == "spot"')
    stage.submit(3, policy=policy, trial_us=0)
    assert {one.host for one in assigned(stage.all[before:])} == {"spot"}


def test_who_only_asks_draws_no_lots() -> None:
    def played(look: bool) -> list[int]:
        stage = Stage(HOME)
        stage.hosts("a", "b")
        stage.submit(50, policy=said(job_requirements="Lottery < 0.5"), trial_us=0)
        counts = []
        for _ in range(20):
            if look:
                verdicts.trial(stage.scheduler.state, 1)
                verdicts.trial_twice(stage.scheduler.state, 1)
                stage.explain("bag 1")
            sent = stage.offer("a")
            counts.append(len(sent))
            stage.wait(1)
            for one in sent:
                stage.succeed(one)
        return counts

    assert len(set(played(False))) > 1
    assert played(True) == played(False)


def test_the_last_host_that_a_policy_takes_is_let_back_early() -> None:
    stage = Stage(HOME)
    stage.hosts("a", "b")
    policy = said(job_requirements='Host.Name == "a"')
    stage.submit(9, policy=policy, trial_us=0, retries=Retries(host_failed=99))
    state = stage.scheduler.state
    for _ in range(12):  # each its fault; but nobody else may have them
        (sent,) = stage.offer("a")
        stage.end(sent, Outcome.HOST_FAILED, text="no disk")
    assert not state.hosts["a"].excluded


@pytest.mark.parametrize("first", ["memory", "cores"])
def test_a_task_that_asks_for_no_core_counts_as_one(first: str) -> None:
    stage = Stage(HOME)
    stage.host("home", cores=1, memory=GIB)
    needs = {"memory": {"memory": GIB}, "cores": {"memory": GIB, "cores": 1000}}
    for name in (first, *needs.keys() - {first}):
        stage.submit(999, owner=name, needs=needs[name], trial_us=0)
    counts: Counter[int] = Counter()
    for _ in range(40):
        (sent,) = stage.offer("home")
        counts[sent.bag] += 1
        stage.wait(10)
        stage.succeed(sent)
    assert counts == {1: 20, 2: 20}


def test_a_bag_whose_tasks_took_less_than_was_reckoned_comes_forward() -> None:
    """Its first tasks took an hour each; fifty that are out are reckoned so, and take a second."""
    stage = Stage(HOME, check=False)
    names = [f"h{number}" for number in range(50)]
    stage.hosts(*names)
    slow = stage.submit(3000, trial_us=0)
    for _ in range(20):
        (sent,) = stage.offer("h0")
        stage.wait(3600)
        stage.succeed(sent, run_s=3600)
    others = [stage.submit(3000, trial_us=0) for _ in range(2)]
    bags = stage.scheduler.state.bags
    for other in others:
        bags[other].used = bags[slow].used
    out = [sent for name in names for sent in stage.offer(name)]
    stage.wait(1)
    for sent in out:
        stage.succeed(sent, run_s=1)
    counts: Counter[int] = Counter()
    for _ in range(300):
        out = stage.offer("h0")
        stage.wait(10)
        for sent in out:
            counts[sent.bag] += 1
            stage.succeed(sent, run_s=10)
    assert min(counts[bag] for bag in (slow, *others)) > 80, counts


def test_bags_share_also_when_what_they_have_had_is_reckoned_anew() -> None:
    """Which it is every ten days: their places in line follow."""
    stage = Stage(HOME, check=False)
    stage.host("home")
    for _ in range(3):
        stage.submit(3000, trial_us=0)
    counts: Counter[int] = Counter()
    for _ in range(12 * 24):
        (sent,) = stage.offer("home")
        counts[sent.bag] += 1
        stage.wait(3600)
        stage.succeed(sent, run_s=3600)
        places = [entry[0] for entry in stage.scheduler.state.lines["home"].by_rank[0.0][""]]
        assert max(places) < 4 * 24 * 3600 * 1000 * 2**10
    assert set(counts.values()) == {96}
