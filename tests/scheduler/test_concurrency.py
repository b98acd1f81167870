"""How much a host may hold: of all bags by Concurrency, of one by `tasks_per_host`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from tailrace.bag.policy import BagPolicy, Plain, Policy
from tailrace.pools.terms import Pool
from tailrace.scheduler import verdicts
from tailrace.scheduler.decisions import Assign

from .stage import SECOND, Stage, assigned
from .test_looking import HOUR, pass_time

HOME = Pool("home", max=0)


def said(**texts: str) -> BagPolicy:
    return BagPolicy(Policy(**texts))


def submit(stage: Stage, count: int, policy: BagPolicy | None = None, **terms: Any) -> int:
    return stage.submit(count, policy=policy, trial_us=0, **terms)


def of_bags(sent: Iterable[Assign]) -> Counter[int]:
    return Counter(one.bag for one in sent)


def ready(*names: str) -> Stage:
    stage = Stage(HOME)
    stage.hosts(*names, cores=8)
    return stage


def test_who_has_only_what_failed_there_does_not_bind_others() -> None:
    stage = ready("a", "b")
    best = submit(stage, 1, said(rank="2", concurrency="1"))
    (failed,) = stage.offer("a")
    other = submit(stage, 20, said(rank="1", concurrency="Host.NumCpus"))
    stage.fail(failed)
    assert of_bags(stage.offer("a")) == {other: 8}
    assert of_bags(stage.offer("b")) == {best: 1}, "where it may be tried, it binds them"


def test_who_has_as_many_under_way_as_he_may_does_not_bind_others() -> None:
    stage = ready("a", "b")
    best = submit(stage, 9, said(rank="2", concurrency="1"), most_running=1)
    other = submit(stage, 20, said(rank="1", concurrency="Host.NumCpus"))
    assert of_bags(stage.offer("a")) == {best: 1}
    assert of_bags(stage.offer("b")) == {other: 8}


@pytest.mark.parametrize("waits", [False, True])
def test_who_is_kept_back_by_his_own_concurrency_binds_others(waits: bool) -> None:
    stage = ready("a", "b")
    best = submit(stage, 2 if waits else 9, said(rank="2", concurrency="1"))
    (first,) = stage.offer("a")
    other = submit(stage, 20, said(rank="1", concurrency="Host.NumCpus"))
    if waits:
        (second,) = stage.offer("b")
        stage.fail(second)
        assert of_bags(stage.offer("b")) == {other: 8}
    assert stage.offer("a") == []
    stage.succeed(first)
    again = assigned(stage.last) or stage.offer("a")
    assert of_bags(again) == {best: 1}


def test_tasks_per_host_counts_those_of_its_bag() -> None:
    stage = ready("a")
    other = submit(stage, 4)
    assert of_bags(stage.offer("a")) == {other: 4}
    two = submit(stage, 9, BagPolicy(plain=Plain(tasks_per_host=2)))
    assert of_bags(stage.offer("a")) == {two: 2}
    assert stage.offer("a") == []
    assert "tasks_per_host says no more" in stage.explain(f"bag {two}")
    (verdict,) = verdicts.trial(stage.scheduler.state, two)
    assert (verdict.matches, verdict.most, verdict.holds) == (True, 6, 6)


def test_tasks_per_host_binds_no_other_bag() -> None:
    stage = ready("a")
    two = submit(stage, 9, BagPolicy(Policy(rank="5"), Plain(tasks_per_host=2)))
    other = submit(stage, 20)
    assert of_bags(stage.offer("a")) == {two: 2, other: 6}


def test_of_both_the_lower_holds() -> None:
    stage = ready("a")
    submit(stage, 9, BagPolicy(Policy(concurrency="3"), Plain(tasks_per_host=5)))
    assert len(stage.offer("a")) == 3


def test_what_waits_for_another_attempt_counts_as_well() -> None:
    stage = ready("a", "b")
    bag = submit(stage, 4, BagPolicy(plain=Plain(tasks_per_host=2)))
    failed = stage.offer("a")
    kept = stage.offer("b")
    assert (len(failed), len(kept)) == (2, 2)
    for one in failed:
        stage.fail(one)
    assert stage.offer("b") == []
    stage.succeed(kept[0])
    assert of_bags(assigned(stage.last) or stage.offer("b")) == {bag: 1}


def test_no_more_are_repeated_there_either() -> None:
    stage = ready("a", "b")
    policy = BagPolicy(Policy(replication_requirements="NumberOfReplicas < 2"),
                       Plain(tasks_per_host=2))  # fmt: skip
    submit(stage, 4, policy, repeatable=True)
    assert len(stage.offer("a")) == len(stage.offer("b")) == 2
    stage.host("c", cores=8)
    stage.wait(10)
    assert len(stage.offer("c")) + len(assigned(stage.wait(60))) == 2
    holds = {name: len(host.live) for name, host in stage.scheduler.state.hosts.items()}
    assert holds == {"a": 2, "b": 2, "c": 2}


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside another"])
@pytest.mark.parametrize("grows", ["HourOfDay >= 4", "Elapsed > 7200", "BOT.JobsDone > 0"])
def test_a_concurrency_that_grows_is_asked_for_again_where_cores_stand_idle(
    grows: str, beside: bool
) -> None:
    stage = ready("a", "b")
    submit(stage, 9, said(concurrency=f"{grows} ? 4 : 1"))
    if beside:
        submit(stage, 9, said(job_requirements='Host.Name == "nowhere"'))
    assert len(stage.offer("a")) == 1
    (other,) = stage.offer("b")
    assert stage.offer("a") == []
    stage.wait(60)
    stage.succeed(other)
    before = len(assigned(stage.all))
    pass_time(stage, 5 * HOUR)
    assert [one.host for one in assigned(stage.all)[before:]] == ["a"] * 3


def test_so_it_is_for_what_waits_for_another_attempt() -> None:
    stage = ready("a", "b")
    submit(stage, 3, said(concurrency="Job.Failures > 0 && HourOfDay < 4 ? 1 : 8"))
    for one in stage.offer("b"):
        stage.fail(one)
    assert len(stage.offer("a")) == 1
    assert stage.offer("a") == []
    assert [one.host for one in pass_time(stage, 5 * HOUR)] == ["a"] * 2


def test_who_was_bound_by_another_looks_when_that_has_nothing_more_to_send() -> None:
    stage = ready("a", "b")
    submit(stage, 2)
    assert len(stage.offer("a")) == 2
    best = submit(stage, 3, said(rank="9", concurrency="2"))
    bound = submit(stage, 6, pools=("home",))
    assert stage.offer("a") == []
    assert of_bags(stage.offer("b")) == {best: 2}
    first = next(one for one in assigned(stage.all) if one.bag == best)
    stage.succeed(first)
    assert of_bags(stage.offer("b")) == {best: 1}
    assert of_bags(pass_time(stage, stage.now + 10 * SECOND)) == {bound: 6}
