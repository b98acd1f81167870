"""Which of many offers takes a task: matching strategies, rounds, and tasks that arrive."""

from __future__ import annotations

from array import array
from collections import Counter

import pytest

from tailrace.bag.terms import Strategy
from tailrace.errors import BadInput

from .stage import Stage, assigned

SPEEDS = {"slow": 1.0, "fast": 4.0, "middling": 2.0}


def _idle(*, cores: int = 1, shared: int | None = None) -> Stage:
    """Three hosts that wait, the slowest first."""
    stage = Stage()
    for name, speed in SPEEDS.items():
        stage.host(name, kind=name, speed=speed, cores=cores, shared=shared)
        stage.offer(name)
    return stage


def _sent(
    stage: Stage, count: int, matching: str, *, order: list[int] | None = None
) -> list[tuple[int, str]]:
    permutation = array("I", order).tobytes() if order else None
    stage.submit(count, matching=Strategy(matching), permutation=permutation, trial_us=0)
    return [(one.index, one.host) for one in assigned(stage.last)]


def test_first_come_takes_the_oldest_offer() -> None:
    assert _sent(_idle(), 2, "fcfs") == [(0, "slow"), (1, "fast")]


def test_fjbcr_takes_the_fastest_first() -> None:
    assert _sent(_idle(), 2, "fjbcr") == [(0, "fast"), (1, "middling")]


def test_a_shared_machine_is_as_fast_as_what_is_left_of_it() -> None:
    """4, then 4/2 beside 2, then 4/3 beside 2/2 and 1."""
    hosts = [host for _, host in _sent(_idle(cores=8, shared=1), 6, "fjbcr")]
    assert hosts[:4] == ["fast", "fast", "middling", "fast"]
    assert Counter(hosts) == {"fast": 4, "middling": 1, "slow": 1}


def test_a_machine_is_as_fast_as_ever_while_it_has_a_free_core() -> None:
    """Two of 4, then 4·2/3 beside 2; then 4·2/4 on either, and the middling one holds nothing."""
    hosts = [host for _, host in _sent(_idle(cores=8, shared=2), 4, "fjbcr")]
    assert hosts == ["fast", "fast", "fast", "middling"]
    assert Counter(host for _, host in _sent(_idle(cores=4), 9, "fjbcr")) == {
        "fast": 4, "middling": 4, "slow": 1,
    }  # fmt: skip


def test_a_task_of_several_cores_counts_as_many_on_a_machine() -> None:
    """Two of them would need four where there are three: 4 · 3/4 is less than 3.5."""
    stage = Stage()
    stage.host("shared", kind="shared", speed=4.0, cores=9, shared=3)
    stage.host("alone", kind="alone", speed=3.5, cores=9)
    for name in ("shared", "alone"):
        stage.offer(name)
    needs = {"cores": 2000}
    stage.submit(5, matching=Strategy("fjbcr"), needs=needs, trial_us=0)
    hosts = [one.host for one in assigned(stage.last)]
    assert hosts == ["shared", "alone", "alone", "alone", "alone"]


def test_of_machines_as_fast_the_one_that_holds_least_is_next() -> None:
    stage = Stage()
    for name in ("one", "other"):
        stage.host(name, cores=4)
        stage.offer(name)
    hosts = [host for _, host in _sent(stage, 4, "fjbcr")]
    assert hosts == ["one", "other", "one", "other"]


def test_maxmax_and_minmax_are_fjbcr_in_another_order() -> None:
    longest_first, shortest_first = [2, 0, 1], [1, 0, 2]
    assert _sent(_idle(), 3, "maxmax", order=longest_first)[0] == (2, "fast")
    assert _sent(_idle(), 3, "minmax", order=shortest_first)[0] == (1, "fast")


def test_a_random_machine_is_any_and_the_same_again() -> None:
    first = [_sent_to_one(seed) for seed in range(60)]
    assert set(first) == set(SPEEDS)
    assert first == [_sent_to_one(seed) for seed in range(60)]


def _sent_to_one(bag: int) -> str:
    """The draws of each bag are its own."""
    stage = _idle()
    for _ in range(bag):
        stage.submit(0)
    ((_, host),) = _sent(stage, 1, "random")
    return host


def test_an_unknown_strategy_or_option_is_refused_with_those_there_are() -> None:
    with pytest.raises(BadInput, match="no matching strategy 'fastest'") as refused:
        Stage().submit(1, matching=Strategy("fastest"))
    assert "fjbcr" in str(refused.value.remedy)
    with pytest.raises(BadInput, match="wqr"):
        Stage().submit(1, replication=Strategy("wqr", {"least": 2}))


