"""NTDMr with the parameters that suit what was seen: found when the tail begins, and again later.

Until then the bag notes how its attempts on unreliable hosts fare. When the tail begins it asks
(`Replan`), and the world computes elsewhere; until it is answered no task is sent beside itself, as
before. The answer comes as an event like any other, and holds until the next one.
"""

from __future__ import annotations

import math
from collections import deque

from tailrace.bag.outcome import Outcome
from tailrace.knowledge.inquiry import Inquiry, Left, Machine, Out, Plan, Seen, paid_in
from tailrace.pools.terms import Late, Pool
from tailrace.scheduler import blame, dispatch, fleet, leases, looking, money, others
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.decisions import Remember, Replan
from tailrace.scheduler.deriving import mypyc_attr
from tailrace.scheduler.replication.ntdmr import FIRST_RESULTS, SECOND_US, NTDMr
from tailrace.scheduler.rows import ON_THEIR_WAY, PastRow
from tailrace.scheduler.state import Bag, Host, State
from tailrace.scheduler.timers import Alarm

PREFER = ("product", "makespan", "cost", "budget", "deadline")
MOST_SEEN = 2000  # of the latest attempts; older ones tell less of what comes
MOST_IN_VAIN = 10  # of those, of one task
NOBODY = Pool("", max=0)  # who lends nothing
GONE = (Outcome.LOST, Outcome.PREEMPTED, Outcome.HOST_FAILED)
RETURNED, FAILED, EXPIRED, OUT = range(4)  # as `knowledge.sendings.Fate`


