"""NTDMr (ExPERT): cheap hosts that fail, then a few dear ones that do not.

Until the tail, a task is sent to unreliable pools only, again when its time-out has passed. The
tail begins when fewer tasks are without a result than there are unreliable hosts. From then on, as
long as a task has no result, another attempt is wanted T after its last: up to N times on an
unreliable pool, then once on a reliable one, where at most Mr times as many run at once as there
are unreliable hosts. Each attempt has D; what is only wanted is dropped when the result comes.
A bag that may go to no reliable pool goes on with the others: it has nobody else.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from itertools import islice

from tailrace.pools.terms import Pool
from tailrace.scheduler import dispatch, fleet, looking, others, policies, wanting
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.decisions import Remember
from tailrace.scheduler.deriving import mypyc_attr
from tailrace.scheduler.replication.replication import Replication
from tailrace.scheduler.state import Bag, Host, State, Trouble
from tailrace.scheduler.timers import Alarm

SECOND_US = 1_000_000
FIRST_RESULTS = 5  # before so many the turnaround is the one that was assumed
MOST_LOOKED = 100  # tasks that a policy may refuse, for a host
PATIENCE = 4  # turnarounds that an attempt has before the tail


@mypyc_attr(allow_interpreted_subclasses=True)
class NTDMr(Replication):
    name = "ntdmr"
    sets_timeout = True

    def __init__(
        self, n: int = 3, t_s: float = 0.0, d_s: float = 3600.0, mr: float = 0.1,
        turnaround_s: float = 3600.0, cancel: bool = True,
    ) -> None:  # fmt: skip
        """`n` below 0: without end, and never on a reliable pool."""
        _check(t_s, d_s, mr, turnaround_s)
        self._n, self._mr = n, mr
        self._t_us, self._d_us = round(t_s * SECOND_US), round(d_s * SECOND_US)
        self._assumed_us = round(turnaround_s * SECOND_US)
        self.keeps_losers = not cancel
        self._results, self._turnarounds_us = 0, 0
        self._queues: dict[bool, deque[int]] = {False: deque(), True: deque()}  # by: reliable
        self._queued: dict[int, bool] = {}
        self._due: list[tuple[int, int]] = []  # when, which task is looked at again
        self._dear_out = 0
        self._most_dear = 0
        self._begun = False  # its tail, since the server began

    # what it is asked

    def admits_first(self, state: State, bag: Bag, reliable: bool) -> bool:
        """Where nobody is cheap, and nobody will be, the dear ones do it all."""
        return not reliable or not _cheap_pools(state, bag)

    def begins_on(self, state: State, bag: Bag, *, reliable: bool) -> bool:
        return not reliable or not _cheap_pools(state, bag)

    def timeout_us(self, state: State, bag: Bag, host: Host) -> int | None:
        if bag.tail_us is not None:
            return self._d_us
        mean = self._turnarounds_us // self._results if self._results >= FIRST_RESULTS else 0
        return PATIENCE * (mean or self._assumed_us)

    def wants(self, bag: Bag, reliable: bool) -> bool:
        if not self._queued or not bag.runs or not self._queues[reliable]:
            return False
        return not reliable or self._dear_out < self._most_dear

    def idle(self) -> bool:
        return not self._queued

    def waits(self, index: int) -> bool:
        return index in self._queued

    def lacks(self, bag: Bag, *, reliable: bool) -> int:
        waiting = sum(dear is reliable for dear in self._queued.values())
        return max(min(waiting, self._most_dear - self._dear_out), 0) if reliable else waiting

    def take(self, state: State, bag: Bag, host: Host) -> int | None:
        dear = host.reliable
        if dear and self._dear_out >= self._most_dear:
            return None
        queue = self._queues[dear]
        while queue and self._queued.get(queue[0]) is not dear:
            queue.popleft()  # its result has come
        if bag.rules is None and host.rules is None:
            return queue[0] if queue else None
        return self._first_allowed(state, bag, host, queue)

    def _first_allowed(self, state: State, bag: Bag, host: Host, queue: deque[int]) -> int | None:
        """By the bag's policy. It comes to the front; who stood there keeps his place behind it."""
        for place, index in enumerate(islice(queue, MOST_LOOKED)):
            wanted = self._queued.get(index) is host.reliable
            if wanted and policies.may_be_wanted(state, bag, host, index):
                del queue[place]
                queue.appendleft(index)
                return index
        return None

    # what it is told

    def sent(self, state: State, bag: Bag, host: Host, attempt: Attempt) -> None:
        dear = host.reliable
        self._dear_out += dear
        if bag.tail_us is None:
            if bag.terms.count - bag.done.count < len(state.able):
                self._look(state, bag)
            return
        index = attempt.index
        if self._queued.pop(index, None) is not None:
            self._queues[dear].popleft()
        trouble = bag.troubles.setdefault(index, Trouble())
        trouble.tail += not dear
        trouble.dear = trouble.dear or dear
        dispatch.remember(state, bag, index, trouble)
        self._look_again_at(state, bag, state.now + self._t_us, index)

    def over(self, state: State, bag: Bag, attempt: Attempt, succeeded: bool) -> None:
        if succeeded:
            self._results += 1
            self._turnarounds_us += state.now - attempt.sent_us
        if self._dear_out:
            self._dear_out -= state.hosts[attempt.host].reliable
        if self._dear_out < self._most_dear and self._queues[True]:
            looking.look_now(state, bag)

    def settled(self, state: State, bag: Bag, index: int) -> None:
        if bag.tail_us is not None:
            self._queued.pop(index, None)
        elif bag.terms.count - bag.done.count < len(state.able):
            self._look(state, bag)

    def sends_again(self, state: State, bag: Bag, index: int, trouble: Trouble) -> bool:
        """In the tail all is ours. One whose last allowed attempt has failed is tried once more
        where it should not fail: it must end somewhere."""
        if bag.tail_us is None:
            return False
        if index not in self._queued:
            self._want_surely(state, bag, index)
        return True

    def rang(self, state: State, bag: Bag) -> None:
        while self._due and self._due[0][0] <= state.now:
            _, index = heapq.heappop(self._due)
            if index not in bag.done and index not in self._queued:
                self._want(state, bag, index)
        if self._due:
            state.timers.set(self._due[0][0], Alarm.REPLICATE, bag.id)

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

    def _look(self, state: State, bag: Bag) -> None:
        """Has it begun? Seldom: with every task, whether all able hosts are more is asked first."""
        machines = cheap_hosts(state, bag)
        if bag.runs and bag.terms.count - bag.done.count < machines:
            bag.tail_us, bag.tail_hosts = state.now, machines
            state.out.append(Remember(bag.row()))
            self._begin(state, bag, machines)

    def _begin(self, state: State, bag: Bag, machines: int) -> None:
        self._begun = True
        self._most_dear = math.ceil(round(self._mr * machines, 9))
        for index in [*bag.requeue.waiting, *(bag.fresh.take() for _ in range(bag.fresh.left))]:
            bag.requeue.remove(index)
            dispatch.remember(state, bag, index, bag.troubles.setdefault(index, Trouble()))
            self._want_surely(state, bag, index)
        for index, attempts in bag.live.items():
            if index not in bag.done:
                last = max(attempt.sent_us for attempt in attempts)
                self._look_again_at(state, bag, max(last + self._t_us, state.now), index)

    def _look_again_at(self, state: State, bag: Bag, when_us: int, index: int) -> None:
        if not self._due or when_us < self._due[0][0]:
            state.timers.set(when_us, Alarm.REPLICATE, bag.id)
        heapq.heappush(self._due, (when_us, index))

    def _want(self, state: State, bag: Bag, index: int) -> bool:
        trouble = bag.troubles.get(index)
        sent, dear = (trouble.tail, trouble.dear) if trouble else (0, False)
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
        self._queued[index] = dear
        self._queues[dear].append(index)
        wanting.enter(state, bag)
        fleet.lacks(state, bag)
        looking.look_now(state, bag)

    def restore(self, state: State, bag: Bag) -> None:
        self._dear_out = sum(
            state.hosts[one.host].reliable for attempts in bag.live.values() for one in attempts
        )
        if bag.tail_us is not None:
            self._begin(state, bag, bag.tail_hosts)


def _check(t_s: float, d_s: float, mr: float, turnaround_s: float) -> None:
    for name, value in (("t_s", t_s), ("mr", mr)):
        if not 0 <= value < math.inf:
            raise ValueError(f"{name} is {value:g}, but must be 0 or more")
    for name, value in (("d_s", d_s), ("turnaround_s", turnaround_s)):
        if not 0 < value < math.inf:
            raise ValueError(f"{name} is {value:g}, but must be above 0")


def cheap_hosts(state: State, bag: Bag) -> int:
    """Unreliable hosts that are there for this bag."""
    return sum(state.able_in.get(pool.name, 0) for pool in _unreliable(state, bag))


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
