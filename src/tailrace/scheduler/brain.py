"""The scheduler: events and a time in, decisions out. No clock, no I/O, no chance.

The server and the virtual world drive this very object. `handle` is the one door by which its state
changes; each event has one short function here, the rules stand in the modules beside it:

    fleet      which hosts are there, and for whom
    openings   the open offers
    policies   what bags and machines say of each other
    looking    when hosts that were sent away are looked at again
    asking     which pools are asked for machines
    shunning   which are asked less often, because what came was sent away
    precedence which bag is served first
    shares     who has how much, and has had of late
    scale      by what they are compared
    keeping    what of that is stored, and when
    offers     who takes them
    wanting    whose tasks may be repeated
    admission  what may go where
    lifetimes  what ends before its machine does
    bundling   how much a host may hold
    dispatch   the life of an attempt and the end of a task
    endings    an attempt has ended: live, late, expired
    blame      what follows from each way an attempt can end
    growing    larger limits for those that passed theirs
    doubts     hosts that get nothing new until blame is settled
    others     whether there is another host for a task
    brakes     what keeps a broken bag from doing harm
    leases     wanted machines and those there are
    money      what they cost
    progress   tasks that tell how far they are
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from tailrace.bag.columns import Columns, names_of
from tailrace.bag.outcome import Outcome
from tailrace.bag.policy import BagPolicy
from tailrace.scheduler import (
    brakes,
    dispatch,
    endings,
    fleet,
    forgetting,
    invariants,
    keeping,
    kin,
    leases,
    looking,
    offers,
    openings,
    policies,
    progress,
    rounds,
    shares,
    strategies,
    verdicts,
)  # fmt: skip
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.bits import Bits
from tailrace.scheduler.decisions import AnyDecision, Remember
from tailrace.scheduler.events import (
    AnyEvent,
    BagChanged,
    BagForgotten,
    BagSubmitted,
    Change,
    Ended,
    HostForgotten,
    HostSeen,
    HostSilent,
    LeaseChanged,
    LeaseState,
    More,
    Offer,
    OfferWithdrawn,
    PlanReady,
    Progress,
    Restarted,
    Stopping,
    TasksArrived,
    Tick,
)
from tailrace.scheduler.explain import explain
from tailrace.scheduler.restoring import restore, watch_again
from tailrace.scheduler.rows import BagPhase, BagRow, HostRow, Restored
from tailrace.scheduler.state import ENDED, Bag, Host, State
from tailrace.scheduler.timers import NEVER, Alarm


class Scheduler:
    def __init__(self, *, check: bool = False) -> None:
        self.state = State()
        self._check = check

    def handle(self, event: AnyEvent, now: int) -> list[AnyDecision]:
        state = self.state
        if now < state.now:
            now = state.now
        state.now = now
        out: list[AnyDecision] = []
        state.out = out
        if now >= state.reckon_us:
            shares.reckon(state)
        if state.timers.next_us < now:
            ring(state, now - 1)
        if state.resized:
            kin.look_at_all(state)
        DOORS[type(event)](state, event)
        if state.supply or state.looking:
            look(state)
        if state.fleet_due:  # what found no room: so no machine is leased for a task just sent
            leases.fit_fleet(state)
            if state.supply or state.looking:
                look(state)
        if state.rounds:
            rounds.close_rounds(state)
        if now >= state.keep_us:
            keeping.keep_due(state)
        if self._check:
            invariants.check(state)
        return out

    def next_wakeup(self) -> int | None:
        next_us = self.state.timers.next_us
        return None if next_us == NEVER else next_us

    def explain(self, subject: str, now: int) -> list[str]:
        return explain(self.state, subject, now)

    def restore(self, rows: Restored, now: int) -> None:
        self.state = restore(rows, now)
        if self._check:
            invariants.check(self.state)


def look(state: State) -> None:
    """Work or room has come: the open offers are looked at again; where it came to some bags alone,
    by these, since all others have left them."""
    if state.resized:
        kin.look_at_all(state)
    if state.excluded:
        fleet.readmit_the_last(state, (state.open if state.supply else state.looking).values())
    everybody, bags = state.supply, list(state.looking.values())
    state.supply = False
    state.looking.clear()
    if not state.offers:
        return
    if everybody:
        offers.match(state)
    else:
        offers.look_again(state, bags)


def restarted(state: State, event: Restarted) -> None:
    state.seed, state.offset_us, state.stores = event.seed, event.offset_us, event.stores
    state.pools = {pool.name: pool for pool in event.pools}
    for host in state.hosts.values():
        fleet.rate(state, host)
    state.grace_until_us = state.now + event.grace_us
    watch_again(state)
    state.fleet_due.update(dict.fromkeys(state.bags))


def bag_submitted(state: State, event: BagSubmitted) -> None:
    if event.bag in state.bags:
        return
    taken = 0 if event.taken is None else Bits(event.terms.count, event.taken).count
    arrived = event.terms.count - 1 if event.terms.last else event.arrived
    row = BagRow(event.bag, event.terms, BagPhase.RUNNING, state.now, arrived=arrived,
                 taken=taken)  # fmt: skip
    bag = state.bags[event.bag] = Bag(row, event.permutation, event.taken, columns=event.columns)
    bag.account = shares.account(state, event.terms.owner)
    strategies.equip(bag)
    state.out.append(Remember(bag.row()))
    fleet.opened(state, bag)
    if event.terms.last and dispatch.others_are_done(bag):
        dispatch.call_last(state, bag)
    if bag.done.count == event.terms.count:
        dispatch.finish(state, bag)


def tasks_arrived(state: State, event: TasksArrived) -> None:
    bag = state.bags.get(event.bag)
    if bag is None or not bag.fresh.arrived < event.arrived <= bag.terms.count:
        return
    if bag.terms.last:  # whose last task comes when all others are done
        return
    bag.fresh.arrive(event.arrived)
    state.out.append(Remember(bag.row()))
    if bag.runs:
        fleet.queue(state, bag)


def bag_changed(state: State, event: BagChanged) -> None:
    bag = state.bags.get(event.bag)
    if bag is None:
        return
    if event.change is Change.RETRY:
        for index in sorted(event.tasks):
            dispatch.reopen(state, bag, index)
    if event.change in (Change.RESUME, Change.RETRY):
        resume(state, bag)
    elif event.change is Change.POLICY:
        set_policy(state, bag, event.policy, event.columns)
    elif event.change is Change.GROW and event.more is not None:
        grow(state, bag, event.more)
    elif event.change is Change.CANCEL and bag.phase not in ENDED:
        cancel(state, bag, event.why)
    elif event.change is Change.PAUSE and bag.runs:
        halt(state, bag, BagPhase.PAUSED, event.why)


def grow(state: State, bag: Bag, more: More) -> None:
    """One that is finished runs again; one that was stopped in any other way stays so."""
    if more.count < 1 or not bag.may_grow(more.before, names_of(more.columns)):
        return
    bag.grow(more.count, more.permutation, more.columns)
    if bag.phase is BagPhase.FINISHED:
        bag.tail_us, bag.tail_hosts = None, 0
        strategies.equip(bag)
        resume(state, bag)
        return
    if bag.replication is not None:
        bag.replication.grew(state, bag)
    if bag.terms.replication is None:  # else its strategy says when its tail is over
        bag.tail_us = None
    state.out.append(Remember(bag.row()))
    if bag.runs:
        fleet.opened(state, bag)


def set_policy(state: State, bag: Bag, policy: BagPolicy | None, columns: Columns | None) -> None:
    """Not if tasks were added since somebody looked at their parameters."""
    if columns is not None and len(columns.groups) != bag.terms.count:
        return
    bag.terms, bag.columns = replace(bag.terms, policy=policy), columns
    strategies.policy_changed(state, bag)
    state.out.append(Remember(bag.row()))


def resume(state: State, bag: Bag) -> None:
    """Brakes are released, kinds of hosts tried anew."""
    if bag.runs or (bag.phase is BagPhase.FINISHED and bag.done.count == bag.terms.count):
        return
    bag.like_count, bag.forgiven = 0, bag.failed.count
    bag.trials.clear()
    bag.doubts.clear()
    bag.phase, bag.why, bag.ended_us = BagPhase.RUNNING, "", None
    if bag.done.count == bag.terms.count:
        dispatch.finish(state, bag)
        return
    state.out.append(Remember(bag.row()))
    fleet.opened(state, bag)
    if bag.replication is not None:
        bag.replication.resumed(state, bag)


def halt(state: State, bag: Bag, phase: BagPhase, why: str) -> None:
    bag.phase, bag.why = phase, why
    state.out.append(Remember(bag.row()))
    fleet.closed(state, bag)


def cancel(state: State, bag: Bag, why: str) -> None:
    bag.ended_us = state.now
    halt(state, bag, BagPhase.CANCELLED, why)
    for attempts in bag.live.values():
        for attempt in attempts:
            dispatch.drop(state, attempt, Outcome.CANCELLED, why or "the bag was cancelled")


def host_seen(state: State, event: HostSeen) -> None:
    row = HostRow(event.host, event.pool, event.kind, event.capacity, event.lease,
                  speed=event.speed)  # fmt: skip
    host = fleet.seen(state, row)
    host.ends_us, host.cores = event.ends_us, event.cores
    _take_facts(host, event)
    policies.host_changed(state, host)
    state.choosy = state.choosy or host.rules is not None
    state.out.append(Remember(host.row()))
    if event.lease is not None:
        leases.up(state, event.lease, event.host)
    if host.excluded:
        fleet.readmit_the_last(state, state.open.values())


def _take_facts(host: Host, event: HostSeen) -> None:
    """A worker that has begun anew may not have measured its speed again yet."""
    if event.benchmark is not None or event.cpu != host.cpu:
        host.benchmark = event.benchmark
    host.owner, host.cpu, host.says = event.owner, event.cpu, event.says


def offered(state: State, event: Offer) -> None:
    host = state.hosts.get(event.host)
    if host is None or not host.present:
        return
    if host.offer is not None:
        openings.close(state, host)  # a new offer comes last
    host.offer = event.free
    if offers.match_one(state, host):
        host.offer = None
    else:
        openings.add(state, host)


def offer_withdrawn(state: State, event: OfferWithdrawn) -> None:
    host = state.hosts.get(event.host)
    if host is not None:
        openings.close(state, host)


def host_silent(state: State, event: HostSilent) -> None:
    """Its attempts are lost, unless a second one beside a live first would do harm: then we wait
    until the host comes back or its lease is known to be gone."""
    host = state.hosts.get(event.host)
    if host is None or not host.present:
        return
    fleet.leave(state, host)
    for attempt in list(host.live.values()):
        bag = state.bags[attempt.bag]
        if bag.repeats(attempt.index) or attempt.index in bag.done:
            endings.ended(state, _end_of(attempt, Outcome.LOST))
    keeping.keep_host(state, host)


def _end_of(attempt: Attempt, outcome: Outcome) -> Ended:
    return Ended(attempt.attempt, attempt.bag, attempt.index, attempt.host, outcome)


def lease_changed(state: State, event: LeaseChanged) -> None:
    if event.state in (LeaseState.WANTED, LeaseState.STARTING):
        leases.asked_for(state, event)
    if event.state is not LeaseState.GONE:
        return
    outcome = leases.gone(state, event)
    if outcome is None:
        return
    for host in list(state.on_lease.pop(event.lease, {}).values()):
        fleet.leave(state, host)
        for attempt in list(host.live.values()):
            endings.ended(state, _end_of(attempt, outcome))
        keeping.keep_host(state, host)


def ticked(state: State, event: Tick) -> None:
    """The alarms of this very moment ring with nothing else: a result of the moment is in time,
    and a round sees all that came with it."""
    ring(state, state.now)


def ring(state: State, until_us: int) -> None:
    units = []
    for alarm, key in state.timers.due(until_us):
        if alarm is Alarm.TIMEOUT:
            endings.timed_out(state, int(key))
        elif alarm is Alarm.TRIAL:
            _of_bag(state, key, brakes.trials_due)
        elif alarm is Alarm.READMIT:
            readmitted(state, state.hosts.get(str(key)))
        elif alarm is Alarm.DOUBT:
            _of_bag(state, key, looking.look_now)  # a host that was held back may try one
        elif alarm is Alarm.REPLICATE:
            _of_bag(state, key, looked_at_again)
        elif alarm is Alarm.PLAN:
            _of_bag(state, key, plan_asked_again)
        elif alarm is Alarm.ROUND:
            _of_bag(state, key, rounds.open_round)
        elif alarm is Alarm.POLICY:
            _of_bag(state, key, looking.rang)
        elif alarm is Alarm.UNMATCHED:
            _of_bag(state, key, verdicts.tell_unmatched)
        elif alarm is Alarm.LEASE:
            leases.end_is_near(state, int(key))
        elif alarm is Alarm.UNIT:
            units.append(int(key))
        else:
            leases.ask_again(state, str(key))
    if units:
        leases.units_end(state, units)


def _of_bag(state: State, key: int | str, act: Callable[[State, Bag], None]) -> None:
    """An alarm may outlive its bag."""
    bag = state.bags.get(int(key))
    if bag is not None:
        act(state, bag)


def looked_at_again(state: State, bag: Bag) -> None:
    if bag.replication is not None and bag.runs:
        bag.replication.rang(state, bag)


def plan_asked_again(state: State, bag: Bag) -> None:
    if bag.replication is not None and bag.runs:
        bag.replication.plan_due(state, bag)


def plan_ready(state: State, event: PlanReady) -> None:
    bag = state.bags.get(event.bag)
    if bag is not None and bag.replication is not None and bag.phase not in ENDED:
        bag.replication.planned(state, bag, event.number, event.plan)


def readmitted(state: State, host: Host | None) -> None:
    """An alarm may outlive its host, too."""
    if host is not None and state.now >= host.excluded_until_us:
        fleet.readmit(state, host)


DOORS: dict[type[Any], Callable[[State, Any], None]] = {
    Restarted: restarted,
    BagSubmitted: bag_submitted,
    TasksArrived: tasks_arrived,
    BagChanged: bag_changed,
    BagForgotten: forgetting.forget,
    HostForgotten: forgetting.forget_host,
    HostSeen: host_seen,
    Offer: offered,
    OfferWithdrawn: offer_withdrawn,
    HostSilent: host_silent,
    Ended: endings.ended,
    Progress: progress.told,
    LeaseChanged: lease_changed,
    PlanReady: plan_ready,
    Tick: ticked,
    Stopping: keeping.keep_all,
}
