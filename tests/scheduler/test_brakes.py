"""What keeps a broken bag from burning its tasks on every machine."""

from __future__ import annotations

from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Retries
from tailrace.pools.terms import Pool
from tailrace.scheduler.decisions import PauseBag
from tailrace.scheduler.events import Change

from .stage import SECOND, Stage, assigned, kinds

NONE = Retries(task_failed=0)


def paused(stage: Stage) -> list[str]:
    return [one.why for one in stage.all if isinstance(one, PauseBag)]


def test_the_first_task_on_a_kind_of_host_is_a_trial_and_the_others_wait_until_it_ends() -> None:
    stage = Stage()
    stage.hosts("a", "b", cores=4)
    bag = stage.submit(50)
    (trial,) = stage.offer("a")
    assert stage.offer("a") == stage.offer("b") == []
    assert "the first task on hosts of kind linux is on trial" in stage.explain(f"bag {bag}")
    assert "its trial task on hosts of kind linux is out" in stage.explain("host b")
    stage.succeed(trial)
    assert [one.host for one in assigned(stage.last)] == ["a"] * 4 + ["b"] * 4


def test_the_others_wait_two_seconds_at_most() -> None:
    stage = Stage()
    stage.hosts("a", "b")
    stage.submit(50)
    stage.offer("a")
    stage.offer("b")
    assert assigned(stage.wait(1.9)) == []
    assert stage.scheduler.next_wakeup() == 2 * SECOND
    assert [one.host for one in assigned(stage.wait(0.1))] == ["b"]


def test_a_trial_that_fails_is_followed_by_another() -> None:
    stage = Stage()
    stage.hosts("a", "b", cores=4)
    stage.submit(50, retries=NONE)
    (trial,) = stage.offer("a")
    stage.fail(trial)
    (second,) = stage.offer("a")
    assert second.index == 1
    assert stage.offer("b") == []


def test_each_kind_of_host_and_each_bag_has_its_own_trial() -> None:
    stage = Stage()
    stage.host("a", kind="linux", cores=2)
    stage.host("b", kind="arm", cores=2)
    one, two = stage.submit(9), stage.submit(9)
    assert [sent.bag for sent in stage.offer("a")] == [one, two]
    assert [sent.bag for sent in stage.offer("b")] == [one, two]


def test_twenty_like_failures_pause_the_bag_and_show_the_text() -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(50, retries=NONE)
    for number in range(20):
        assert stage.phase(bag) == "running"
        (one,) = stage.offer("a")
        stage.fail(one, exit=3, text=f"no file input_{number}.dat")
    assert stage.phase(bag) == "braked"
    told = "20 attempts in a row failed alike: task failed (exit 3, no file input_19.dat)"
    assert paused(stage) == [told]
    assert stage.offer("a") == []
    assert told in stage.explain(f"bag {bag}")


def test_a_success_or_another_failure_between_them_starts_the_count_again() -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(100, retries=NONE)
    for number in range(60):
        (one,) = stage.offer("a")
        if number % 19 == 18:
            stage.succeed(one)
        else:
            stage.fail(one, exit=1 + (number > 40))
    assert stage.phase(bag) == "running"


def test_hosts_that_cannot_run_anything_pause_the_bag_too() -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(50)
    for _ in range(20):
        (one,) = stage.offer("a")
        stage.end(one, Outcome.HOST_FAILED, text="no space left on device")
    assert stage.phase(bag) == "braked"
    assert "host failed (no space left on device)" in paused(stage)[0]


def test_a_bag_that_is_done_is_finished_not_paused() -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(3, retries=NONE, like_failures=3, max_failures=3)
    for _ in range(3):
        (one,) = stage.offer("a")
        stage.fail(one)
    assert stage.phase(bag) == "finished"
    assert paused(stage) == []


def test_max_failures_pauses_the_bag_when_so_many_tasks_have_failed() -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(50, retries=NONE, max_failures=3)
    for number in range(3):
        assert stage.phase(bag) == "running"
        (one,) = stage.offer("a")
        stage.fail(one, exit=number + 1)
    assert stage.phase(bag) == "braked"
    assert paused(stage) == ["3 tasks failed, max_failures is 3"]


def test_who_resumes_a_bag_has_forgiven_what_failed_before() -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(50, retries=NONE, max_failures=3)
    for number in range(3):
        (one,) = stage.offer("a")
        stage.fail(one, exit=number + 1)
    stage.change(bag, Change.RESUME)
    stage.restart()
    stage.back("a")
    for number in range(3):
        assert stage.phase(bag) == "running"
        (one,) = stage.offer("a")
        stage.fail(one, exit=number + 1)
    assert paused(stage)[1:] == ["3 tasks failed since it was resumed, max_failures is 3"]


def test_a_braked_bag_goes_on_when_it_is_resumed_with_a_new_trial() -> None:
    stage = Stage()
    stage.host("a", cores=4)
    bag = stage.submit(50, retries=NONE, like_failures=2)
    for _ in range(2):
        (one,) = stage.offer("a")
        stage.fail(one)
    assert stage.phase(bag) == "braked"
    stage.change(bag, Change.RESUME)
    assert stage.phase(bag) == "running"
    assert len(stage.offer("a")) == 1


def test_workers_that_die_at_start_pause_the_bag_with_the_reason() -> None:
    stage = Stage(Pool("cloud", max=1))
    bag = stage.submit(5)
    pauses = []
    for lease in range(1, 6):
        assert stage.tables.leases[lease].state == "wanted"
        before = stage.now
        stage.gone(lease, "no module named tailrace")
        while lease < 5 and lease + 1 not in stage.tables.leases:
            stage.wait(0.5)
        pauses.append((stage.now - before) / SECOND)
    assert pauses == [0, 1, 2, 4, 0]
    assert stage.phase(bag) == "braked"
    assert paused(stage) == [
        "5 workers of pool cloud died before any task ended: no module named tailrace"
    ]


def test_machines_that_lived_for_a_while_may_all_die_before_their_long_tasks_end() -> None:
    """Spot machines: the tasks are longer than most of their lives."""
    stage = Stage(Pool("cloud", max=6))
    bag = stage.submit(500)
    for lease in range(1, 7):
        stage.host(f"m{lease}", lease=lease)
        stage.offer(f"m{lease}")
    stage.wait(61)
    for lease in range(1, 7):
        stage.gone(lease, "taken back")
    assert stage.phase(bag) == "running"
    assert kinds(stage.all).count("Acquire") == 12


def test_machines_that_have_worked_may_all_die_without_pausing_anything() -> None:
    stage = Stage(Pool("cloud", max=6))
    bag = stage.submit(500)
    for lease in range(1, 7):
        stage.host(f"m{lease}", lease=lease)
    stage.pass_trial("m1")
    for lease in range(2, 7):
        stage.succeed(stage.offer(f"m{lease}")[0])
    for lease in range(1, 7):
        stage.gone(lease, "power cut")
    assert stage.phase(bag) == "running"
    assert kinds(stage.all).count("Acquire") == 12


def test_of_a_large_fleet_some_may_die_young() -> None:
    stage = Stage(Pool("cloud", max=20))
    bag = stage.submit(500)
    for lease in range(1, 21):
        stage.host(f"m{lease}", lease=lease)
    for lease in range(1, 9):
        stage.gone(lease, "taken back")
    assert stage.phase(bag) == "running"
    for lease in range(9, 21):
        stage.gone(lease, "no module named tailrace")
    assert stage.phase(bag) == "braked"
