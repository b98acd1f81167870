"""The books of a run, kept beside it from what the scheduler is told and decides: they must agree
with what the run itself counts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from tailrace.bag.outcome import Outcome
from tailrace.pools.terms import Billing
from tailrace.scheduler import money
from tailrace.scheduler.decisions import Acquire, Assign, Close, Remember, Renew, Settle
from tailrace.scheduler.events import LeaseChanged, LeaseState
from tailrace.scheduler.rows import LeaseRow
from tailrace.simulation.draws import Streams
from tailrace.simulation.ending import left, unfinished
from tailrace.simulation.engine import Stop
from tailrace.simulation.failing import task_lengths
from tailrace.simulation.record import UNKNOWN
from tailrace.simulation.scenario import ONE
from tailrace.simulation.statistics import figures, links, machines, remaining
from tailrace.simulation.workload import MachineType
from tailrace.simulation.world import World

SECOND = 1_000_000
SHARES = ("availability", "busy", "full", "work_lost", "accepted")


class Books:
    """A watch of a world: what was sent, ended and leased, each thing once."""

    def __init__(self) -> None:
        self.sent: dict[int, tuple[int, int]] = {}  # by attempt: bag and task
        self.closed: dict[int, Close] = {}
        self.settled: dict[tuple[int, int], Settle] = {}
        self.leased: dict[int, tuple[Acquire, int]] = {}
        self.ends_us: dict[int, int] = {}
        self.gone_us: dict[int, int] = {}
        self.rows: dict[int, LeaseRow] = {}  # as they were last remembered

    def __call__(self, event: Any, decisions: list[Any], now: int) -> None:
        if isinstance(event, LeaseChanged) and event.state is LeaseState.GONE:
            self.gone_us.setdefault(event.lease, now)
        for one in decisions:
            self._note(one, now)

    def _note(self, one: Any, now: int) -> None:
        if isinstance(one, Assign):
            assert one.attempt not in self.sent, f"attempt {one.attempt} was sent twice"
            assert (one.bag, one.index) not in self.settled, f"{one} though it has its result"
            self.sent[one.attempt] = one.bag, one.index
        elif isinstance(one, Close):
            before = self.closed.get(one.attempt)
            late = before is None or (one.accepted and not before.accepted)
            assert late, f"attempt {one.attempt} ended twice"  # but for a result that comes late
            self.closed[one.attempt] = one
        elif isinstance(one, Settle):
            assert (one.bag, one.index) not in self.settled, f"{one}: it had its result"
            self.settled[one.bag, one.index] = one
        elif isinstance(one, Acquire):
            assert one.lease not in self.leased, f"lease {one.lease} was taken twice"
            self.leased[one.lease], self.ends_us[one.lease] = (one, now), one.ends_us
        elif isinstance(one, Renew):
            self.ends_us[one.lease] = one.ends_us
        elif isinstance(one, Remember) and isinstance(one.row, LeaseRow):
            self.rows[one.row.lease] = one.row

    def cost(self, world: World, billings: dict[str, Billing], currency: str) -> int:
        """Of all leases that are paid by their time, from wanted to gone."""
        now, found = world.engine.now, 0
        for lease, (taken, wanted_us) in self.leased.items():
            billing = billings[taken.pool]
            if billing.by_lease and billing.currency == currency:
                until_us = min(self.gone_us.get(lease, now), self.ends_us[lease])
                found += billing.cost(max(until_us - wanted_us, 0))
        return found


def check_books(world: World, why: Stop, books: Books, seed: int) -> None:
    told = figures(world)
    _tasks_add_up(world, why, books, told)
    _attempts_add_up(world, books)
    _work_adds_up(world, books, told, seed)
    _bills_add_up(world, books, told)
    for part in machines(world):
        _are_shares(part.figures)
    for link in links(world):
        assert 0 <= (link.figures["busy"] or 0) <= 1 + 1e-9, link
    curve = remaining(world.records, world.engine.now)
    times, counts = zip(*curve, strict=True)
    assert list(times) == sorted(times) and list(counts) == sorted(counts, reverse=True)
    assert counts[0] - counts[-1] == told["tasks_done"]
    assert all(value is None or math.isfinite(value) for value in told.values()), told


def _are_shares(told: dict[str, float | None]) -> None:
    for name in SHARES:
        assert -1e-9 <= (told.get(name) or 0) <= 1 + 1e-9, (name, told)


def _tasks_add_up(world: World, why: Stop, books: Books, told: dict[str, Any]) -> None:
    """Done, given up and left are all there are, and nobody counts a task twice."""
    _are_shares(told)
    count = sum(len(record.done) for record in world.records)
    waiting = sum(record.done.count(UNKNOWN) for record in world.records)
    assert told["tasks_done"] + told["tasks_failed"] + waiting == count
    assert told["tasks_sent"] <= told["tasks_submitted"] <= count
    for number, record in enumerate(world.records, 1):
        settled = {index: one for (bag, index), one in books.settled.items() if bag == number}
        failed = [index for index, one in settled.items() if one.outcome is not Outcome.SUCCEEDED]
        assert sorted(record.given_up) == sorted(failed)
        assert {index for index, at in enumerate(record.done) if at != UNKNOWN} == settled.keys()
        bag = world.scheduler.state.bags.get(number)
        if bag is not None:
            assert (bag.done.count, bag.failed.count) == (record.settled, record.failed)
        for index in settled:
            times = record.arrived[index], record.sent[index], record.done[index]
            assert 0 <= times[0] <= times[1] <= times[2], (number, index, times)
    if why is Stop.ASKED and not unfinished(world, why):
        assert left(world) <= 0
    if told["makespan_s"] is not None:
        assert waiting == 0 and told["makespan_s"] <= world.engine.now / SECOND


def _attempts_add_up(world: World, books: Books) -> None:
    """Each that was sent has ended, or is still believed."""
    live = set(world.scheduler.state.attempts)
    assert books.closed.keys() | live == books.sent.keys() and not books.closed.keys() & live
    accepted = [books.sent[one.attempt] for one in books.closed.values() if one.accepted]
    assert len(accepted) == len(set(accepted)), "a task has two accepted results"
    done = {at for at, one in books.settled.items() if one.outcome is Outcome.SUCCEEDED}
    assert done <= set(accepted)


def _work_adds_up(world: World, books: Books, told: dict[str, Any], seed: int) -> None:
    """All work is of use or lost, no machine does more than it can, and what the tasks are whose
    results came was done."""
    for host in world.every_host:
        usage = host.machine.usage()
        assert -1 <= usage.work_lost <= usage.work_done + 1, host.name
        times = usage.busy_us, usage.up_us, world.engine.now
        assert list(times) == sorted(times), (host.name, times)
        assert usage.full_us <= usage.up_us, (host.name, usage)
        steady = host.pool.pace is None and host.pool.load is None
        most = host.pool.cores * host.speed * usage.busy_us
        assert not steady or usage.work_done <= most * (1 + 1e-9) + 20, (host.name, usage, most)
    assert told["work_useful_h"] <= told["work_done_h"] + 1e-12
    if all(pool.type == MachineType() and pool.luck == ONE for pool in world.scenario.pools):
        useful_s = told["work_useful_h"] * 3600
        assert useful_s >= sum(_worked_s(world, books, seed)) - 1e-3


def _worked_s(world: World, books: Books, seed: int) -> Iterator[float]:
    for number, tasks in enumerate(world.scenario.bags, 1):
        cores = tasks.terms.needs["cores"] / 1000
        lengths = task_lengths(tasks, Streams(seed).below("bag", number))
        for (bag, index), one in books.settled.items():
            if bag == number and one.outcome is Outcome.SUCCEEDED:
                yield lengths[index] * cores


def _bills_add_up(world: World, books: Books, told: dict[str, Any]) -> None:
    billings = {pool.terms.name: pool.terms.billing for pool in world.scenario.pools}
    for currency in {one.currency: None for one in billings.values() if one.price}:
        rows = [row for row in books.rows.values() if row.billing.by_result]
        results = sum(row.billed for row in rows if row.billing.currency == currency)
        cost = books.cost(world, billings, currency) + results
        paid = (told.get(f"cost_{currency}") or 0) * 1e6
        assert paid == pytest.approx(cost, abs=0.5), (currency, paid, cost)
        _budgets_hold(world, currency)


def _budgets_hold(world: World, currency: str) -> None:
    for bag in world.scheduler.state.bags.values():
        if currency in bag.terms.budget:
            spent = money.spent(world.scheduler.state, bag, currency, world.engine.now)
            assert spent <= bag.terms.budget[currency]
