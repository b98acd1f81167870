"""What chance brings rarely: calls that come late after a restart, told step by step."""

from __future__ import annotations

import pytest

from tailrace.bag.outcome import Outcome
from tailrace.bag.task import Task
from tailrace.bag.terms import Retries, Terms
from tailrace.pools.terms import Pool
from tailrace.scheduler.events import BagChanged, BagSubmitted, Change, LeaseChanged, LeaseState
from tailrace.server.batch import NewBag
from tailrace.server.desk import Content, Desk
from tailrace.server.protocol import WorkRequest, WorkResult
from tailrace.server.tables.store import Store

from . import planted
from .engine import SECOND

POOL = Pool("own", max=0, silent_after_us=60 * SECOND)


def content(bag, index):
    return Task(index, {"i": index}, argv=("run", f"{bag}/{index}"))


class Office:
    """A desk with its store and a clock; each call is a cycle of its own."""

    kind = Desk

    def __init__(self, path, pool=POOL):
        self.pool = pool
        self.store = Store(path, synchronous="OFF")
        self.now = 1_000 * SECOND
        self.tickets = 0
        self.replies = {}
        self.restart()

    def restart(self):
        self.store.begin_epoch()
        source = Content(content, lambda bag: {})
        self.desk = self.kind(self.store, source, (self.pool,), self.now, check=True)

    def tell(self, event, new=None):
        self.desk.tell(event, new)
        self.cycle()

    def call(self, seq, held=(), results=(), host="H1", session=1, lease=None):
        self.tickets += 1
        request = WorkRequest(2, host, session, seq, "own", "x86", {"cores": 1000}, list(held),
                              list(results), 20.0, lease)  # fmt: skip
        self.desk.call(self.tickets, request, self.now)
        self.cycle()
        return self.replies.get(self.tickets)

    def cycle(self):
        self.now += SECOND
        self.store.commit(self.desk.work(self.now))
        self.replies.update(self.desk.release(self.now).replies)


@pytest.fixture
def office(tmp_path):
    office = Office(tmp_path / "store.db")
    office.tell(BagSubmitted(1, Terms(1, repeatable=False)), NewBag(1, "bag", b"{}", []))
    yield office
    office.store.close()


def test_a_call_older_than_an_attempt_does_not_deny_it_after_a_restart(office):
    [start] = office.call(2).start
    office.restart()
    office.tell(BagChanged(1, Change.CANCEL))
    office.call(1)  # made before the attempt was sent, and late
    office.tell(BagChanged(1, Change.RESUME))
    office.call(1, host="H2")
    assert list(office.desk.scheduler.state.attempts) == [start.attempt], "it may still run on H1"


def test_an_attempt_that_is_denied_by_a_newer_call_is_over(office):
    office.call(2)
    office.restart()
    office.tell(BagChanged(1, Change.CANCEL))
    office.call(3)
    assert not office.desk.scheduler.state.attempts


def test_a_second_result_is_acknowledged_and_kept(office):
    [start] = office.call(1).start
    office.call(1, session=2)  # the worker began anew, without it
    late = WorkResult(start.attempt, Outcome.SUCCEEDED, 0, run_us=7)
    assert office.call(2, results=[late]).ack == [start.attempt]
    rows = office.store.link.execute("SELECT outcome, run_us, body IS NULL FROM attempts")
    assert rows.fetchall()[0][1:] == (7, 0)


def test_a_worker_is_reminded_of_a_drop_not_told_with_every_call(office):
    [start] = office.call(1).start
    office.tell(BagChanged(1, Change.CANCEL))
    assert office.call(2, held=[start.attempt]).drop == [start.attempt]
    assert office.call(3, held=[start.attempt]) is None, "it needs its time to end it"
    office.now += 2 * SECOND
    office.cycle()
    assert office.replies[office.tickets].drop == [start.attempt]


def test_settled_and_reopened_in_one_cycle_is_reopened(tmp_path):
    """The machine is gone, the task failed for good, and its owner asks for another try at once."""
    office = Office(tmp_path / "store.db", pool=Pool("own", max=1))
    terms = Terms(1, retries=Retries(lost=0))
    office.tell(BagSubmitted(1, terms), NewBag(1, "bag", b"{}", []))
    [start] = office.call(1, lease=1).start
    office.desk.tell(LeaseChanged(1, LeaseState.GONE))
    office.tell(BagChanged(1, Change.RETRY, (0,)))
    assert office.store.link.execute("SELECT * FROM results").fetchall() == []
    office.restart()
    assert [one.index for one in office.call(1, host="H2").start] == [start.index]


def test_a_worker_whose_lease_is_over_is_sent_nothing(tmp_path):
    office = Office(tmp_path / "store.db", pool=Pool("own", max=1))
    office.tell(BagSubmitted(1, Terms(2)), NewBag(1, "bag", b"{}", []))
    office.tell(LeaseChanged(1, LeaseState.GONE))
    reply = office.call(1, lease=1)
    assert reply.stop
    assert not reply.start
    assert not office.desk.scheduler.state.attempts


def test_the_first_of_these_tests_can_fail(office):
    office.kind = planted.ForgetsCalls
    with pytest.raises(AssertionError):
        test_a_call_older_than_an_attempt_does_not_deny_it_after_a_restart(office)
