"""A host whose failures nobody has confirmed is held back, and does not pause the bag alone."""

from __future__ import annotations

import heapq
import random
from collections import Counter

import pytest
from msgspec.structs import replace

from tailrace.bag.outcome import Outcome
from tailrace.bag.policy import HostPolicy
from tailrace.bag.terms import Retries
from tailrace.pools.terms import Pool
from tailrace.scheduler import policies
from tailrace.scheduler.decisions import Assign, Exclude, PauseBag
from tailrace.scheduler.state import Bag, Host, State

from .stage import SECOND, Stage, assigned


def among_slow_ones(*slow: str, hole: int = 1, **terms: object) -> tuple[Stage, int, list[Assign]]:
    """A host `x` that will fail fast, and others that are busy with long tasks."""
    stage = Stage()
    stage.hosts(*slow)
    stage.host("x", cores=hole)
    bag = stage.submit(200, **terms)  # type: ignore[arg-type]
    stage.pass_trial(slow[0])
    busy = [one for name in slow for one in stage.offer(name)]
    return stage, bag, busy


def fail_all_it_gets(stage: Stage, host: str, most: int = 100, **how: object) -> int:
    for count in range(most):
        sent = stage.offer(host)
        if not sent:
            return count
        for one in sent:
            stage.fail(one, **how)  # type: ignore[arg-type]
    return most


def braked(stage: Stage) -> list[str]:
    return [one.why for one in stage.all if isinstance(one, PauseBag)]


def test_a_host_that_fails_fast_among_slow_ones_is_held_back() -> None:
    stage, bag, _ = among_slow_ones("a", "b")
    assert fail_all_it_gets(stage, "x") == 5
    assert stage.phase(bag) == "running"
    told = "5 tasks failed on it; no more until another host shows whose fault that was"
    assert f"x: {told}" in stage.explain(f"bag {bag}")
    assert told in stage.explain("host x")


def test_a_large_one_fails_no_more_than_it_has_at_once_and_pauses_nothing() -> None:
    stage, bag, _ = among_slow_ones("a", "b", hole=64)
    assert fail_all_it_gets(stage, "x") == 1
    assert stage.phase(bag) == "running"


def test_when_the_slow_ones_succeed_it_is_excluded_and_every_task_has_its_result() -> None:
    stage, bag, busy = among_slow_ones("a", "b")
    for _ in range(300):
        fail_all_it_gets(stage, "x")
        for one in busy:
            stage.succeed(one)
            for other in assigned(stage.last):
                stage.fail(other)
        busy = stage.offer("a") + stage.offer("b")
    assert next(one.host for one in stage.all if isinstance(one, Exclude)) == "x"
    assert set(stage.results(bag)) == {Outcome.SUCCEEDED} and not braked(stage)


def test_it_gets_another_as_soon_as_one_is_settled_to_be_the_tasks_fault() -> None:
    stage, _, (first, *_) = among_slow_ones("a", retries=Retries(task_failed=5))
    fail_all_it_gets(stage, "x")
    stage.succeed(first)
    (second,) = stage.offer("a")
    assert second.index in range(2, 7)
    stage.fail(second)  # as on x
    assert [one.host for one in assigned(stage.last)] == ["x"]


def test_a_success_clears_it() -> None:
    stage, _, _ = among_slow_ones("a")
    for _ in range(10):
        for _ in range(4):
            stage.fail(stage.offer("x")[0])
        stage.succeed(stage.offer("x")[0])
    assert len(stage.offer("x")) == 1


def test_while_the_others_take_long_it_may_try_one_each_minute() -> None:
    stage, bag, _ = among_slow_ones("a", hole=4)
    fail_all_it_gets(stage, "x")
    assert assigned(stage.wait(59)) == []
    for _ in range(50):
        (one,) = assigned(stage.wait(60)) or stage.offer("x")
        stage.fail(one)
        assert stage.offer("x") == []
    assert stage.phase(bag) == "running"


def test_when_the_others_are_gone_it_is_the_last_and_the_brakes_are_as_for_one() -> None:
    stage, bag, _ = among_slow_ones("a", "b", repeatable=False)
    fail_all_it_gets(stage, "x")
    stage.silent("a")
    assert stage.offer("x") == []
    stage.silent("b")
    assert [one.host for one in assigned(stage.last)] == ["x"]
    stage.fail(assigned(stage.last)[0])
    fail_all_it_gets(stage, "x")
    assert stage.phase(bag) == "braked"


def test_a_bag_that_fails_on_every_host_is_still_paused() -> None:
    stage = Stage()
    stage.hosts("a", "b")
    bag = stage.submit(200)
    failed = 0
    while stage.phase(bag) == "running":
        for name in "ab":
            for one in stage.offer(name):
                stage.fail(one)
                failed += 1
    assert "20 attempts in a row failed alike" in braked(stage)[0]
    assert failed == 20


def test_one_host_that_can_run_nothing_pauses_no_bag_however_good_its_record() -> None:
    stage = Stage()
    stage.hosts("a", "x")
    bag = stage.submit(2000, retries=Retries(host_failed=100))
    stage.pass_trial("a")
    for _ in range(500):
        stage.succeed(stage.offer("x")[0])
    stage.offer("a")
    for _ in range(100):
        for one in stage.offer("x"):
            stage.end(one, Outcome.HOST_FAILED, text="no space left on device")
    assert stage.phase(bag) == "running"
    assert [one.host for one in stage.all if isinstance(one, Exclude)] == ["x"]


