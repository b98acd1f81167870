"""Policies at work: where tasks may go, who comes first, how many, by when, what is repeated."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace

from tailrace.bag.outcome import Outcome
from tailrace.bag.policy import BagPolicy, HostPolicy, Plain, Policy
from tailrace.bag.terms import Retries, Strategy
from tailrace.policy.attributes import MOST_REPLICAS
from tailrace.pools.terms import Pool
from tailrace.scheduler import verdicts
from tailrace.scheduler.decisions import Assign, Unmatched
from tailrace.scheduler.events import BagChanged, Change

from .stage import SECOND, Stage, assigned, dropped

HOME, SPOT = Pool("home", max=0), Pool("spot", max=0, reliable=False)
MINE = Pool("mine", max=0, min_timeout_us=1000 * SECOND)


def said(**texts: str) -> BagPolicy:
    return BagPolicy(Policy(**texts))


def stage_of(*pools: Pool, cores: int = 1) -> Stage:
    """A host in each pool, of the same name."""
    stage = Stage(*(pools or (HOME, SPOT)))
    for pool in stage.pools:
        stage.host(pool.name, pool=pool.name, cores=cores)
    return stage


def submit(stage: Stage, count: int, policy: BagPolicy | None = None, **terms: Any) -> int:
    return stage.submit(count, policy=policy, trial_us=0, **terms)


def hosts(sent: list[Assign]) -> list[str]:
    return [one.host for one in sent]


def test_a_host_that_does_not_match_gets_nothing() -> None:
    stage = stage_of()
    submit(stage, 9, said(job_requirements='Host.Pool == "home"'))
    assert stage.offer("spot") == []
    assert hosts(stage.offer("home")) == ["home"]


def test_what_is_not_known_counts_as_no_and_is_told() -> None:
    stage = stage_of()
    submit(stage, 9, said(job_requirements="Host.TimeLeft > 100"))
    assert stage.offer("home") == []
    told = stage.explain("bag 1")
    assert "2 by Host.TimeLeft > 100" in told and "Host.TimeLeft is not known" in told


def test_a_bag_that_waits_says_which_clause_sends_how_many_away() -> None:
    stage = stage_of()
    stage.host("third", pool="spot", cores=4)
    policy = BagPolicy(Policy(job_requirements="Host.NumCpus >= 8"), Plain(pools=("!home",)))
    submit(stage, 1, policy)
    told = stage.explain("bag 1")
    assert "Its policy sends 3 of 3 hosts away:" in told
    assert "  2 by Host.NumCpus >= 8" in told and '  1 by !(Host.Pool =?= "home")' in told


def test_what_lasts_is_named_before_what_may_change() -> None:
    stage = stage_of(HOME)
    once = Plain(tasks_per_host=1)
    submit(stage, 9, policy=BagPolicy(Policy(), once))
    assert len(stage.offer("home")) == 1
    stage.set_policy(1, BagPolicy(Policy(job_requirements="Host.NumCpus > 99"), once))
    told = stage.explain("bag 1")
    assert "1 by Host.NumCpus > 99" in told
    assert "Host.RunningOfBot" not in told


def test_it_says_so_by_itself_after_a_minute_and_once() -> None:
    stage = stage_of()
    submit(stage, 1, said(job_requirements="Host.NumCpus >= 8"))
    for name in ("home", "spot"):
        assert stage.offer(name) == []
    told = [one for one in stage.wait(61) if isinstance(one, Unmatched)]
    assert [one.why for one in told] == ["all 2 hosts are sent away: 2 by Host.NumCpus >= 8"]
    stage.offer("home")
    assert not [one for one in stage.wait(61) if isinstance(one, Unmatched)]


def test_the_highest_rank_is_served_first() -> None:
    stage = stage_of(HOME)
    for rank in (1, 3, 2):
        submit(stage, 2, said(rank=str(rank)))
    order = []
    for _ in range(6):
        (sent,) = stage.offer("home")
        order.append(sent.bag)
        stage.wait(1)
        stage.succeed(sent)
    assert order == [2, 2, 3, 3, 1, 1]


def test_a_rank_may_be_another_for_each_host() -> None:
    stage = stage_of()
    submit(stage, 9)
    submit(stage, 9, said(rank='Host.Pool == "spot" ? 1 : -1'))
    assert [one.bag for one in stage.offer("home")] == [1]
    assert [one.bag for one in stage.offer("spot")] == [2]


def test_bags_of_one_rank_share_whether_it_is_judged_or_not() -> None:
    stage = stage_of(HOME)
    submit(stage, 99, said(rank="Tail ? 5 : 0"), owner="ann", tail_below=1)
    submit(stage, 99, owner="bob")
    assert _served(stage, 20) == {"ann": 10, "bob": 10}


def _served(stage: Stage, times: int, host: str = "home") -> Counter[str]:
    """How often whose tasks were served, one after the other."""
    found: Counter[str] = Counter()
    for _ in range(times):
        (sent,) = stage.offer(host)
        found[stage.tables.bags[sent.bag].terms.owner] += 1
        stage.wait(10)
        stage.succeed(sent)
    return found


def test_fifty_bags_of_one_owner_get_no_more_than_one_of_another() -> None:
    stage = stage_of(HOME)
    for _ in range(50):
        submit(stage, 10, owner="ann")
    submit(stage, 100, owner="bob")
    assert _served(stage, 60) == {"ann": 30, "bob": 30}


def test_who_had_much_waits_until_others_have_had_as_much() -> None:
    stage = stage_of(HOME)
    submit(stage, 100, owner="ann")
    assert _served(stage, 10) == {"ann": 10}
    submit(stage, 100, owner="bob")
    assert _served(stage, 10) == {"bob": 10}
    assert _served(stage, 10) == {"ann": 5, "bob": 5}


def test_what_was_used_is_forgotten_by_and_by() -> None:
    stage = stage_of(HOME)
    submit(stage, 100, owner="ann")
    _served(stage, 16)
    stage.wait(3 * 24 * 3600)
    submit(stage, 100, owner="bob")
    assert _served(stage, 8)["ann"] >= 3  # of 16, two are left after three days


def test_bags_of_one_owner_share_by_their_weights() -> None:
    stage = stage_of(HOME)
    for weight in (1.0, 3.0):
        submit(stage, 100, owner=str(weight), weight=weight)
    del stage
    stage = stage_of(HOME)
    first, second = submit(stage, 100), submit(stage, 100, weight=3.0)
    found: Counter[int] = Counter()
    for _ in range(40):
        (sent,) = stage.offer("home")
        found[sent.bag] += 1
        stage.wait(10)
        stage.succeed(sent)
    assert found == {first: 10, second: 30}


def test_offers_that_wait_are_shared_when_work_comes() -> None:
    stage = Stage(HOME)
    submit(stage, 99, owner="ann")
    for number in range(6):
        stage.host(f"h{number}")
    stage.change(1, Change.PAUSE)
    submit(stage, 99, said(rank="1", job_requirements="false"), owner="bob")
    for number in range(6):
        assert stage.offer(f"h{number}") == []
    stage.change(2, Change.CANCEL)
    submit_and = stage.tell(BagChanged(1, Change.RESUME))
    assert len(assigned(submit_and)) == 6


def test_the_best_bags_concurrency_bounds_all() -> None:
    stage = stage_of(HOME, cores=8)
    submit(stage, 1, said(rank="2", concurrency="3"))
    submit(stage, 9, said(rank="1", concurrency="Host.NumCpus"))
    sent = stage.offer("home")
    assert Counter(one.bag for one in sent) == {1: 1, 2: 2}
    assert len(stage.offer("home")) == 5, "it has nothing to send any more"


def test_a_time_out_follows_the_host_and_a_pool_raises_it() -> None:
    stage = stage_of(HOME, MINE, cores=2)
    submit(stage, 9, said(deadline="Host.NumCpus * 300"))
    assert {one.timeout_us for one in stage.offer("home")} == {600 * SECOND}
    assert {one.timeout_us for one in stage.offer("mine")} == {1000 * SECOND}


def test_the_owner_of_a_machine_has_his_say() -> None:
    stage = Stage(HOME)
    stage.host("lab")
    says = HostPolicy('BOT.Owner != "eve"', 'BOT.Owner == "ann" ? 1 : 0')
    stage.seen["lab"] = replace(stage.seen["lab"], says=says)
    stage.back("lab")
    submit(stage, 2, owner="eve")
    submit(stage, 2, said(rank="100"), owner="bob")
    submit(stage, 1, owner="ann")
    order = []
    while sent := stage.offer("lab"):
        order.append(sent[0].bag)
        stage.wait(1)
        stage.succeed(sent[0])
    assert order == [3, 2, 2]
    assert "HostRequirements is false" in stage.explain("bag 1")


def test_spot_only_until_three_preemptions() -> None:
    stage = stage_of()
    keeps_off = 'Job.Preemptions < 3 || Host.Pool != "spot"'
    submit(stage, 1, said(job_requirements=keeps_off))
    for _ in range(3):
        (sent,) = stage.offer("spot")
        stage.end(sent, Outcome.PREEMPTED)
    assert stage.offer("spot") == []
    assert hosts(stage.offer("home")) == ["home"]


def test_a_pool_for_those_that_failed_elsewhere() -> None:
    """Its hosts take nothing new: only what waits for another attempt looks as they want it."""
    stage = stage_of()
    only = 'Job.Failures > 0 ? Host.Pool == "home" : Host.Pool == "spot"'
    submit(stage, 3, said(job_requirements=only))
    (sent,) = stage.offer("spot")
    assert stage.offer("home") == []
    stage.fail(sent)
    again = assigned(stage.last) or stage.offer("home")
    assert [(one.index, one.host) for one in again] == [(sent.index, "home")]
    assert [one.index for one in stage.offer("spot")] != [sent.index]


def test_in_the_tail_what_is_out_for_long_is_repeated_in_another_pool() -> None:
    policy = said(
        replication_requirements="NumberOfReplicas < 2 && Job.OldestReplicaAge > 100",
        job_requirements="!member(Host.Pool, Job.ReplicaPools)",
    )
    stage = stage_of()
    stage.host("home2", pool="home")
    submit(stage, 1, policy)
    (sent,) = stage.offer("home")
    assert stage.offer("home2") == stage.offer("spot") == []
    stage.wait(50)
    assert not assigned(stage.last)
    stage.wait(60)
    (again,) = assigned(stage.last) or assigned(stage.wait(60))
    assert (again.index, again.host) == (sent.index, "spot")
    assert "ReplicationRequirements" in again.why
    stage.wait(600)
    assert not assigned(stage.last), "no more than two"
    stage.succeed(again)
    assert stage.results(1) == [Outcome.SUCCEEDED]


def _both_out(**terms: Any) -> tuple[Stage, Assign, Assign]:
    """Two attempts of the one task, as its policy wants it."""
    stage = stage_of()
    submit(stage, 1, said(replication_requirements="NumberOfReplicas < 2"), **terms)
    (first,) = stage.offer("home")
    stage.offer("spot")
    (second,) = assigned(stage.wait(60))
    return stage, first, second


def test_a_loser_is_ended_unless_losers_run_on() -> None:
    stage, first, second = _both_out()
    assert dropped(stage.succeed(second)) == [first.attempt]
    stage, first, second = _both_out(losers_run_on=True)
    assert dropped(stage.succeed(second)) == []
    assert stage.phase(1) == "finished"
    stage.succeed(first)
    assert stage.results(1) == [Outcome.SUCCEEDED]
    assert stage.tables.outcomes[first.attempt] is Outcome.SUCCEEDED


def test_a_loser_runs_on_through_another_policy_and_a_restart_until_its_time_out() -> None:
    stage, first, second = _both_out(losers_run_on=True, timeout_us=1000 * SECOND)
    stage.tell(BagChanged(1, Change.POLICY, policy=said(rank="1")))
    assert dropped(stage.succeed(second)) == []
    stage.restart()
    stage.back("home", "spot")
    assert dropped(stage.wait(800)) == []
    assert dropped(stage.wait(200)) == [first.attempt]


def test_a_loser_that_fails_is_nobodys_trouble() -> None:
    stage, first, second = _both_out(losers_run_on=True)
    stage.succeed(second)
    stage.fail(first)
    assert stage.results(1) == [Outcome.SUCCEEDED] and not stage.tables.troubles


def test_a_pause_does_not_end_replication() -> None:
    stage = stage_of()
    submit(stage, 1, said(replication_requirements="Job.OldestReplicaAge > 300"))
    stage.offer("home")
    assert stage.offer("spot") == []
    stage.wait(1)
    stage.change(1, Change.PAUSE)
    stage.wait(120)
    stage.change(1, Change.RESUME)
    found = [one for _ in range(10) for one in assigned(stage.wait(60))]
    assert hosts(found) == ["spot"]


def test_a_bag_that_refuses_a_host_keeps_nobody_from_filling_it() -> None:
    stage = stage_of(HOME)
    submit(stage, 5, said(job_requirements="false", rank="9"))
    submit(stage, 5000)
    for _ in range(3):
        (sent, *more) = stage.offer("home")
        for one in (sent, *more):
            stage.succeed(one, run_s=0.001)
    assert len(stage.offer("home")) > 100


@pytest.mark.parametrize("name", ["wqr", "ntdmr"])
def test_what_a_strategy_repeats_keeps_to_the_policy(name: str) -> None:
    stage = stage_of(HOME, SPOT)
    stage.host("spot2", pool="spot")
    options: dict[str, Any] = {} if name == "wqr" else {"n": 2, "d_s": 60.0}
    policy = said(job_requirements='Host.Name != "spot2"')
    submit(stage, 1, policy, replication=Strategy(name, options))
    (sent,) = stage.offer("spot")
    assert stage.offer("spot2") == []
    for _ in range(9):
        stage.wait(30)
        assert "spot2" not in hosts(assigned(stage.last))
        assert stage.offer("spot2") == []
    assert sent.host == "spot"


@pytest.mark.parametrize("kept", ['Host.Pool == "spot"', 'Host.Pool != "home"'])
def test_a_task_preempted_often_goes_on_where_its_policy_lets_it_go(kept: str) -> None:
    """It is wanted on a reliable pool; but its policy knows of none."""
    stage = stage_of(HOME, SPOT)
    submit(stage, 1, said(job_requirements=kept))
    stage.offer("home")
    for _ in range(5):
        (sent,) = stage.offer("spot")
        stage.end(sent, Outcome.PREEMPTED)
    assert stage.result(1, 0) is None


def test_a_host_that_changed_its_pool_since_the_bag_ended_is_asked_about_anew() -> None:
    stage = stage_of(HOME, SPOT)
    policy = said(job_requirements='Host.Pool == "home"')
    bag = submit(stage, 1, policy, retries=Retries(task_failed=0))
    (sent,) = stage.offer("home")
    stage.fail(sent)
    assert stage.phase(bag) == "finished"
    stage.host("home", pool="spot")
    stage.change(bag, Change.RETRY, 0)
    assert stage.offer("home") == []


def test_at_night_only() -> None:
    """Nothing happens but that time passes: the host that was sent away is looked at again."""
    stage = stage_of(HOME)
    submit(stage, 1, said(job_requirements="HourOfDay >= 20 || HourOfDay < 6"))
    stage.now = 12 * 3600 * SECOND
    assert stage.offer("home") == []
    while not assigned(stage.last):
        wakes = stage.scheduler.next_wakeup()
        assert wakes is not None and wakes < 21 * 3600 * SECOND
        stage.now = wakes
        stage.wait(0)
    assert stage.now // (3600 * SECOND) == 20


def test_what_happens_to_the_bag_brings_back_a_host_that_was_sent_away() -> None:
    stage = stage_of()
    submit(stage, 9, BagPolicy(plain=Plain(max_running=1)))
    (sent,) = stage.offer("home")
    assert stage.offer("spot") == []
    stage.succeed(sent)
    assert hosts(assigned(stage.wait(2))) == ["spot"]


def test_another_policy_holds_from_now_on() -> None:
    stage = stage_of()
    submit(stage, 9, said(job_requirements='Host.Pool == "home"', replication_requirements="true"))
    assert stage.offer("spot") == []
    other = said(job_requirements='Host.Pool == "spot"', rank="3")
    assert hosts(assigned(stage.tell(BagChanged(1, Change.POLICY, policy=other)))) == ["spot"]
    assert stage.offer("home") == []
    stage.restart()
    stage.back("home", "spot")
    assert stage.offer("home") == []
    assert stage.tables.bags[1].terms.policy == other


def test_a_task_that_failed_goes_back_where_no_other_host_matches() -> None:
    """Another host is there, but the policy would never let the task go to it."""
    stage = stage_of()
    policy = said(job_requirements='Host.Pool == "home"')
    submit(stage, 1, policy, retries=Retries(host_failed=3))
    (sent,) = stage.offer("home")
    stage.end(sent, Outcome.HOST_FAILED, text="no disk")
    assert hosts(stage.offer("home")) == ["home"]


def test_a_trial_says_what_would_be_and_does_nothing() -> None:
    stage = stage_of(cores=2)
    policy = said(job_requirements='Host.Pool == "home"', rank="Host.NumCpus", concurrency="4",
                  deadline="60", replication_requirements="true")  # fmt: skip
    submit(stage, 1, policy)
    (sent,) = stage.offer("home")
    state = stage.scheduler.state
    before = state.next_attempt
    home, spot = verdicts.trial(state, 1)
    assert (home.host, home.matches, home.rank, home.most, home.timeout_us, home.holds) == (
        "home", True, 2.0, 4, 60 * SECOND, 1
    )  # fmt: skip
    assert (spot.host, spot.matches, spot.why) == ("spot", False, "JobRequirements is false")
    assert verdicts.trial_twice(state, 1) == [(sent.index, 1)]
    assert state.next_attempt == before


def test_a_trial_repeats_no_task_that_has_as_many_attempts_as_may_be() -> None:
    stage = stage_of(HOME)
    submit(stage, 1, said(replication_requirements="true", concurrency="99"))
    stage.offer("home")
    for number in range(2, MOST_REPLICAS + 2):
        expected = [(0, number - 1)] if number <= MOST_REPLICAS else []
        assert verdicts.trial_twice(stage.scheduler.state, 1) == expected
        stage.host(f"host{number}", pool="home", cores=1)
        stage.offer(f"host{number}")
        stage.wait(61)
    assert len(stage.scheduler.state.bags[1].live[0]) == MOST_REPLICAS


def test_a_policy_that_is_taken_away_leaves_the_attempts_that_it_wanted() -> None:
    stage = stage_of()
    submit(stage, 2, said(replication_requirements="true"))
    first = stage.offer("home") + stage.offer("spot")
    stage.succeed(first[1])
    stage.wait(61)
    assert [one.index for one in stage.offer("spot")] == [first[0].index]
    stage.tell(BagChanged(1, Change.POLICY, policy=None))
    stage.restart()
    stage.back("home", "spot")
    assert len(stage.scheduler.state.bags[1].live[first[0].index]) == 2


def test_host_records_are_seen() -> None:
    stage = stage_of(HOME)
    submit(stage, 99, said(rank="Host.Succeeded * 1000 + Host.MeanTurnaround"))
    for _ in range(3):
        (sent,) = stage.offer("home")
        stage.wait(7)
        stage.succeed(sent, run_s=5)
    (verdict,) = verdicts.trial(stage.scheduler.state, 1)
    assert verdict.rank == 3007.0


def test_a_policy_that_is_the_first_to_look_at_tasks_finds_one_that_waits() -> None:
    stage = stage_of()
    submit(stage, 2, said(job_requirements="true"), retries=Retries(task_failed=3))
    (one,) = stage.offer("home")
    stage.fail(one)
    stage.tell(BagChanged(1, Change.POLICY, policy=said(job_requirements="Job.Failures < 9")))
    assert [again.index for again in stage.offer("spot")] == [0]