@mypyc_attr(allow_interpreted_subclasses=True)
class Planned(NTDMr):
    name = "planned"

    def __init__(
        self, prefer: str = "product", every_s: float = 0.0, mr: float = 0.0,
        turnaround_s: float = 3600.0, cancel: bool = True, patience_s: float = 0.0,
    ) -> None:  # fmt: skip
        """`every_s`: how often a plan is renewed in the tail; 0: with each mean turnaround. `mr`:
        reliable hosts at most, as a share of the others; 0: as many as the pools lend."""
        if prefer not in PREFER:
            raise ValueError(f"prefer is {prefer!r}, but must be one of {', '.join(PREFER)}")
        if not 0 <= every_s < math.inf:
            raise ValueError(f"every_s is {every_s:g}, but must be 0 or more")
        super().__init__(-1, 0.0, 1.0, mr, turnaround_s, cancel, patience_s)
        self._prefer, self._most_mr = prefer, mr
        self._every_us = round(every_s * SECOND_US)
        self._seen: deque[Seen] = deque(maxlen=MOST_SEEN)
        self._in_vain: dict[int, int] = {}  # of those, by task
        self._dear_us: deque[int] = deque(maxlen=MOST_SEEN)
        self._asked = 0  # the inquiry that is not answered yet
        self._inquiries = 0
        self._results = 0

    def lengthens(self, state: State, bag: Bag, index: int) -> bool:
        """D is found from what was seen, and never given."""
        return bag.tail_us is not None or super().lengthens(state, bag, index)

    def tries_surely(self, state: State, bag: Bag, index: int) -> bool:
        """Also where the plan has no reliable hosts: it did not know of this."""
        found = super().tries_surely(state, bag, index)
        most = self._dear_hosts(state, bag, self._sides(state, bag)[1])
        self._most_dear = max(self._most_dear, min(len(self._dear_sent) + self._dear_queued, most))
        return found

    def _has_dear(self, state: State, bag: Bag) -> bool:
        return others.has_reliable_pool(state, bag)

    def ended(self, state: State, bag: Bag, attempt: Attempt, outcome: Outcome) -> None:
        reliable = state.hosts[attempt.host].reliable
        self._note(bag, _past(state, attempt, outcome), reliable)
        if reliable:
            return
        late = bag.tail_us is not None and bag.plan is None and not self._asked
        if late and self._results == FIRST_RESULTS:
            self._ask(state, bag)

    def _recall(self, bag: Bag, one: PastRow, reliable: bool) -> None:
        super()._recall(bag, one, reliable)
        self._note(bag, one, reliable)

    def _note(self, bag: Bag, one: PastRow, reliable: bool) -> None:
        if not reliable:
            self._note_seen(bag, one)
        elif one.outcome is Outcome.SUCCEEDED:
            self._dear_us.append(one.took_us)

    def _note_seen(self, bag: Bag, one: PastRow) -> None:
        """What one task brings again and again tells little more of the hosts, and nothing of what
        others take."""
        fate = _fate(one, self._usual_us())
        if fate == RETURNED:
            self._results += 1
        elif self._in_vain.get(one.index, 0) < MOST_IN_VAIN:
            self._in_vain[one.index] = self._in_vain.get(one.index, 0) + 1
        else:
            return
        self._seen.append(Seen(one.sent_us - bag.submitted_us, one.took_us, fate))

    # plans

    def planned(self, state: State, bag: Bag, number: int, plan: Plan | None) -> None:
        """None: it could not be answered. What was asked before a restart, or before the bag grew,
        is of no use."""
        if bag.tail_us is None or number != self._asked:
            return
        self._asked = 0
        if plan is not None:
            bag.plan = plan
            state.out.append(Remember(bag.row()))
            self._follow(state, bag)
            self._reconsider(state, bag)
        self._set_alarm(state, bag)

    def resumed(self, state: State, bag: Bag) -> None:
        """The alarm that rang meanwhile was not heard."""
        super().resumed(state, bag)
        self.plan_due(state, bag)

    def plan_due(self, state: State, bag: Bag) -> None:
        if bag.tail_us is not None and not self._asked:
            self._ask(state, bag)

    def _begin(self, state: State, bag: Bag, machines: int) -> None:
        self._follow(state, bag)
        super()._begin(state, bag, machines)
        self._follow(state, bag)  # which says how many reliable hosts, too
        for index in [index for index, dear in self._queued.items() if dear]:
            if blame.exhausted(bag, bag.troubles[index]) is not None:
                self.tries_surely(state, bag, index)  # which the plan does not know
        self._ask(state, bag)

    def grew(self, state: State, bag: Bag) -> None:
        bag.plan, self._asked = None, 0
        super().grew(state, bag)

    def _follow(self, state: State, bag: Bag) -> None:
        """The plan; without one, as before the tail: one attempt of a task at a time."""
        plan, usual_us = bag.plan, self._usual_us()
        self._n, self._t_us, self._d_us = -1, usual_us, usual_us
        if plan is not None:
            self._n, self._t_us, self._d_us, self._mr = plan.n, plan.t_us, plan.d_us, plan.mr
        self._most_dear = plan.dear if plan is not None else 0

    def _reconsider(self, state: State, bag: Bag) -> None:
        """What waits is wanted anew, and what is under way is due, as the new plan says."""
        self._due = []
        for index in list(self._queued):
            self._unqueue(index)
            if dispatch.under_way(bag, index):
                self._want(state, bag, index)
            else:
                self._want_surely(state, bag, index)
        for index, attempts in bag.live.items():
            if index not in bag.done and index not in self._queued:
                last_us = max(attempt.sent_us for attempt in attempts)
                due_us = last_us + self._again_after_us(bag, index)
                self._look_again_at(state, bag, max(due_us, state.now), index)
        fleet.lacks(state, bag)
        looking.look_now(state, bag)

    def _ask(self, state: State, bag: Bag) -> None:
        before = 0 if bag.plan is None else bag.plan.number
        self._inquiries = max(self._inquiries, before) + 1
        self._asked = self._inquiries
        state.out.append(Replan(bag.id, self._inquiry(state, bag)))

    def _set_alarm(self, state: State, bag: Bag) -> None:
        every_us = self._every_us or self._mean_us(False) or self._assumed_us
        state.timers.set(state.now + max(every_us, SECOND_US), Alarm.PLAN, bag.id)

    # what it asks with

    def _inquiry(self, state: State, bag: Bag) -> Inquiry:
        left = [n for n in dict.fromkeys((*bag.live, *self._queued)) if n not in bag.done]
        cheap, dear = self._sides(state, bag)
        lender, other = _lender(cheap), _lender(dear)
        there = _machines(state, bag, (*cheap, *dear))
        return Inquiry(
            self._asked, state.now - bag.submitted_us, (bag.tail_us or 0) - bag.submitted_us,
            self._prefer, state.seed + bag.id,
            tuple(self._left(bag, index) for index in left),
            tuple(self._out(state, bag, left, {host: on for on, host in enumerate(there)})),
            max(self.cheap_hosts(state, bag), len(bag.live), 1), self._dear_hosts(state, bag, dear),
            (*self._seen, *self._still_out(state, bag)), tuple(self._dear_us),
            self._assumed_us, self._usual_us(), _is_late(cheap), not bag.keeps_losers,
            lender.billing, other.billing, tuple(there.values()),
            leases.startup_us(state, lender), leases.startup_us(state, other),
            _money_left(state, bag, (*cheap, *dear)), _time_left(state, bag),
            money.spent(state, bag, paid_in(lender.billing, other.billing)),
        )  # fmt: skip

    def _left(self, bag: Bag, index: int) -> Left:
        trouble = bag.troubles.get(index)
        return Left(trouble.tail, trouble.dear) if trouble else Left(0, False)

    def _out(self, state: State, bag: Bag, left: list[int], on: dict[str, int]) -> list[Out]:
        usual_us = self._usual_us()
        return [
            Out(place, state.hosts[one.host].reliable, state.now - one.sent_us,
                one.sent_us + (one.timeout_us or usual_us) - state.now, on.get(one.host, -1))
            for place, index in enumerate(left)
            for one in bag.live.get(index, ())
            if not one.expired and one.dropping is None
        ]  # fmt: skip

    def _still_out(self, state: State, bag: Bag) -> list[Seen]:
        """Those that expired are noted when they end: until then their results may come."""
        return [
            Seen(one.sent_us - bag.submitted_us, state.now - one.sent_us, OUT)
            for attempts in bag.live.values()
            for one in attempts
            if not state.hosts[one.host].reliable
        ]  # fmt: skip

    def _sides(self, state: State, bag: Bag) -> tuple[list[Pool], list[Pool]]:
        names = bag.terms.pools or tuple(state.pools)
        pools = [state.pools[name] for name in names if name in state.pools]
        return [one for one in pools if not one.reliable], [one for one in pools if one.reliable]

    def _dear_hosts(self, state: State, bag: Bag, dear: list[Pool]) -> int:
        most = sum(max(pool.max, state.able_in.get(pool.name, 0)) for pool in dear)
        if self._most_mr:
            most = min(most, math.ceil(round(self._most_mr * bag.tail_hosts, 9)))
        return min(most, max(bag.tail_hosts, 1))


