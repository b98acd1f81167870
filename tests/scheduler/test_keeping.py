"""What hosts did, and what owners and bags had of the machines, is known again after a restart."""

from __future__ import annotations

import pytest

from tailrace.pools.terms import Pool
from tailrace.scheduler import facts
from tailrace.scheduler.decisions import AnyDecision, Assign, Remember
from tailrace.scheduler.events import BagForgotten, Change
from tailrace.scheduler.rows import HostRow, UseRow

from .stage import SECOND, Stage

HOME = Pool("home", max=0)
RECORD = ("Host.Succeeded", "Host.JobsToday", "Host.MeanTurnaround", "Host.RecentGoodSeconds")
DAY = 24 * 3600


def work(stage: Stage, host: str, times: int, *, run_s: int = 1) -> None:
    """One after the other."""
    waiting: list[Assign] = []
    for _ in range(times):
        waiting += stage.offer(host) if not waiting else []
        stage.now += run_s * SECOND
        stage.succeed(waiting.pop(0), run_s=run_s)


def record(stage: Stage, host: str) -> dict[str, object]:
    state = stage.scheduler.state
    return dict(facts.of_host(state, state.bags[1], state.hosts[host], RECORD))


def rows(decisions: list[AnyDecision], kind: type[HostRow] | type[UseRow]) -> int:
    return sum(isinstance(one, Remember) and isinstance(one.row, kind) for one in decisions)


def ready(*hosts: str, tasks: int = 10_000) -> Stage:
    stage = Stage(HOME)
    stage.hosts(*hosts)
    stage.submit(tasks, trial_us=0, owner="ada")
    return stage


def test_a_record_is_whole_after_a_restart_that_comes_a_minute_later() -> None:
    stage = ready("a")
    work(stage, "a", 31)
    stage.wait(60)
    before = record(stage, "a")
    assert before["Host.Succeeded"] == before["Host.JobsToday"] == 31
    stage.restart()
    stage.back("a")
    assert record(stage, "a") == before


def test_a_record_is_whole_after_an_orderly_end() -> None:
    stage = ready("a")
    work(stage, "a", 31)
    before = record(stage, "a")
    stage.stop()
    stage.restart()
    stage.back("a")
    assert record(stage, "a") == before


def test_the_record_of_a_host_that_falls_silent_is_stored_at_once() -> None:
    stage = ready("a")
    work(stage, "a", 31)
    stage.silent("a")
    assert stage.tables.hosts["a"].succeeded == 31
    assert rows(stage.wait(60), HostRow) == 0


def test_a_record_that_does_not_change_is_not_stored_again() -> None:
    stage = ready("a")
    work(stage, "a", 1)
    assert rows(stage.wait(60), HostRow) == 1
    assert [rows(stage.wait(60), HostRow) for _ in range(3)] == [0, 0, 0]


def test_a_record_is_stored_about_once_a_minute_however_often_it_changes() -> None:
    stage = ready("a")
    work(stage, "a", 17, run_s=10)  # 16 results, and 32, are a reason of their own
    before = len(stage.all)
    work(stage, "a", 14, run_s=10)
    assert 2 <= rows(stage.all[before:], HostRow) <= 3  # in 140 s


@pytest.mark.parametrize("hosts", [20, 200])
def test_no_event_pays_for_the_records_of_all_hosts(hosts: int) -> None:
    names = [f"h{number:03}" for number in range(hosts)]
    stage = ready(*names)
    sent = [one for name in names for one in stage.offer(name)]
    stage.now += SECOND
    for one in sent:
        stage.succeed(one)
    stage.now += 61 * SECOND
    most = []
    while not most or most[-1]:
        most.append(rows(stage.wait(0), HostRow) + rows(stage.last, UseRow))
    assert max(most) == 16
    stored = [row.succeeded for row in stage.tables.hosts.values()]
    assert stored == [1] * hosts


def used(stage: Stage, owner: str) -> int:
    return stage.scheduler.state.accounts[owner].used


def test_what_an_owner_and_his_bag_had_counts_after_a_restart() -> None:
    stage = ready("a")
    work(stage, "a", 20, run_s=100)
    stage.wait(60)
    assert used(stage, "ada") == 2_000_000
    stage.restart()
    assert used(stage, "ada") == pytest.approx(2_000_000, rel=0.01)
    assert stage.scheduler.state.bags[1].used == used(stage, "ada")


def test_half_of_it_is_forgotten_while_the_server_is_away_for_a_day() -> None:
    stage = ready("a")
    work(stage, "a", 20, run_s=100)
    stage.wait(60)
    stage.now += DAY * SECOND
    stage.restart()
    assert used(stage, "ada") == pytest.approx(1_000_000, rel=0.01)


def test_what_is_out_during_a_restart_counts_once() -> None:
    stage = ready("a", "b")
    work(stage, "a", 3, run_s=100)
    (one,) = stage.offer("b")
    stage.now += 100 * SECOND
    stage.wait(0)
    stage.restart()
    stage.back("a", "b")
    stage.succeed(one, run_s=100)
    assert used(stage, "ada") == 400_000


def test_who_has_had_less_before_a_restart_comes_first_after_it() -> None:
    stage = ready("a")
    work(stage, "a", 20, run_s=100)
    stage.wait(60)
    stage.restart()
    stage.submit(100, trial_us=0, owner="bob")
    stage.back("a")
    first = []
    for _ in range(4):
        (one,) = stage.offer("a")
        stage.now += 10 * SECOND
        stage.succeed(one, run_s=10)
        first.append(one.bag)
    assert first == [2, 2, 2, 2]


def test_of_a_bag_that_is_forgotten_nothing_is_stored_any_more() -> None:
    stage = ready("a")
    work(stage, "a", 1)
    stage.change(1, Change.CANCEL)
    stage.tell(BagForgotten(1))
    stage.wait(60)
    assert list(stage.tables.uses) == [(0, "ada")]
