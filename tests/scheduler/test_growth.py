"""A bag that grows: old numbers keep their meaning, the new tasks come behind, in whichever order,
and after a restart too."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tailrace.bag.terms import Retries, Strategy
from tailrace.pools.terms import Pool
from tailrace.scheduler.brain import Scheduler
from tailrace.scheduler.decisions import Remember
from tailrace.scheduler.events import BagChanged, Change, More
from tailrace.scheduler.journal import encode_page, replay

from .stage import Stage, assigned
from .test_machine import durable, finish
from .test_walks import STEPS, Walk

ORDERS = {
    "listed": {},
    "shuffled": {"order_seed": 3},
    "by a column": {"permutation": bytes(array("I", [3, 2, 1, 0]))},
}
BEHIND = [2, 0, 1]


def run_all(stage: Stage, *, restarts: bool = False) -> list[int]:
    sent = []
    while offered := stage.offer("a"):
        sent.append(offered[0].index)
        stage.succeed(offered[0])
        if restarts:
            stage.restart()
            stage.back("a")
    return sent


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("done", [0, 2, 4])
def test_new_tasks_come_behind_the_others(order: str, restarts: bool, done: int) -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(4, **ORDERS[order])  # type: ignore[arg-type]
    first = [one.index for _ in range(done) for one in stage.offer("a") if stage.succeed(one)]
    assert stage.phase(bag) == ("finished" if done == 4 else "running")
    stage.grow(bag, 3, BEHIND if order == "by a column" else None)
    stage.grow(bag, 3, BEHIND if order == "by a column" else None)
    if restarts:
        stage.restart()
        stage.back("a")
    sent = [*first, *run_all(stage, restarts=restarts)]
    assert [sorted(part) for part in (sent[:4], sent[4:7], sent[7:])] == [
        [0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]  # fmt: skip
    assert stage.phase(bag) == "finished" and stage.tables.bags[bag].added == (3, 3)
    if order == "by a column":
        assert sent == [3, 2, 1, 0, 6, 4, 5, 9, 7, 8]
    assert all(step.same for step in replay(map(encode_page, stage.journal), check=True))


def test_results_that_were_taken_over_stay_so() -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(4, taken=[0, 2])
    stage.grow(bag, 2)
    assert run_all(stage) == [1, 3, 4, 5] and stage.phase(bag) == "finished"


def test_told_twice_it_grows_once() -> None:
    stage = Stage()
    bag = stage.submit(2)
    told = BagChanged(bag, Change.GROW, more=More(2, 3))
    assert [type(one) for one in stage.tell(told)] == [Remember]
    assert stage.tell(told) == [] and stage.tables.bags[bag].terms.count == 5


@pytest.mark.parametrize("phase", ["paused", "cancelled"])
def test_one_that_was_stopped_stays_so(phase: str) -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(2)
    stage.change(bag, Change.PAUSE if phase == "paused" else Change.CANCEL)
    stage.grow(bag, 3)
    count = stage.tables.bags[bag].terms.count
    assert stage.phase(bag) == phase and count == (5 if phase == "paused" else 2)
    stage.change(bag, Change.RESUME)
    assert run_all(stage) == list(range(count))


def test_a_finished_bag_with_failures_keeps_them() -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(1, retries=Retries(task_failed=0))
    (one,) = stage.offer("a")
    stage.fail(one)
    assert stage.phase(bag) == "finished"
    stage.grow(bag, 9)
    assert run_all(stage) == list(range(1, 10))
    assert stage.results(bag)[0] == "task_failed"
    (again,) = assigned(stage.change(bag, Change.RETRY, 0))  # the host's offer stands open
    assert again.index == 0 and stage.succeed(again) and stage.result(bag, 0) == "succeeded"


def test_the_tail_ends_when_there_is_more_to_do() -> None:
    stage = Stage(Pool("spot", max=0, reliable=False))
    stage.hosts("a", "b", "c", "d")
    bag = stage.submit(2, replication=Strategy("ntdmr", {"n": 3, "d_s": 60.0}), trial_us=0)
    sent = [one for name in "ab" for one in stage.offer(name)]
    assert stage.tables.bags[bag].tail_us is not None
    stage.grow(bag, 20)
    assert stage.tables.bags[bag].tail_us is None
    assert [one.index for name in "cd" for one in stage.offer(name)] == [2, 3]
    assert all(stage.succeed(one) for one in sent)


def test_it_says_in_which_order_they_come() -> None:
    stage = Stage()
    bag = stage.submit(4, order_seed=3)
    stage.grow(bag, 3)
    told = stage.explain(f"bag {bag}")
    assert "0 of 7 tasks have a result" in told
    assert "Tasks from 4 on were added later" in told and "shuffled among themselves" in told


class GrowingWalk(Walk):
    """Bags that end with a task of their own do not grow: none is among these."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.ways.append((6, self.grow_one))
        self.stage.submit = partial(_without_last, self.stage.submit)  # type: ignore[method-assign]

    def grow_one(self) -> None:
        if self.stage.tables.bags:
            self.grow(self.random.choice(sorted(self.stage.tables.bags)))


def _without_last(submit: Callable[..., int], count: int, *, last: bool, **terms: Any) -> int:
    return submit(count, **terms)


@pytest.mark.parametrize("seed", range(20))
def test_a_walk_keeps_every_promise_while_bags_grow(seed: int) -> None:
    walk = GrowingWalk(seed)
    for _ in range(STEPS):
        walk.step()
        other = Scheduler(check=True)
        other.restore(walk.stage.tables.restored(), walk.stage.now)
        assert durable(other.state) == durable(walk.stage.scheduler.state)
    finish(walk.stage)