def _past(state: State, attempt: Attempt, outcome: Outcome) -> PastRow:
    """How the tables have it."""
    return PastRow(attempt.bag, attempt.host, attempt.sent_us, state.now, attempt.timeout_us,
                   outcome, attempt.index, attempt.ran_us)  # fmt: skip


def _fate(one: PastRow, usual_us: int) -> int:
    """One given up sooner than before the tail might have returned, and so might one that ran until
    then; and what its task did wrong says nothing of the host."""
    if one.outcome is Outcome.SUCCEEDED:
        return RETURNED
    if one.expired and one.outcome not in GONE and one.ran_us:
        return OUT
    if one.expired:
        return EXPIRED if (one.timeout_us or 0) >= usual_us else OUT
    return FAILED if one.outcome in GONE else OUT


def _is_late(cheap: list[Pool]) -> bool:
    return any(pool.late_results is Late.ACCEPT for pool in cheap)


def _lender(pools: list[Pool]) -> Pool:
    """The one that lends most: several are taken as one."""
    lending = [pool for pool in pools if pool.max]
    return max(lending, key=lambda pool: pool.max) if lending else NOBODY


def _machines(state: State, bag: Bag, pools: tuple[Pool, ...]) -> dict[str, Machine]:
    """By host, or by the lease of one that is to come: of pools of which some lend."""
    if not any(pool.max for pool in pools):
        return {}
    names = {pool.name: pool for pool in pools}
    found = {
        host.id: Machine(host.reliable, _age_us(state, bag, host))
        for host in state.able.values()
        if host.pool in names and fleet.slots(bag, host)
    }
    for lease in bag.leases:
        row = state.leases[lease]
        if row.state in ON_THEIR_WAY and row.pool in names:
            pool, age_us = names[row.pool], state.now - row.wanted_us
            comes_us = max(leases.startup_us(state, pool) - age_us, 1)
            found[f"lease {lease}"] = Machine(pool.reliable, age_us, comes_us)
    return found


def _age_us(state: State, bag: Bag, host: Host) -> int | None:
    """What another bag leases is free for this one."""
    row = state.leases.get(host.lease or 0)
    return state.now - row.wanted_us if row is not None and row.bag == bag.id else None


def _money_left(state: State, bag: Bag, pools: tuple[Pool, ...]) -> int | None:
    for currency, budget in bag.terms.budget.items():
        if any(pool.billing.currency == currency for pool in pools if pool.billing.price):
            return max(budget - money.spent(state, bag, currency), 0)
    return None


def _time_left(state: State, bag: Bag) -> int | None:
    if bag.terms.deadline_us is None:
        return None
    return max(bag.submitted_us + bag.terms.deadline_us - state.now, 0)
