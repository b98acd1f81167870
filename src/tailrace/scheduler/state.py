"""What the scheduler holds in mind. Only plain data: the modules beside this one change it."""

from __future__ import annotations

from array import array

from tailrace.bag.needs import Amounts, times
from tailrace.bag.order import order_of
from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Limits, Terms
from tailrace.knowledge.runtimes import RunTimes
from tailrace.pools.terms import Pool
from tailrace.scheduler.bits import Bits
from tailrace.scheduler.decisions import AnyDecision
from tailrace.scheduler.requeue import Requeue
from tailrace.scheduler.rows import BagPhase, BagRow, Failure, HostRow, LeaseRow, TaskRow
from tailrace.scheduler.timers import Timers


class Attempt:
    """A live attempt: sent, and not yet known to have ended."""

    __slots__ = ("attempt", "bag", "dropping", "expired", "host", "index", "needs", "sent_us",
                 "timeout_us")  # fmt: skip

    def __init__(
        self, attempt: int, bag: int, index: int, host: str, sent_us: int, needs: Amounts
    ) -> None:
        self.attempt = attempt
        self.bag = bag
        self.index = index
        self.host = host
        self.sent_us = sent_us
        self.needs = needs
        self.timeout_us: int | None = None
        self.expired = False  # another may be sent; a result of this one still counts
        self.dropping: Outcome | None = None  # how its end will be booked


class Trouble:
    """The history of a task that did not succeed at once."""

    __slots__ = ("counts", "limits", "needs", "sent", "unsettled", "why")

    def __init__(self, row: TaskRow | None = None) -> None:
        self.sent = row.sent if row else 0
        self.counts: dict[str, int] = dict(row.counts) if row else {}
        self.unsettled: list[Failure] = list(row.unsettled) if row else []
        self.limits: Limits | None = row.limits if row else None
        self.needs: dict[str, int] | None = row.needs if row else None
        self.why = row.why if row else ""

    def row(self, bag: int, index: int) -> TaskRow:
        unsettled = tuple(self.unsettled)
        return TaskRow(
            bag, index, self.sent, dict(self.counts), unsettled, self.limits, self.needs, self.why
        )

    def avoid(self) -> tuple[str, ...]:
        """The hosts where it failed, as long as the blame is open."""
        return tuple(sorted(dict.fromkeys(failure.host for failure in self.unsettled)))


class Trial:
    """A bag's first task on a new kind of host; the others wait for it, but not for long."""

    __slots__ = ("attempt", "since_us")

    def __init__(self, attempt: int, since_us: int) -> None:
        self.attempt = attempt
        self.since_us = since_us


def _numbers(permutation: bytes | None) -> array[int] | None:
    if permutation is None:
        return None
    numbers = array("Q")
    numbers.frombytes(permutation)
    return numbers


class Bag:
    def __init__(
        self,
        row: BagRow,
        permutation: bytes | None,
        done: bytes | None = None,
        failed: bytes | None = None,
    ) -> None:
        terms = row.terms
        self.id = row.bag
        self.terms: Terms = terms
        self.phase = row.phase
        self.why = row.why
        self.submitted_us = row.submitted_us
        self.ended_us = row.ended_us
        self.order = order_of(terms.count, terms.order_seed, _numbers(permutation))
        self.done = Bits(terms.count, done)
        self.failed = Bits(terms.count if failed else 0, failed)  # made when a task first fails
        self.cursor = 0  # positions of the order below it have been sent at least once
        self.requeue = Requeue()
        self.live: dict[int, list[Attempt]] = {}  # by task
        self.troubles: dict[int, Trouble] = {}
        self.trials: dict[str, Trial | None] = {}  # by kind of host; None: passed
        self.like_sign = ""
        self.like_count = 0
        self.times = RunTimes()
        self.fleet_slots = 0
        self.fleet_version = -1

    @property
    def runs(self) -> bool:
        return self.phase is BagPhase.RUNNING

    @property
    def hungry(self) -> bool:
        """Has tasks that wait to be sent."""
        return self.runs and (self.cursor < self.terms.count or len(self.requeue) > 0)

    @property
    def unsent(self) -> int:
        return self.terms.count - self.cursor + len(self.requeue)

    def row(self) -> BagRow:
        return BagRow(self.id, self.terms, self.phase, self.submitted_us, self.why, self.ended_us)


class Host:
    def __init__(self, row: HostRow) -> None:
        self.id = row.host
        self.pool = row.pool
        self.kind = row.kind
        self.capacity = row.capacity
        self.lease = row.lease
        self.succeeded = row.succeeded
        self.booked = row.booked
        self.exclusions = row.exclusions
        self.excluded_until_us = row.excluded_until_us
        self.probing = False  # after an exclusion: one attempt, then we know more
        self.present = False  # has called, and is not silent
        self.offer: Amounts | None = None
        self.live: dict[int, Attempt] = {}
        self.used: dict[str, int] = {}

    def row(self) -> HostRow:
        return HostRow(self.id, self.pool, self.kind, self.capacity, self.lease, self.succeeded,
                       self.booked, self.exclusions, self.excluded_until_us)  # fmt: skip

    def slots(self, needs: Amounts) -> int:
        return times(needs, self.capacity)


class State:
    """All of it. `out` collects the decisions of the event in hand."""

    def __init__(self) -> None:
        self.now = 0
        self.seed = 0
        self.out: list[AnyDecision] = []
        self.pools: dict[str, Pool] = {}
        self.bags: dict[int, Bag] = {}
        self.hosts: dict[str, Host] = {}
        self.attempts: dict[int, Attempt] = {}
        self.leases: dict[int, LeaseRow] = {}
        self.deaths: dict[str, int] = {}  # leases of a pool that died in a row before any result
        self.asked_after_us: dict[str, int] = {}  # a pool is not asked for machines before
        self.offers: dict[str, Host] = {}  # open ones, oldest first
        self.timers = Timers()
        self.next_attempt = 1
        self.next_lease = 1
        self.fleet_version = 0
        self.grace_until_us = 0
        self.supply = False  # work has come that open offers have not seen
        self.fleet_due = False  # the wanted fleet may have changed
