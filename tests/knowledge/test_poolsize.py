"""How many hosts there are, from what was out."""

from __future__ import annotations

import heapq
from random import Random

import pytest
from tests.knowledge.sent import back, expired, of

from tailrace.knowledge.poolsize import pool_size
from tailrace.knowledge.sendings import Sending, Sendings


def busy(hosts: int, tasks: int, seed: int, fails: float = 0.0) -> Sendings:
    """Each host takes the next task when it is free; one that fails holds its host for 30 s."""
    random, free, sent = Random(seed), [0.0] * hosts, list[Sending]()
    for _ in range(tasks):
        now = heapq.heappop(free)
        held = 30.0 if random.random() < fails else random.uniform(5, 15)
        sent.append(expired(now, held) if held == 30.0 else back(now, held))
        heapq.heappush(free, now + held)
    return of(*sent)


@pytest.mark.parametrize("hosts", [1, 7, 50])
@pytest.mark.parametrize("fails", [0.0, 0.3])
def test_hosts_that_are_always_busy_are_counted(hosts: int, fails: float) -> None:
    sent = busy(hosts, 40 * hosts, hosts, fails)
    found = pool_size(sent)
    assert found is not None
    assert found.effective == pytest.approx(hosts) and found.hosts == found.most == hosts
    assert found.error == pytest.approx(0, abs=1e-9)
    held = sent.took_s.mean()
    assert found.sent_per_s * held == pytest.approx(hosts, rel=0.2)


def test_hosts_that_are_there_half_of_the_time_count_half() -> None:
    """One for all the time, another for 10 s of 20."""
    sent = of(*(back(10 * n, 10) for n in range(40)), *(back(20 * n, 10) for n in range(20)))
    found = pool_size(sent, 400)
    assert found is not None and found.effective == pytest.approx(1.5)
    assert found.hosts == 2 and found.most == 2


def test_hosts_that_come_late_count_when_they_have_come() -> None:
    """One from the beginning, and nine more after 100 of 400 s."""
    sent = [back(10 * n, 10) for n in range(40)]
    sent += [back(100 + 10 * n, 10) for n in range(30) for _ in range(9)]
    found = pool_size(of(*sent), 400)
    assert found is not None and found.effective == pytest.approx(10)
    assert found.sent_per_s == found.returned_per_s == pytest.approx(1)


def test_how_long_a_dead_one_held_its_host_must_be_known() -> None:
    sent = of(back(0, 5), back(6, 5), expired(3))
    assert pool_size(sent) is None
    known = pool_size(sent.given_up(20), 10)
    assert known is not None and known.most == 2


def test_what_was_sent_at_once_tells_nothing() -> None:
    assert pool_size(of(back(3, 5), back(3, 6))) is None
    assert pool_size(of()) is None
