"""What the scheduler holds in mind. Only plain data: the modules beside this one change it."""

from __future__ import annotations

from array import array
from collections import deque
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tailrace.bag.columns import Columns
from tailrace.bag.needs import Amounts
from tailrace.bag.order import Listed, Order, joined, order_of
from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Limits, Terms
from tailrace.knowledge.runtimes import RunTimes
from tailrace.policy.ads import Scene
from tailrace.pools.terms import Pool
from tailrace.scheduler.attempt import Attempt, Trial
from tailrace.scheduler.bits import AllBits, Bits
from tailrace.scheduler.decisions import AnyDecision
from tailrace.scheduler.fresh import Fresh, Grouped, Scattered, fresh
from tailrace.scheduler.lines import Lines
from tailrace.scheduler.requeue import Requeue
from tailrace.scheduler.rows import BagPhase, BagRow, Failure, HostRow, LeaseRow, TaskRow
from tailrace.scheduler.scale import Scale
from tailrace.scheduler.timers import NEVER, Timers

if TYPE_CHECKING:
    from tailrace.scheduler.matching.matching import Matching
    from tailrace.scheduler.replication.replication import Replication
    from tailrace.scheduler.rules import HostRules, Rules

ENDLESS = 1 << 62
RUNNING = BagPhase.RUNNING
ENDED = (BagPhase.FINISHED, BagPhase.CANCELLED)


class Trouble:
    """The history of a task that did not succeed at once."""

    __slots__ = (
        "at_once", "avoid", "counts", "dear", "expired", "limits", "longer_us", "needs", "sent",
        "tail", "unsettled", "why",
    )  # fmt: skip

    def __init__(self, sent: int = 0) -> None:
        self.sent = sent
        self.counts: dict[str, int] = {}
        self.unsettled: list[Failure] = []
        self.limits: Limits | None = None
        self.needs: dict[str, int] | None = None
        self.why = ""
        self.avoid: tuple[str, ...] = ()
        self.expired: tuple[int, ...] = ()
        self.at_once = False
        self.tail = 0
        self.dear = False
        self.longer_us = 0

    @classmethod
    def of(cls, row: TaskRow) -> Trouble:
        trouble = cls(row.sent)
        trouble.counts, trouble.unsettled = dict(row.counts), list(row.unsettled)
        trouble.limits, trouble.needs, trouble.why = row.limits, row.needs, row.why
        trouble.avoid, trouble.expired, trouble.at_once = row.avoid, row.expired, row.at_once
        trouble.tail, trouble.dear, trouble.longer_us = row.tail, row.dear, row.longer_us
        return trouble

    def row(self, bag: int, index: int) -> TaskRow:
        return TaskRow(bag, index, self.sent, dict(self.counts), tuple(self.unsettled), self.limits,
                       self.needs, self.why, self.avoid, self.expired, self.at_once, self.tail,
                       self.dear, self.longer_us)  # fmt: skip

    def book(self, outcome: Outcome, times: int = 1) -> None:
        self.counts[outcome] = self.counts.get(outcome, 0) + times

    def unbook(self, outcome: Outcome) -> None:
        """It may have been forgotten since: a task that is tried anew counts from the beginning."""
        times = self.counts.pop(outcome, 0)
        if times > 1:
            self.counts[outcome] = times - 1

    def failed_on(self) -> tuple[str, ...]:
        """The hosts where it failed, as long as the blame is open."""
        return tuple(sorted(dict.fromkeys(failure.host for failure in self.unsettled)))


class Doubt:
    """The failures of a bag's tasks on a host that are not settled, since one succeeded there."""

    __slots__ = ("since_us", "tasks")

    def __init__(self) -> None:
        self.tasks: dict[int, None] = {}
        self.since_us = 0


class Account:
    """What all bags of an owner have used of the machines, of late (kept by `shares`)."""

    __slots__ = ("held", "owner", "unkept", "used")

    def __init__(self, owner: str = "") -> None:
        self.owner = owner
        self.used = 0  # see `scale`
        self.held = 0  # thousandths of cores, now
        self.unkept = False  # it has changed since it was stored (kept by `keeping`)


def cores_of(needs: Amounts) -> int:
    """In thousandths. A task that asks for none takes a place as others do, and counts for one."""
    return needs.get("cores", 0) or 1000


