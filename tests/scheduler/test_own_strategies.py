"""A user's package may bring strategies, derived from those that are here."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pytest

from tailrace.bag.terms import Strategy
from tailrace.scheduler import strategies
from tailrace.scheduler.matching.fcfs import FirstCome
from tailrace.scheduler.matching.matching import Pick
from tailrace.scheduler.replication.replication import Replication
from tailrace.scheduler.replication.wqr import WorkQueueWithReplication
from tailrace.scheduler.state import Bag, Host, State

from .stage import Stage, assigned


class Everywhere(Replication):
    """Whatever is out goes to every other host, too."""

    name = "everywhere"

    def wants(self, bag: Bag, reliable: bool) -> bool:
        return bool(bag.live) and not bag.unsent

    def take(self, state: State, bag: Bag, host: Host) -> int | None:
        for index, attempts in bag.live.items():
            if all(attempt.host != host.id for attempt in attempts):
                return index
        return None


class Thrice(WorkQueueWithReplication):
    name = "thrice"

    def __init__(self) -> None:
        super().__init__(3)


class LastCome(FirstCome):
    def pick(self, state: State, bag: Bag, offers: Collection[Host]) -> Iterator[Pick]:
        return super().pick(state, bag, list(offers)[::-1])


def hosts_sent_to(stage: Stage, hosts: int) -> list[str]:
    names = [f"h{number}" for number in range(hosts)]
    stage.hosts(*names)
    return [sent.host for name in names for sent in stage.offer(name)]


def test_a_replication_of_ones_own_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(strategies.REPLICATION, "everywhere", Everywhere)
    stage = Stage()
    stage.submit(1, replication=Strategy("everywhere"), trial_us=0)
    assert hosts_sent_to(stage, 4) == ["h0", "h1", "h2", "h3"]
    assert stage.phase(1) == "running"


def test_one_that_is_here_may_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(strategies.REPLICATION, "thrice", Thrice)
    stage = Stage()
    stage.submit(1, replication=Strategy("thrice"), trial_us=0)
    assert hosts_sent_to(stage, 5) == ["h0", "h1", "h2"]


def test_a_matching_of_ones_own_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(strategies.MATCHING, "last", LastCome)
    stage = Stage()
    assert hosts_sent_to(stage, 3) == []
    stage.submit(1, matching=Strategy("last"), trial_us=0)
    assert [sent.host for sent in assigned(stage.last)] == ["h2"]
