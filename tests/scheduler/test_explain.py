"""Why things are as they are: a true and useful sentence for every state."""

from __future__ import annotations

import pytest

from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Growth, Limits, Retries
from tailrace.errors import BadInput
from tailrace.pools.terms import Pool
from tailrace.scheduler.events import Change

from .stage import GIB, SECOND, Stage


def test_a_bag_without_hosts_says_so() -> None:
    stage = Stage()
    bag = stage.submit(3)
    told = stage.explain(f"bag {bag}")
    assert "The bag is running." in told
    assert "0 of 3 tasks have a result (0 failed), 0 attempts are out" in told
    assert "Its tasks wait for a host: none is connected." in told


def test_a_bag_whose_machines_are_on_their_way_says_so() -> None:
    stage = Stage(Pool("cloud", max=2))
    bag = stage.submit(3)
    assert "2 of its leases are not gone; their workers may yet call." in stage.explain(
        f"bag {bag}"
    )
    stage.gone(1)
    stage.gone(2)
    stage.gone(3)
    assert "Pool cloud is asked again in 2.0 s" in stage.explain(f"bag {bag}")


def test_a_hungry_bag_gives_a_reason_for_each_host() -> None:
    stage = Stage()
    stage.host("busy")
    stage.host("idle")
    stage.host("foreign", pool="elsewhere")
    stage.host("small", memory=GIB)
    bag = stage.submit(9, pools=("home",))
    stage.pass_trial("busy")
    stage.offer("busy")
    told = stage.explain(f"bag {bag}")
    assert "Its tasks need 1 core each; 3 fit at once." in told
    assert "busy: full: it holds 1 attempt, 0 cores free." in told
    assert "idle: may take work with its next call." in told
    assert "foreign: its pool elsewhere is not among the bag's (home)." in told


def test_many_hosts_are_not_all_listed() -> None:
    stage = Stage()
    stage.hosts(*(f"h{number}" for number in range(50)))
    bag = stage.submit(9)
    assert "And 30 hosts more." in stage.explain(f"bag {bag}")
    assert len(stage.explain(f"bag {bag}").splitlines()) < 30


@pytest.mark.parametrize(
    ("change", "phase", "remedy"),
    [
        (Change.PAUSE, "paused", "`tailrace resume` lets it go on"),
        (Change.CANCEL, "cancelled", "`tailrace resume 1` takes it up again"),
    ],
)
def test_a_bag_that_stands_says_how_it_goes_on(change: Change, phase: str, remedy: str) -> None:
    stage = Stage()
    bag = stage.submit(3)
    stage.change(bag, change, why="he wished so")
    told = stage.explain(f"bag {bag}")
    assert f"The bag is {phase}: he wished so." in told
    assert remedy in told
    assert f"The bag is {phase}" in stage.explain(f"task {bag}/0")


def test_a_finished_bag_says_only_that() -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(1)
    stage.pass_trial("a")
    assert stage.explain(f"bag {bag}").splitlines()[0] == "The bag is finished."


def test_like_failures_are_shown_as_they_come() -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(9, retries=Retries(task_failed=0))
    for _ in range(3):
        stage.fail(stage.offer("a")[0], exit=3, text="no licence")
    assert "The last 3 failures were alike: task_failed" in stage.explain(f"bag {bag}")


def test_a_task_tells_its_life() -> None:
    stage = Stage()
    stage.hosts("a", "b")
    bag = stage.submit(3, retries=Retries(task_failed=1))
    told = stage.explain(f"task {bag}/0")
    assert "The task was never sent; 3 tasks of the bag wait." in told
    assert "b: may take work with its next call." in told
    (one,) = stage.offer("a")
    stage.now += 3 * SECOND
    assert stage.explain(f"task {bag}/0") == "An attempt is out on a since 3.0 s."
    stage.fail(one, text="no luck")
    told = stage.explain(f"task {bag}/0")
    assert (
        "The task waits for another attempt, away from a: task failed (exit 1, no luck) on a"
        in told
    )
    assert "It failed on a; another host will show whose fault that was." in told
    assert "It was sent 1 times." in told
    (again,) = stage.offer("b")
    assert "It was sent 2 times." in stage.explain(f"task {bag}/0")
    stage.fail(again, text="no luck")
    assert stage.explain(f"task {bag}/0") == "The task has failed for good."


def test_a_task_with_its_result_says_so() -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(2)
    stage.pass_trial("a")
    assert stage.explain(f"task {bag}/0") == "The task has its result."


def test_a_task_that_has_grown_says_what_it_asks_for() -> None:
    stage = Stage()
    stage.host("a", memory=8 * GIB)
    bag = stage.submit(1, needs={"cores": 1000, "memory": GIB}, limits=Limits(memory=GIB),
                       growth=Growth(2.0, {}, ("memory",)))  # fmt: skip
    stage.end(stage.offer("a")[0], Outcome.OVER_LIMIT, limit="memory")
    assert "It now asks for 1 core, 2 GiB memory." in stage.explain(f"task {bag}/0")


def test_an_attempt_that_is_being_ended_says_so() -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(1)
    stage.offer("a")
    stage.change(bag, Change.CANCEL)
    assert "An attempt is being ended (cancelled) on a" in stage.explain(f"task {bag}/0")


def test_a_host_tells_what_it_holds_and_why_it_waits() -> None:
    stage = Stage()
    stage.host("a", cores=2)
    told = stage.explain("host a")
    assert "Host a of pool home is connected; it offers 2 cores." in told
    stage.offer("a")
    assert "It waits for work: no bag has a task to send." in stage.explain("host a")
    stage.submit(1, needs={"cores": 1000, "gpus": 1000})
    assert "bag 1: 1 gpu wanted, 0 gpus there" in stage.explain("host a")
    stage.silent("a")
    assert "is not connected" in stage.explain("host a")


def test_what_is_full_says_so_and_what_waits_for_it_too() -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(4)
    stage.pass_trial("a")
    stage.offer("a")
    assert "It is full: it holds 1 attempt, 0 cores free." in stage.explain("host a")
    assert "a: full: it holds 1 attempt, 0 cores free." in stage.explain(f"task {bag}/3")
    stage.host("b")
    stage.offer("b")
    told = stage.explain(f"task {bag}/3")
    assert "The task was never sent; 1 task of the bag waits." in told
    assert "All 2 hosts are full." in told
    stage.silent("a")
    stage.silent("b")
    assert "Its tasks wait for a host: none is connected." in stage.explain(f"task {bag}/3")


def test_a_host_without_the_memory_left_is_not_said_to_be_avoided() -> None:
    stage = Stage()
    stage.host("a", cores=4, memory=2 * GIB)
    bag = stage.submit(3, needs={"cores": 1000, "memory": 2 * GIB})
    stage.pass_trial("a")
    stage.offer("a")
    lacks = "2 GiB memory wanted, 0 B memory there beside 1 attempt"
    assert f"a: {lacks}." in stage.explain(f"task {bag}/2")
    stage.offer("a")
    assert f"It waits for work: bag 1: {lacks}." in stage.explain("host a")


@pytest.mark.parametrize(
    ("subject", "told"),
    [
        ("bag 7", "there is no bag 7"),
        ("bag x", "there is no bag x"),
        ("host b", "there is no host b"),
        ("task 1/99", "bag 1 has no task 99: they are 0 to 2"),
        ("task 1", "bag 1 has no task"),
        ("cat", "'cat' is no subject"),
    ],
)
def test_what_is_not_there_is_named(subject: str, told: str) -> None:
    stage = Stage()
    stage.submit(3)
    with pytest.raises(BadInput, match=told):
        stage.explain(subject)
