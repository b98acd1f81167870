"""The scheduler: events and a time in, decisions out. No clock, no I/O, no chance.

The server and the virtual world drive this very object. `handle` is the one door by which its state
changes; each event has one short function here, the rules stand in the modules beside it:

    fleet      which hosts are there, and for whom
    openings   the open offers
    offers     who takes them
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

from tailrace.bag.outcome import Outcome
from tailrace.scheduler import (
    brakes,
    dispatch,
    endings,
    fleet,
    forgetting,
    invariants,
    leases,
    offers,
    openings,
    progress,
    rounds,
    strategies,
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
    HostSeen,
    HostSilent,
    LeaseChanged,
    LeaseState,
    More,
    Offer,
    OfferWithdrawn,
    Progress,
    Restarted,
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
        if state.timers.next_us <= now:
            ring(state)
        DOORS[type(event)](state, event)
        if state.supply:
            supplied(state)
        if state.fleet_due:  # what found no room: so no machine is leased for a task just sent
            leases.fit_fleet(state)
            if state.supply:
                supplied(state)
        if state.rounds:
            rounds.close_rounds(state)
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


def supplied(state: State) -> None:
    """Work or room has come: the open offers are looked at again."""
    if state.excluded:
        fleet.readmit_the_last(state)
    state.supply = False
    if state.offers:
        offers.match(state)


def restarted(state: State, event: Restarted) -> None:
    state.seed = event.seed
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
    bag = state.bags[event.bag] = Bag(row, event.permutation, event.taken)
    strategies.equip(bag)
    if event.terms.round_us:
        rounds.begin(state, bag)
    state.out.append(Remember(row))
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
    elif event.change is Change.GROW and event.more is not None:
        grow(state, bag, event.more)
    elif event.change is Change.CANCEL and bag.phase not in ENDED:
        cancel(state, bag, event.why)
    elif event.change is Change.PAUSE and bag.runs:
        halt(state, bag, BagPhase.PAUSED, event.why)


def grow(state: State, bag: Bag, more: More) -> None:
    """One that is finished runs again; one that was stopped in any other way stays so."""
    if more.count < 1 or not bag.may_grow(more.before):
        return
    bag.grow(more.count, more.permutation)
    if bag.phase is BagPhase.FINISHED:
        bag.tail_us, bag.tail_hosts = None, 0
        strategies.equip(bag)
        resume(state, bag)
        return
    if bag.replication is not None:
        bag.replication.grew(state, bag)
    state.out.append(Remember(bag.row()))
    if bag.runs:
        fleet.opened(state, bag)


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
    if bag.terms.round_us:
        rounds.begin(state, bag)
    state.out.append(Remember(bag.row()))
    fleet.opened(state, bag)


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
    host.ends_us = event.ends_us
    state.out.append(Remember(host.row()))
    if event.lease is not None:
        leases.up(state, event.lease, event.host)
    if host.excluded:
        fleet.readmit_the_last(state)


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


def ticked(state: State, event: Tick) -> None:
    """The alarms have rung already."""


def ring(state: State) -> None:
    units = []
    for alarm, key in state.timers.due(state.now):
        if alarm is Alarm.TIMEOUT:
            endings.timed_out(state, int(key))
        elif alarm is Alarm.TRIAL:
            _of_bag(state, key, brakes.trials_due)
        elif alarm is Alarm.READMIT:
            readmitted(state, state.hosts[str(key)])
        elif alarm is Alarm.DOUBT:
            state.supply = True  # a host that was held back may try one
        elif alarm is Alarm.REPLICATE:
            _of_bag(state, key, looked_at_again)
        elif alarm is Alarm.ROUND:
            _of_bag(state, key, rounds.open_round)
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


def readmitted(state: State, host: Host) -> None:
    if state.now >= host.excluded_until_us:
        fleet.readmit(state, host)


DOORS: dict[type[Any], Callable[[State, Any], None]] = {
    Restarted: restarted,
    BagSubmitted: bag_submitted,
    TasksArrived: tasks_arrived,
    BagChanged: bag_changed,
    BagForgotten: forgetting.forget,
    HostSeen: host_seen,
    Offer: offered,
    OfferWithdrawn: offer_withdrawn,
    HostSilent: host_silent,
    Ended: endings.ended,
    Progress: progress.told,
    LeaseChanged: lease_changed,
    Tick: ticked,
}