class Bag:
    __slots__ = (
        "account", "added", "alarms", "asks", "columns", "cores", "done", "doubts", "drawn",
        "ended_us", "failed", "forgiven", "fresh", "given_back", "held", "hosts", "id", "lean",
        "lean_until_us", "leases", "like_count", "like_hosts", "like_sign", "live", "look_us",
        "matching", "order", "out", "owed", "paid", "phase", "plan", "queued", "refusals",
        "refused", "replication", "requeue", "round_asked", "round_open", "round_us", "rules",
        "scattered", "short", "shunned", "slots", "submitted_us", "tail_hosts", "tail_us",
        "taken", "takers", "telling", "terms", "timed", "times", "trials", "troubles", "unkept",
        "unmatched_alarm", "unmatched_us", "used", "wanting", "why",
    )  # fmt: skip

    def __init__(
        self,
        row: BagRow,
        permutation: bytes | None,
        done: bytes | None = None,
        failed: bytes | None = None,
        columns: Columns | None = None,
    ) -> None:
        terms = row.terms
        self.id = row.bag
        self.terms: Terms = terms
        self.asks = tuple(ask for ask in terms.needs.items() if ask[1] > 0)
        self.phase = row.phase
        self.why = row.why
        self.submitted_us = row.submitted_us
        self.ended_us = row.ended_us
        numbers = _numbers(permutation)
        seed, added = terms.order_seed, row.added
        self.order: Order = order_of(terms.count, seed, numbers, added, last=terms.last)
        self.taken = row.taken
        self.added = row.added
        self.forgiven = row.forgiven
        self.columns = columns
        self.scattered = row.scattered
        self.matching: Matching  # both are given by `strategies`
        self.replication: Replication | None = None
        self.rules: Rules | None = None  # its policy, if it has one
        self.refused = False  # its policy sent a host away that another moment may bring back
        self.alarms: dict[int, None] = {}  # when it was to look, as far as that is to come
        self.look_us = 0  # when it looks at them again; 0: nobody knows
        self.refusals = 0  # since it looked
        self.unmatched_us = 0  # when it says that no host matches; 0: some does, as far as is known
        self.unmatched_alarm = False  # one is set for that, or for an earlier one
        self.drawn = 0  # lots, for its policy
        self.used = 0  # of the machines, of late (kept by `shares`), see `scale`
        self.held = 0  # thousandths of cores, now
        self.unkept = False  # that has changed since it was stored (kept by `keeping`)
        self.cores = cores_of(terms.needs)  # of a task, for its share
        self.account = Account()  # that of its owner, once it is open
        self.round_open = not terms.round_us  # its tasks may be matched now
        self.round_asked = False  # its next round will be held
        self.round_us = row.submitted_us  # the last was held then; none is when it is submitted
        self.tail_us = row.tail_us
        self.tail_hosts = row.tail_hosts
        self.plan = row.plan
        self.done = Bits(terms.count, done)
        self.fresh: Fresh = self._never_sent(row, numbers is not None or seed is not None)
        self.failed = Bits(terms.count if failed else 0, failed)  # made when a task first fails
        self.requeue = Requeue()
        self.live: dict[int, tuple[Attempt, ...]] = {}  # by task
        self.out = 0  # live attempts whose time-out has not passed
        self.telling: dict[int, Attempt] = {}  # those of them that told how far they are
        self.troubles: dict[int, Trouble] = {}
        self.trials: dict[str, Trial | None] = {}  # by kind of host; None: passed
        self.like_sign = ""
        self.like_count = 0
        self.like_hosts: dict[str, int] = {}  # of those: how many each host has said
        self.doubts: dict[str, Doubt] = {}  # by host
        self.times = RunTimes()
        self.queued = False  # stands in `State.hungry` (kept by `fleet`)
        self.wanting = False  # stands in `State.wanting` (kept by `wanting`)
        self.hosts = 0  # able hosts that may run its tasks (kept by `fleet`)
        self.slots = 0  # tasks of it that they run at once
        self.takers: dict[str, None] = {}  # hosts that would take some task (kept by `others`)
        self.leases: dict[int, None] = {}  # not yet gone
        self.timed: dict[int, None] = {}  # of those: with a price for their time
        self.paid: dict[str, int] = {}  # for leases that are gone, and for results, by currency
        self.owed: dict[str, int] = {}  # what the results of live attempts can cost
        self.short = False  # with more money, more results would be asked for
        self.lean = False  # a pool would lend it more machines than there is work for
        self.lean_until_us = 0  # when that is looked at again, if work waits
        self.shunned: dict[
            str, tuple[int, int]
        ] = {}  # pools (see `shunning`): how often, until when
        self.given_back = 0  # leases, because they were idle at the end of a paid unit

    def _never_sent(self, row: BagRow, ranked: bool) -> Fresh:
        if not row.taken and not row.scattered:
            return fresh(self.order, row.arrived, ranked=ranked and not row.terms.last)
        found = self._passing_over(row.taken)
        found.arrive(row.terms.count if row.arrived is None else row.arrived)
        return found

    def _passing_over(self, sent: int) -> Scattered:
        leap = self.done.next_clear if isinstance(self.order, Listed) else None
        return Scattered(self.order, sent, self.is_known, leap)

    def regroup(self, *, by_looks: bool) -> None:
        """By what its policy sees of them, if it looks at parameters: then tasks are not sent in
        their order any more, and what was sent is found one by one."""
        whole = self.arrived is None
        if by_looks and whole and self.columns is not None:
            seen, sent = self.columns, self.fresh.sent
            self.fresh = Grouped(self.order, sent, seen.groups, len(seen.rows), self.is_known)
            self.scattered = True
        elif isinstance(self.fresh, Grouped):
            self.fresh = self._passing_over(self.fresh.sent)

    def is_known(self, index: int) -> bool:
        """It was sent, or has its result from an earlier bag."""
        return index in self.done or index in self.live or index in self.troubles

    def is_last(self, index: int) -> bool:
        """It waits for all others."""
        return self.terms.last and index == self.terms.count - 1

    def repeats(self, index: int) -> bool:
        """May two attempts of this task run at once? The last one runs where the others left what
        they made, and would get in its own way."""
        return self.terms.repeatable and not self.is_last(index)

    @property
    def keeps_losers(self) -> bool:
        """What still runs for a task with a result is left to end by itself."""
        if self.terms.losers_run_on:
            return True
        return self.replication is not None and self.replication.keeps_losers

    @property
    def guesses(self) -> bool:
        """Time-outs are not its owner's, but what its strategy takes to be enough."""
        return self.replication is not None and self.replication.sets_timeout

    @property
    def runs(self) -> bool:
        return self.phase is RUNNING

    @property
    def hungry(self) -> bool:
        """Has tasks that wait to be sent."""
        fresh = self.fresh
        waits = fresh.arrived > fresh.sent or bool(self.requeue.waiting)
        return waits and self.phase is RUNNING

    @property
    def may_begin(self) -> int:
        """How many more of its tasks may be under way."""
        most = self.terms.most_running
        return ENDLESS if most is None else max(most - self.out, 0)

    @property
    def unsent(self) -> int:
        return self.fresh.left + len(self.requeue.waiting)

    def row(self) -> BagRow:
        return BagRow(self.id, self.terms, self.phase, self.submitted_us, self.why, self.ended_us,
                      self.arrived, self.tail_us, self.tail_hosts, self.taken,
                      self.added, self.forgiven, self.scattered, self.plan)  # fmt: skip

    @property
    def arrived(self) -> int | None:
        """None: all its tasks are there."""
        return None if self.fresh.arrived == self.terms.count else self.fresh.arrived

    def put_away(self) -> None:
        """Finished: what is large is not needed any more, or is easily said."""
        self.done = AllBits(self.terms.count)
        self.order = Listed(self.terms.count)
        self.fresh = Fresh(self.order, self.terms.count)
        self.fresh.sent = self.terms.count
        self.requeue = Requeue()
        self.trials.clear()

    def may_grow(self, before: int, looked_at: tuple[str, ...] = ()) -> bool:
        """Who numbered the new tasks saw so many, and these parameters that the policy looks at;
        and what is given up gets no more."""
        if looked_at != (() if self.columns is None else self.columns.names):
            return False
        whole = self.terms.count == before and self.arrived is None and not self.terms.last
        return whole and self.phase is not BagPhase.CANCELLED

    def grow(self, more: int, permutation: bytes | None, columns: Columns | None = None) -> None:
        """Its tasks keep their numbers, and their order; the new ones come behind."""
        self.take_out()
        behind = order_of(more, self.terms.order_seed, _numbers(permutation))
        self.order = joined(self.order, behind)
        self.terms = replace(self.terms, count=self.terms.count + more)
        self.added = (*self.added, more)
        self.done.extend(self.terms.count)
        if self.failed.size:
            self.failed.extend(self.terms.count)
        if self.columns is not None and columns is not None:
            self.columns = self.columns.joined(columns)
        self.fresh.grow(self.order)
        if isinstance(self.fresh, Grouped):
            self.regroup(by_looks=True)

    def take_out(self) -> None:
        """Some of its tasks will be tried again after all, or there are more."""
        if isinstance(self.done, AllBits):
            self.done = self.done.opened()