def test_in_rounds_nothing_is_sent_between_them() -> None:
    stage = Stage()
    stage.hosts("a", "b")
    stage.submit(3, round_us=600_000_000, trial_us=0)
    assert stage.offer("a") == [] and stage.offer("b") == []
    assert assigned(stage.wait(599)) == []
    sent = assigned(stage.wait(1))
    assert [(one.index, one.host) for one in sent] == [(0, "a"), (1, "b")]
    stage.succeed(sent[0])
    assert stage.offer("a") == []
    assert assigned(stage.wait(599)) == []
    assert [one.host for one in assigned(stage.wait(1))] == ["a"]


def test_a_round_sees_what_comes_in_its_own_moment() -> None:
    stage = Stage()
    stage.host("a")
    stage.submit(2, round_us=10_000_000, trial_us=0)
    stage.now += 10_000_000
    assert stage.offer("a") == [], "the moment is not over yet"
    (first,) = assigned(stage.wait(0))
    stage.now += 10_000_000
    stage.succeed(first)
    stage.offer("a")
    assert [one.index for one in assigned(stage.wait(0))] == [1]


def test_nobody_wakes_for_a_round_while_nothing_waits_and_the_next_is_in_phase() -> None:
    stage = Stage()
    stage.hosts("a", "b")
    bag = stage.submit(3, arrived=2, round_us=10_000_000, trial_us=0)
    assert stage.scheduler.next_wakeup() is None, "no host has room"
    stage.offer("a")
    assert stage.scheduler.next_wakeup() == 10_000_000
    (first,) = assigned(stage.wait(10))
    assert stage.scheduler.next_wakeup() is None, "no host has room for the second"
    stage.wait(13)
    stage.offer("b")
    assert stage.scheduler.next_wakeup() == 30_000_000
    (second,) = assigned(stage.wait(7))
    stage.succeed(first)
    stage.succeed(second)
    stage.offer("a")
    assert stage.scheduler.next_wakeup() is None, "nothing waits"
    stage.wait(1003)
    assert stage.arrive(bag, 3) == []
    assert stage.scheduler.next_wakeup() == 1_040_000_000
    assert [one.index for one in assigned(stage.wait(7))] == [2]


def test_what_a_strategy_wants_again_asks_for_a_round() -> None:
    stage = Stage()
    stage.hosts("a", "b")
    stage.submit(1, round_us=10_000_000, trial_us=0, repeatable=True, replication=Strategy("wqr"))
    stage.offer("a")
    (first,) = assigned(stage.wait(10))
    stage.wait(1)
    assert stage.offer("b") == []
    assert stage.scheduler.next_wakeup() == 20_000_000
    assert [(one.index, one.host) for one in assigned(stage.wait(9))] == [(first.index, "b")]
    assert stage.scheduler.next_wakeup() is None


def test_a_round_that_was_held_is_not_held_again_in_its_moment() -> None:
    stage = Stage()
    stage.hosts("a", "b")
    stage.submit(2, round_us=10_000_000, trial_us=0)
    stage.offer("a")
    stage.wait(10)
    assert stage.offer("b") == []
    assert assigned(stage.wait(0)) == []
    assert len(assigned(stage.wait(10))) == 1


def test_rounds_go_on_at_their_times_after_a_restart() -> None:
    stage = Stage()
    stage.host("a")
    stage.submit(1, round_us=600_000_000, trial_us=0)
    stage.wait(100)
    stage.restart()
    stage.back("a")
    stage.offer("a")
    assert assigned(stage.wait(499)) == []
    assert len(assigned(stage.wait(1))) == 1


def test_tasks_are_sent_as_they_arrive() -> None:
    stage = Stage()
    stage.host("a", cores=4)
    bag = stage.submit(4, arrived=1, trial_us=0)
    (first,) = stage.offer("a")
    stage.succeed(first)
    assert stage.offer("a") == []
    assert [one.index for one in stage.arrive(bag, 3)] == [1, 2]
    assert stage.arrive(bag, 3) == [] and stage.arrive(bag, 2) == []
    assert stage.phase(bag) == "running"


def test_of_those_that_have_arrived_the_longest_goes_first_also_after_a_restart() -> None:
    order = array("I", [3, 1, 0, 2]).tobytes()  # task 3 is the longest
    stage = Stage()
    stage.host("a")
    bag = stage.submit(4, arrived=3, permutation=order, trial_us=0)
    (first,) = stage.offer("a")
    assert first.index == 1
    stage.restart()
    stage.back("a")
    stage.succeed(first)
    (second,) = stage.offer("a")
    assert second.index == 0
    stage.arrive(bag, 4)
    stage.succeed(second)
    assert [one.index for one in stage.offer("a")] == [3]