def test_a_restarted_server_still_holds_it_back() -> None:
    stage, _, _ = among_slow_ones("a")
    fail_all_it_gets(stage, "x")
    stage.restart()
    stage.back("a", "x")
    assert stage.offer("x") == []
    stage.silent("a")
    assert len(assigned(stage.last)) == 1


def test_a_task_that_failed_on_the_only_reliable_host_waits_for_no_other() -> None:
    stage = Stage(Pool("spot", max=0, reliable=False), Pool("solid", max=0))
    stage.host("a", pool="spot")
    bag = stage.submit(1, retries=Retries(task_failed=3))
    for _ in range(3):
        stage.end(stage.offer("a")[0], Outcome.PREEMPTED, run_us=9)
    stage.host("b", pool="solid")
    stage.fail(stage.offer("b")[0])
    assert stage.offer("a") == []
    stage.succeed(stage.offer("b")[0])
    assert stage.phase(bag) == "finished"


class Fleet:
    """Hosts of any speed and honesty work on a bag, in virtual time; some come and go."""

    def __init__(self, seed: int) -> None:
        self.random = r = random.Random(seed)
        self.stage = Stage()
        self.names = [f"h{number}" for number in range(r.randint(1, 5))]
        self.fails = {name: r.choice([0.0, 0.0, 0.1, 1.0]) for name in self.names}
        self.lasts = {name: r.choice([0.1, 1, 300]) for name in self.names}
        self.bad = frozenset(r.sample(range(60), r.choice([0, 0, 3, 30, 60])))
        for name in self.names:
            self.stage.host(name, cores=r.choice([1, 1, 4, 16]))
        self.bag = self.stage.submit(60, repeatable=r.random() < 0.5)
        self.ends: list[tuple[int, int, Assign]] = []
        self.restless = r.random() < 0.3

    def one_broken_among_good(self) -> bool:
        good = [name for name in self.names if not self.fails[name]]
        return not self.bad and not self.restless and len(good) == len(self.names) - 1 > 0

    def run(self) -> None:
        for _ in range(20_000):
            for name in self.names:
                self._begin(self.stage.offer(name))
            if self.stage.phase(self.bag) != "running":
                return
            self._next()
        raise AssertionError("it does not end:\n" + self.stage.explain(f"bag {self.bag}"))

    def _begin(self, sent: list[Assign]) -> None:
        for one in sent:
            due = self.stage.now + int(self.lasts[one.host] * SECOND * self.random.uniform(0.5, 2))
            heapq.heappush(self.ends, (due, one.attempt, one))

    def _next(self) -> None:
        if self.restless and self.random.random() < 0.05:
            self._come_and_go()
        wakeup = self.stage.scheduler.next_wakeup()
        if self.ends and (wakeup is None or self.ends[0][0] <= wakeup):
            due, _, one = heapq.heappop(self.ends)
            self.stage.now = max(self.stage.now, due)
            failed = one.index in self.bad or self.random.random() < self.fails[one.host]
            self.stage.fail(one) if failed else self.stage.succeed(one, run_s=self.lasts[one.host])
        elif wakeup is not None:
            self.stage.wait(max((wakeup - self.stage.now) / SECOND, 1e-6))
        self._begin(assigned(self.stage.last))

    def _come_and_go(self) -> None:
        name = self.random.choice(self.names)
        if self.random.random() < 0.5:
            self.stage.silent(name)
        else:
            self.stage.restart()
        self._begin(assigned(self.stage.last))
        self.stage.back(*self.names)
        self._begin(assigned(self.stage.last))


@pytest.mark.parametrize("seed", range(120))
def test_every_bag_ends_or_is_paused_and_never_by_one_broken_host_among_good_ones(
    seed: int,
) -> None:
    world = Fleet(seed)
    world.run()
    if world.one_broken_among_good():
        assert world.stage.phase(world.bag) == "finished"
        assert set(world.stage.results(world.bag)) == {Outcome.SUCCEEDED}


@pytest.mark.parametrize("others", [20, 400])
def test_of_hosts_that_choose_their_tasks_few_are_asked_however_many_there_are(
    others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether another host would take what failed on this one is asked with each of its offers."""
    asked: Counter[str] = Counter()

    def counted(state: State, bag: Bag, host: Host) -> str:
        asked[host.id] += 1
        return refuses(state, bag, host)

    refuses = policies.host_refuses
    stage = Stage(check=False)
    for number in range(others):
        stage.host(f"picky{number}")
        says = HostPolicy(host_requirements='BoT.Owner == "eve"')
        stage.tell(replace(stage.seen[f"picky{number}"], says=says))
    stage.hosts("a", "b", "x")
    stage.submit(200)
    stage.pass_trial("a")
    stage.offer("a")
    stage.offer("b")
    assert fail_all_it_gets(stage, "x") == 5
    stage.offer("x")
    monkeypatch.setattr(policies, "host_refuses", counted)
    for _ in range(50):
        stage.withdraw("x")
        assert stage.offer("x") == []
    assert not asked
    assert "5 tasks failed on it" in stage.explain("host x")