def _numbers(permutation: bytes | None) -> array[int] | None:
    if permutation is None:
        return None
    numbers = array("I")
    numbers.frombytes(permutation)
    return numbers


class Host:
    __slots__ = (
        "able", "benchmark", "booked", "busy", "capacity", "cores", "cpu", "day", "day_ends_us",
        "ends_us", "excluded_until_us", "exclusions", "expired", "good_at_us", "good_us", "grown",
        "id", "kind", "lease", "live", "lost", "min_timeout_us", "offer", "offered", "owner",
        "payer", "plain", "pool", "preempted", "present", "probe", "probing", "proven", "reliable",
        "retired", "rules", "says", "scene", "speed", "succeeded", "today", "told",
        "turnaround_us", "unable", "unkept", "whole", "why",
    )  # fmt: skip

    def __init__(self, row: HostRow) -> None:
        self.id = row.host
        self.pool = row.pool
        self.kind = row.kind
        self.capacity = row.capacity  # of which a worker that ends offers nothing any more
        self.whole = row.capacity  # when it was at work
        self.lease = row.lease
        self.payer: int | None = None  # the bag that pays for results; None: they cost nothing
        self.speed = row.speed
        self.cores: int | None = None  # that tasks share; None: those of its capacity
        self.ends_us: int | None = None  # as its worker says: known again when it has called
        self.succeeded = row.succeeded
        self.booked = row.booked
        self.exclusions = row.exclusions
        self.excluded_until_us = row.excluded_until_us
        self.why = row.why
        self.told = row.told
        self.owner, self.cpu = row.owner, row.cpu
        self.says, self.benchmark = row.says, row.benchmark
        self.preempted = row.preempted
        self.turnaround_us = row.turnaround_us
        self.good_us, self.good_at_us = row.good_us, row.good_at_us
        self.today, self.day = row.today, row.day
        self.expired, self.lost = row.expired, row.lost
        self.day_ends_us = 0  # when `day` is over; 0: look
        self.rules: HostRules | None = None  # what it says, read
        self.scene: Scene | None = None  # where policies see it; made when one first looks
        self.reliable = True  # as its pool says (kept by `fleet`)
        self.min_timeout_us = 0  # the same
        self.present = False  # has called, and is not silent
        self.able = False  # present, not excluded, and its lease stands (kept by `fleet`)
        self.retired = False  # its lease is over, or none of ours
        self.probing = False  # after an exclusion: one attempt at a time, until one succeeds
        self.probe = 0  # the attempt that does
        self.unkept = False  # its record has changed since it was stored (kept by `keeping`)
        self.unable = 0  # times in a row that it could not run a task
        self.proven = row.succeeded > 0  # a task has ended on it: its worker works
        self.offer: Amounts | None = None
        self.offered = 0  # a number that grows with each offer: which of the open ones is older
        self.live: dict[int, Attempt] = {}
        self.plain: dict[int, int] = {}  # live attempts with their bag's own needs, by bag
        self.grown: dict[int, Attempt] = {}  # those with more
        self.busy: dict[int, int] = {}  # those of `plain` that hold a place (kept by `shares`)

    @property
    def excluded(self) -> bool:
        return self.excluded_until_us > 0 and not self.probing

    def row(self) -> HostRow:
        return HostRow(self.id, self.pool, self.kind, self.whole, self.lease, self.succeeded,
                       self.booked, self.exclusions, self.excluded_until_us, self.why,
                       self.speed, self.told, self.owner, self.cpu, self.says, self.benchmark,
                       self.preempted, self.turnaround_us, self.good_us,
                       self.good_at_us, self.today, self.day, self.expired,
                       self.lost)  # fmt: skip


