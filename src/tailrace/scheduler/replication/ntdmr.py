"""NTDMr (ExPERT): cheap hosts that fail, then a few dear ones that do not.

Until the tail, a task is sent to unreliable pools only, again when its time-out has passed. The
tail begins when fewer tasks are without a result than there are unreliable hosts. From then on, as
long as a task has no result, another attempt is wanted T after its last: up to N times on an
unreliable pool, then once on a reliable one, where at most Mr times as many run at once as there
are unreliable hosts. Each attempt has D; what is only wanted is dropped when the result comes.
D is for hosts that fail: an attempt on a reliable one has the time that attempts there take, since
what is given up there is paid, and would be given up again.
A bag that may go to no reliable pool goes on with the others: it has nobody else. What failed goes
to another host first, whose success or failure says whose fault it was: if there is none of the
kind that is its turn, to one of the other.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from itertools import islice

from tailrace.bag.outcome import Outcome
from tailrace.pools.terms import Pool
from tailrace.scheduler import (
    admission,
    blame,
    dispatch,
    fleet,
    looking,
    others,
    patience,
    policies,
    wanting,
)
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.decisions import Remember
from tailrace.scheduler.deriving import mypyc_attr
from tailrace.scheduler.replication.replication import Replication
from tailrace.scheduler.rows import PastRow
from tailrace.scheduler.state import ENDLESS, Bag, Host, State, Trouble
from tailrace.scheduler.timers import Alarm

SECOND_US = 1_000_000
FIRST_RESULTS = 5  # before so many the turnaround is the one that was assumed
MOST_LOOKED = 100  # tasks that may not go to a host, before others wait for the next
MOST_SLACK = 1024
PATIENCE = 4  # turnarounds that an attempt has before the tail


@mypyc_attr(allow_interpreted_subclasses=True)
class NTDMr(Replication):
    name = "ntdmr"
    sets_timeout = True

    def __init__(
        self, n: int = 3, t_s: float = 0.0, d_s: float = 3600.0, mr: float = 0.1,
        turnaround_s: float = 3600.0, cancel: bool = True, patience_s: float = 0.0,
        combine: bool = False,
    ) -> None:  # fmt: skip
        """`n` below 0: without end, and never on a reliable pool. `patience_s` is the time of an
        attempt before the tail; 0: four turnarounds, as they are measured. `combine`: until then
        reliable hosts work like the others."""
        _check(t_s, d_s, mr, turnaround_s, patience_s)
        self._n, self._mr = n, mr
        self._t_us, self._d_us = round(t_s * SECOND_US), round(d_s * SECOND_US)
        self._assumed_us = round(turnaround_s * SECOND_US)
        self._patience_us = round(patience_s * SECOND_US)
        self._combines = combine
        self.keeps_losers = not cancel
        self._turnarounds: dict[bool, list[int]] = {False: [0, 0], True: [0, 0]}  # by: reliable
        self._slack = 1  # doubled when one that was sent since is given up on a reliable host
        self._slackened_us = 0
        self._queues: dict[bool, deque[int]] = {False: deque(), True: deque()}  # by: reliable
        self._queued: dict[int, bool] = {}
        self._turned: dict[int, None] = {}  # of those: whose turn were hosts of the other kind
        self._dear_queued = 0  # of those
        self._due: list[tuple[int, int]] = []  # when, which task is looked at again
        self._leased: dict[str, int] = {}  # by unreliable pool: hosts that were there at once
        self._most_leased = 0  # together
        self._dear_sent: dict[int, None] = {}  # out there; a host may change its pool
        self._most_dear = 0
        self._begun = False  # its tail, since the server began
        self._past: list[PastRow] = []  # that are still to be looked at

    def contradiction(self) -> tuple[str, str] | None:
        if self._n < 0 or self._mr:
            return None
        told = f"after n = {self._n} attempts a task is for a reliable host, but mr = 0 allows none"
        return told, "write mr = 0.1, or n = -1 for unreliable hosts alone"

    # what it is asked

    def admits_first(self, state: State, bag: Bag, reliable: bool) -> bool:
        """Where nobody is cheap, and nobody will be, the dear ones do it all; but in the tail only
        what is wanted there, so that their room is none for the rest, and what has come since."""
        if not reliable:
            return True
        if bag.tail_us is not None and not bag.fresh.left:
            return False
        return self._combines or not _cheap_pools(state, bag)

    def begins_on(self, state: State, bag: Bag, *, reliable: bool) -> bool:
        return not reliable or self._combines or not _cheap_pools(state, bag)

    def timeout_us(self, state: State, bag: Bag, host: Host) -> int | None:
        usual = self._usual_us()
        if host.reliable:
            mean = self._mean_us(True)
            least = 0 if bag.tail_us is None else self._d_us
            return self._slack * max(PATIENCE * mean if mean else usual, least)
        return usual if bag.tail_us is None else self._d_us

    def lengthens(self, state: State, bag: Bag, index: int) -> bool:
        """D is given, and who outlasts it goes on to a reliable host. But not one that had all its
        N, and has nobody else."""
        if bag.tail_us is None:
            return not self._patience_us
        trouble = bag.troubles.get(index)
        spent = trouble is not None and 0 <= self._n <= trouble.tail
        return spent and not self._has_dear(state, bag)

    def _usual_us(self) -> int:
        """Before the tail, on hosts that fail."""
        return self._patience_us or PATIENCE * (self._mean_us(False) or self._assumed_us)

    def _mean_us(self, reliable: bool) -> int:
        """None is known before there are a few."""
        count, together_us = self._turnarounds[reliable]
        return together_us // count if count >= FIRST_RESULTS else 0

    def _note_turnaround(self, reliable: bool, took_us: int) -> None:
        self._turnarounds[reliable][0] += 1
        self._turnarounds[reliable][1] += took_us

    def wants(self, bag: Bag, reliable: bool) -> bool:
        if not self._queued or not bag.runs:
            return False
        if not self._queues[reliable] and not self._turned:
            return False
        return not reliable or len(self._dear_sent) < self._most_dear

    def idle(self) -> bool:
        return not self._queued

    def waits(self, index: int) -> bool:
        return index in self._queued

    def lacks(self, bag: Bag, *, reliable: bool) -> int:
        waiting = self._dear_queued if reliable else len(self._queued) - self._dear_queued
        return max(min(waiting, self._most_dear - len(self._dear_sent)), 0) if reliable else waiting

    def take(self, state: State, bag: Bag, host: Host) -> int | None:
        dear = host.reliable
        if self._turned:
            self._turn_back(state, bag, dear)
        if dear and len(self._dear_sent) >= self._most_dear:
            return None
        queue = self._queues[dear]
        while queue and self._queued.get(queue[0]) is not dear:
            queue.popleft()  # its result has come
        for place, index in enumerate(islice(queue, MOST_LOOKED)):
            if self._queued.get(index) is dear and _may_go(state, bag, host, index):
                if place:  # it comes to the front; who stood there keeps his place behind it
                    del queue[place]
                    queue.appendleft(index)
                return index
        return None

    # what it is told

    def sent(self, state: State, bag: Bag, host: Host, attempt: Attempt) -> None:
        dear = host.reliable
        if dear:
            self._dear_sent[attempt.attempt] = None
        if bag.tail_us is None:
            if host.lease is not None and not dear:
                self._note_leased(state, host)
            if self._is_near(state, bag):
                self._look(state, bag)
            return
        index = attempt.index
        if self._unqueue(index):
            self._queues[dear].popleft()
        trouble = bag.troubles.setdefault(index, Trouble())
        trouble.tail += not dear
        trouble.dear = trouble.dear or dear
        dispatch.remember(state, bag, index, trouble)
        self._look_again_at(state, bag, state.now + self._again_after_us(bag, index), index)

    def over(self, state: State, bag: Bag, attempt: Attempt, succeeded: bool) -> None:
        dear = state.hosts[attempt.host].reliable
        if succeeded:
            self._note_turnaround(dear, state.now - attempt.sent_us)
        if dear and attempt.expired and attempt.sent_us >= self._slackened_us:
            self._slack, self._slackened_us = min(2 * self._slack, MOST_SLACK), state.now
        self._dear_sent.pop(attempt.attempt, None)
        if len(self._dear_sent) < self._most_dear and self._queues[True]:
            looking.look_now(state, bag)

    def settled(self, state: State, bag: Bag, index: int) -> None:
        if bag.tail_us is not None:
            self._unqueue(index)
        elif self._is_near(state, bag):
            self._look(state, bag)

    def sends_again(self, state: State, bag: Bag, index: int, trouble: Trouble) -> bool:
        """In the tail all is ours. One whose last allowed attempt has failed is tried once more
        where it should not fail: it must end somewhere."""
        if bag.tail_us is None:
            return False
        dear = self._queued.get(index)
        if dear is None:
            self._want_surely(state, bag, index)
        elif self._turns(state, bag, index, dear):
            self._unqueue(index)
            self._put(state, bag, index, dear=dear)
        looking.look_now(state, bag)  # it may go to where it has just ended
        return True

    def tries_surely(self, state: State, bag: Bag, index: int) -> bool:
        if bag.tail_us is None or index in bag.done or not self._has_dear(state, bag):
            return False
        trouble = bag.troubles.get(index)
        if self._queued.get(index) is not True:
            if trouble is not None and trouble.dear:
                return False
            self._unqueue(index)
            self._put(state, bag, index, dear=True)
        return True

    def _has_dear(self, state: State, bag: Bag) -> bool:
        return self._n >= 0 and self._most_dear > 0 and others.has_reliable_pool(state, bag)

    def rang(self, state: State, bag: Bag) -> None:
        while self._due and self._due[0][0] <= state.now:
            _, index = heapq.heappop(self._due)
            if index in bag.done or index in self._queued:
                continue
            if self._is_due(state, bag, index):
                self._want(state, bag, index)
            else:
                self._wait_longer(state, bag, index)
        if self._due:
            state.timers.set(self._due[0][0], Alarm.REPLICATE, bag.id)

    def _wait_longer(self, state: State, bag: Bag, index: int) -> None:
        """Its time-out has grown since it was sent, and T with it. Else it was sent again, and what
        it waits for then is noted."""
        trouble = bag.troubles.get(index)
        if trouble is not None and trouble.longer_us:
            last_us = max(one.sent_us for one in bag.live[index])
            self._look_again_at(state, bag, last_us + self._again_after_us(bag, index), index)

    def _is_due(self, state: State, bag: Bag, index: int) -> bool:
        """Where one had failed before T had passed, it was sent again, and is due again later."""
        after_us = self._again_after_us(bag, index)
        return all(one.sent_us + after_us <= state.now for one in bag.live.get(index, ()))

    def _again_after_us(self, bag: Bag, index: int) -> int:
        """T; of a task that takes longer than D, by as much longer as its time-out. A plan may have
        D = 0: then T is, too."""
        timeout_us = patience.at_least(bag, index, self._d_us) or self._d_us
        return self._t_us * timeout_us // self._d_us if self._d_us else self._t_us

    def resumed(self, state: State, bag: Bag) -> None:
        """What rang while it was paused was not heard; and one that had ended is not restored."""
        if bag.tail_us is not None and not self._begun:
            self.restore(state, bag)
        else:
            self.rang(state, bag)

    def grew(self, state: State, bag: Bag) -> None:
        """The tail is over: what it wanted waits with the others again."""
        if bag.tail_us is None:
            return
        bag.tail_us, bag.tail_hosts, self._begun = None, 0, False
        wanted = list(self._queued)
        self._queues, self._queued, self._due = {False: deque(), True: deque()}, {}, []
        self._turned = {}
        self._dear_queued = 0
        for index, trouble in bag.troubles.items():
            if trouble.tail or trouble.dear:
                trouble.tail, trouble.dear = 0, False
                dispatch.remember(state, bag, index, trouble)
        for index in wanted:
            if not dispatch.under_way(bag, index):
                trouble = bag.troubles[index]
                dispatch.requeue(state, bag, index, trouble, trouble.why)
        self._look(state, bag)

    # the tail

    def _note_leased(self, state: State, host: Host) -> None:
        """They are given back as tasks run out, and would always be as few as those."""
        there = state.able_in[host.pool]
        if there > self._leased.get(host.pool, 0):
            self._leased[host.pool] = there
            self._most_leased = sum(self._leased.values())

    def cheap_hosts(self, state: State, bag: Bag) -> int:
        """Unreliable hosts that are there for this bag, or were before it wanted fewer."""
        return sum(
            max(state.able_in.get(pool.name, 0), self._leased.get(pool.name, 0))
            for pool in _unreliable(state, bag)
        )

    def _is_near(self, state: State, bag: Bag) -> bool:
        """Asked with every task: are all able hosts more, of whatever kind?"""
        return bag.terms.count - bag.done.count < max(len(state.able), self._most_leased)

    def _has_come(self, state: State, bag: Bag, machines: int) -> bool:
        return bag.terms.count - bag.done.count < machines

    def _look(self, state: State, bag: Bag) -> None:
        """Has it begun?"""
        machines = self.cheap_hosts(state, bag)
        if bag.runs and self._has_come(state, bag, machines):
            bag.tail_us, bag.tail_hosts = state.now, machines
            state.out.append(Remember(bag.row()))
            self._begin(state, bag, machines)

    def _begin(self, state: State, bag: Bag, machines: int) -> None:
        self._begun = True
        self._most_dear = self._dear_beside(machines)
        for index in [*bag.requeue.waiting, *(bag.fresh.take() for _ in range(bag.fresh.left))]:
            bag.requeue.remove(index)
            dispatch.remember(state, bag, index, bag.troubles.setdefault(index, Trouble()))
            self._want_surely(state, bag, index)
        for index, attempts in bag.live.items():
            if index not in bag.done:
                last = max(attempt.sent_us for attempt in attempts)
                due_us = last + self._again_after_us(bag, index)
                self._look_again_at(state, bag, max(due_us, state.now), index)

    def _dear_beside(self, machines: int) -> int:
        """Mr is a share of the unreliable hosts: where there were none, it bounds nothing."""
        return math.ceil(round(self._mr * machines, 9)) if machines else ENDLESS

    def _look_again_at(self, state: State, bag: Bag, when_us: int, index: int) -> None:
        if not self._due or when_us < self._due[0][0]:
            state.timers.set(when_us, Alarm.REPLICATE, bag.id)
        heapq.heappush(self._due, (when_us, index))

    def _want(self, state: State, bag: Bag, index: int) -> bool:
        trouble = bag.troubles.get(index)
        sent, dear = (trouble.tail, trouble.dear) if trouble else (0, False)
        if trouble is not None and blame.exhausted(bag, trouble) is not None:
            return self.tries_surely(state, bag, index)
        if self._n < 0 or sent < self._n or not _may_be_reliable(state, bag):
            self._put(state, bag, index, dear=False)
        elif not dear:
            self._put(state, bag, index, dear=True)
        else:
            return False
        return True

    def _want_surely(self, state: State, bag: Bag, index: int) -> None:
        """It has no attempt out: also beyond what is allowed it must end somewhere."""
        if not self._want(state, bag, index):
            self._put(state, bag, index, dear=others.has_reliable_pool(state, bag))

    def _put(self, state: State, bag: Bag, index: int, *, dear: bool) -> None:
        if self._turns(state, bag, index, dear):
            dear = not dear
            self._turned[index] = None
        self._queued[index] = dear
        self._dear_queued += dear
        self._queues[dear].append(index)
        wanting.enter(state, bag)
        fleet.lacks(state, bag)
        looking.look_now(state, bag)

    def _turns(self, state: State, bag: Bag, index: int, dear: bool) -> bool:
        """Must it go to the other kind of host?"""
        if _outgrew(state, bag, index, dear):
            return True
        may_turn = dear or (self._most_dear > 0 and self._n >= 0)
        return may_turn and _failed_on_all(state, bag, index, dear)

    def _turn_back(self, state: State, bag: Bag, dear: bool) -> None:
        """What went to hosts of the other kind, of which none is there any more."""
        for index in [index for index in self._turned if self._queued[index] is not dear]:
            if not others.of_kind(state, bag, not dear):
                self._unqueue(index)
                self._want_surely(state, bag, index)

    def _unqueue(self, index: int) -> bool:
        """What is left of it in its queue is passed by."""
        dear = self._queued.pop(index, None)
        self._dear_queued -= dear is True
        self._turned.pop(index, None)
        return dear is not None

    def looks_back(self, past: list[PastRow]) -> None:
        self._past = past

    def _recall(self, bag: Bag, one: PastRow, reliable: bool) -> None:
        """As if it ended now."""
        if one.outcome is Outcome.SUCCEEDED:
            self._note_turnaround(reliable, one.took_us)

    def restore(self, state: State, bag: Bag) -> None:
        past, self._past = self._past, []
        for one in past:
            host = state.hosts.get(one.host)
            if host is not None:  # nobody knows of what kind those were that are forgotten
                self._recall(bag, one, host.reliable)
        self._dear_sent = {
            one.attempt: None
            for attempts in bag.live.values()
            for one in attempts
            if state.hosts[one.host].reliable
        }
        if bag.tail_us is not None:
            self._begin(state, bag, bag.tail_hosts)


def _check(t_s: float, d_s: float, mr: float, turnaround_s: float, patience_s: float) -> None:
    for name, value in (("t_s", t_s), ("mr", mr), ("patience_s", patience_s)):
        if not 0 <= value < math.inf:
            raise ValueError(f"{name} is {value:g}, but must be 0 or more")
    for name, value in (("d_s", d_s), ("turnaround_s", turnaround_s)):
        if not 0 < value < math.inf:
            raise ValueError(f"{name} is {value:g}, but must be above 0")


def _may_go(state: State, bag: Bag, host: Host, index: int) -> bool:
    """The policy comes last: what it draws by lot is drawn for this attempt."""
    if not admission.may_repeat(state, bag, host, index):
        return False
    return policies.may_be_wanted(state, bag, host, index)


def _outgrew(state: State, bag: Bag, index: int, dear: bool) -> bool:
    """Hosts of this kind are too small for what its needs have grown to, and of the other not."""
    trouble = bag.troubles.get(index)
    if trouble is None or not trouble.needs:
        return False
    this, other = (others.of_kind(state, bag, kind, trouble.needs) for kind in (dear, not dear))
    return other and not this


def _failed_on_all(state: State, bag: Bag, index: int, dear: bool) -> bool:
    """Whose fault it was is open, and only hosts of the other kind are left to show it."""
    trouble = bag.troubles.get(index)
    if trouble is None or not trouble.unsettled:
        return False
    needs, than = trouble.needs, trouble.failed_on()
    this, other = (others.of_kind(state, bag, kind, needs, than) for kind in (dear, not dear))
    return other and not this


def _may_be_reliable(state: State, bag: Bag) -> bool:
    """Some pool of the bag's, whether its machines are there or not."""
    names = bag.terms.pools or (*state.pools, *state.able_in)
    return any(fleet.is_reliable(state, name) for name in names)


def _cheap_pools(state: State, bag: Bag) -> bool:
    """Some whose machines are there, or on their way."""
    names = [pool.name for pool in _unreliable(state, bag)]
    return any(state.able_in.get(name) or state.lent.get(name) for name in names)


def _unreliable(state: State, bag: Bag) -> list[Pool]:
    names = bag.terms.pools or tuple(state.pools)
    pools = [state.pools[name] for name in names if name in state.pools]
    return [pool for pool in pools if not pool.reliable]