class State:
    """All of it. `out` collects the decisions of the event in hand."""

    __slots__ = (
        "able", "able_in", "accounts", "asked_after_us", "at_work", "attempts", "bags", "booked",
        "capacity_in", "choosy", "deaths", "excluded", "fleet_due", "gone", "grace_until_us",
        "heeding", "hosts", "hungry", "keep_us", "leases", "lent", "lines", "looking",
        "next_attempt", "next_lease", "now", "offers", "offers_in", "offers_made", "offset_us",
        "on_lease", "open", "out", "pools", "queued", "reckon_us", "resized", "rounds", "scale",
        "seed", "startups", "stores", "succeeded", "supply", "timers", "unkept", "wanting",
        "watchful", "weigh_us", "weighed_from_us",
    )  # fmt: skip

    def __init__(self) -> None:
        self.now = 0
        self.seed = 0
        self.stores = True  # what is remembered; a virtual world never begins again
        self.offset_us = 0  # of the clock on the wall where the server is
        self.accounts: dict[str, Account] = {}  # by owner
        self.scale = Scale()  # by which they are compared
        self.reckon_us = 0  # when it is reckoned anew
        self.weigh_us = 0  # when its weight is, too
        self.weighed_from_us = 0  # that was 1 then
        self.lines: dict[str, Lines] = {}  # those that are hungry, by pool, in their order
        # What has changed since it was stored, and until when that may wait.
        self.unkept: deque[tuple[int, Host | Bag | Account]] = deque()
        self.keep_us = NEVER  # when that of the first ends
        self.out: list[AnyDecision] = []
        self.pools: dict[str, Pool] = {}
        self.bags: dict[int, Bag] = {}
        self.open: dict[int, Bag] = {}  # those that have not ended
        self.queued = 0  # of those: that stand in `hungry`
        self.wanting: list[int] = []  # of those (kept by `wanting`)
        # Bags that have something to send to hosts of each pool, oldest first; and maybe more.
        self.hungry: dict[str, list[int]] = {}
        self.hosts: dict[str, Host] = {}
        self.able: dict[str, Host] = {}  # those that may be sent something
        self.choosy = False  # some owner of a machine has said which bags it takes
        self.able_in: dict[str, int] = {}  # how many of them each pool has
        self.capacity_in: dict[str, Amounts] = {}  # of each pool: that of the last that called
        self.excluded: dict[str, Host] = {}
        self.booked = 0  # by all hosts together
        self.succeeded = 0
        self.attempts: dict[int, Attempt] = {}
        self.leases: dict[int, LeaseRow] = {}
        self.at_work: dict[int, None] = {}  # leases whose paid units nobody watches meanwhile
        self.startups: dict[str, tuple[int, int]] = {}  # by pool: leases that came up, and their
        # times until then, together
        self.gone: deque[int] = deque()  # leases kept in mind a little longer
        self.on_lease: dict[int, dict[str, Host]] = {}  # who called with it
        self.lent: dict[str, int] = {}  # leases of a pool that are not gone
        self.deaths: dict[str, int] = {}  # leases of a pool that died in a row before any result
        self.asked_after_us: dict[str, int] = {}  # a pool is not asked for machines before
        self.offers: dict[str, Host] = {}  # open ones, oldest first
        self.offers_in: dict[str, dict[str, Host]] = {}  # the same, by pool
        self.offers_made = 0
        self.timers = Timers()
        self.next_attempt = 1
        self.next_lease = 1
        self.grace_until_us = 0
        self.rounds: list[Bag] = []  # whose round is open during this event
        self.supply = False  # work or room has come that open offers have not seen
        self.watchful: dict[int, None] = {}  # bags that will look again at hosts they sent away
        self.heeding: dict[int, None] = {}  # those who heed how many bags or machines there are
        self.looking: dict[int, Bag] = {}  # those that do, during this event
        self.fleet_due: dict[int, None] = {}  # bags whose wanted fleet may have changed
        self.resized = False  # hosts have come or gone since the kin of bags was looked at
