"""The scheduler: events and a time in, decisions out. No clock, no I/O, no chance.

The server and the virtual world drive this very object. `handle` is the one door by which its state
changes; each event has one short function here, the rules stand in the modules beside it:

    dispatch   the life of an attempt and the end of a task
    endings    an attempt has ended: live, late, expired
    blame      what follows from each way an attempt can end
    brakes     what keeps a broken bag from doing harm
    leases     the fleet and its money
    bundling   how much a host may hold
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tailrace.bag.outcome import Outcome
from tailrace.scheduler import blame, brakes, dispatch, endings, invariants, leases
from tailrace.scheduler.decisions import AnyDecision, Remember
from tailrace.scheduler.events import (
    AnyEvent,
    BagChanged,
    BagSubmitted,
    Change,
    Ended,
    HostSeen,
    HostSilent,
    LeaseChanged,
    LeaseState,
    Offer,
    OfferWithdrawn,
    Restarted,
    Tick,
)
from tailrace.scheduler.explain import explain
from tailrace.scheduler.matching import fcfs
from tailrace.scheduler.restoring import restore, watch_again
from tailrace.scheduler.rows import BagPhase, BagRow, HostRow, Restored
from tailrace.scheduler.state import Attempt, Bag, Host, State
from tailrace.scheduler.timers import Alarm


class Scheduler:
    def __init__(self, *, check: bool = False) -> None:
        self.state = State()
        self._check = check
        self._doors: dict[type[Any], Callable[[State, Any], None]] = {
            Restarted: restarted,
            BagSubmitted: bag_submitted,
            BagChanged: bag_changed,
            HostSeen: host_seen,
            Offer: offered,
            OfferWithdrawn: offer_withdrawn,
            HostSilent: host_silent,
            Ended: endings.ended,
            LeaseChanged: lease_changed,
            Tick: ticked,
        }

    def handle(self, event: AnyEvent, now: int) -> list[AnyDecision]:
        state = self.state
        state.now = max(now, state.now)
        out: list[AnyDecision] = []
        state.out = out
        due = state.timers.next()
        if due is not None and due <= state.now:
            ring(state)
        self._doors[type(event)](state, event)
        if state.fleet_due:
            state.fleet_due = False
            leases.fit_fleet(state)
        if state.supply:
            state.supply = False
            match(state, list(state.offers.values()))
        if self._check:
            invariants.check(state)
        return out

    def next_wakeup(self) -> int | None:
        return self.state.timers.next()

    def explain(self, subject: str, now: int) -> list[str]:
        return explain(self.state, subject, now)

    def restore(self, rows: Restored, now: int) -> None:
        self.state = restore(rows, now)
        if self._check:
            invariants.check(self.state)


def match(state: State, offers: list[Host]) -> None:
    """Let matching pick; a host that was sent something has had its offer answered."""
    for host, bag, index in fcfs.pick(state, offers):
        dispatch.assign(state, bag, index, host)
        state.offers.pop(host.id, None)
    for host in offers:
        if host.id not in state.offers:
            host.offer = None


def restarted(state: State, event: Restarted) -> None:
    state.seed = event.seed
    state.pools = {pool.name: pool for pool in event.pools}
    state.grace_until_us = state.now + event.grace_us
    watch_again(state)
    state.fleet_due = True


def bag_submitted(state: State, event: BagSubmitted) -> None:
    row = BagRow(event.bag, event.terms, BagPhase.RUNNING, state.now)
    bag = state.bags[event.bag] = Bag(row, event.permutation)
    state.out.append(Remember(row))
    dispatch.finish_if_done(state, bag)
    state.supply = state.fleet_due = True


def bag_changed(state: State, event: BagChanged) -> None:
    bag = state.bags.get(event.bag)
    if bag is None:
        return
    if event.change is Change.RETRY:
        for index in event.tasks:
            dispatch.reopen(state, bag, index)
    if event.change in (Change.RESUME, Change.RETRY):
        resume(state, bag)
    elif bag.phase is not BagPhase.FINISHED:
        phase = BagPhase.PAUSED if event.change is Change.PAUSE else BagPhase.CANCELLED
        halt(state, bag, phase, event.why)


def resume(state: State, bag: Bag) -> None:
    """Brakes are released, kinds of hosts tried anew."""
    bag.like_count = 0
    bag.trials.clear()
    if bag.phase is BagPhase.FINISHED and bag.done.count == bag.terms.count:
        return
    bag.phase, bag.why, bag.ended_us = BagPhase.RUNNING, "", None
    state.out.append(Remember(bag.row()))
    state.supply = state.fleet_due = True
    dispatch.finish_if_done(state, bag)  # cancelled, and then its last result came


def halt(state: State, bag: Bag, phase: BagPhase, why: str) -> None:
    bag.phase, bag.why = phase, why
    if phase is BagPhase.CANCELLED:
        bag.ended_us = state.now
        for attempts in list(bag.live.values()):
            for attempt in attempts:
                dispatch.drop(state, attempt, Outcome.CANCELLED, why or "the bag was cancelled")
    state.out.append(Remember(bag.row()))
    state.fleet_due = True


def host_seen(state: State, event: HostSeen) -> None:
    host = state.hosts.get(event.host)
    row = HostRow(event.host, event.pool, event.kind, event.capacity, event.lease)
    if host is None:
        host = state.hosts[event.host] = Host(row)
    else:
        host.pool, host.kind = event.pool, event.kind
        host.capacity, host.lease = event.capacity, event.lease
    host.present = True
    state.fleet_version += 1
    state.out.append(Remember(host.row()))
    if event.lease is not None:
        leases.up(state, event.lease, event.host)


def offered(state: State, event: Offer) -> None:
    host = state.hosts[event.host]
    host.offer = event.free
    state.offers[host.id] = host
    match(state, [host])


def offer_withdrawn(state: State, event: OfferWithdrawn) -> None:
    host = state.offers.pop(event.host, None)
    if host is not None:
        host.offer = None


def host_silent(state: State, event: HostSilent) -> None:
    """Its attempts are lost, unless a second one beside a live first would do harm: then we wait
    until the host comes back or its lease is known to be gone."""
    host = state.hosts.get(event.host)
    if host is None or not host.present:
        return
    leave(state, host)
    for attempt in list(host.live.values()):
        if state.bags[attempt.bag].terms.repeatable:
            endings.ended(state, _end_of(attempt, Outcome.LOST))


def leave(state: State, host: Host) -> None:
    host.present = False
    host.offer = None
    state.offers.pop(host.id, None)
    state.fleet_version += 1


def _end_of(attempt: Attempt, outcome: Outcome) -> Ended:
    return Ended(attempt.attempt, attempt.bag, attempt.index, attempt.host, outcome)


def lease_changed(state: State, event: LeaseChanged) -> None:
    if event.state is LeaseState.STARTING:
        leases.starting(state, event.lease)
    if event.state is not LeaseState.GONE:
        return
    outcome = leases.gone(state, event)
    if outcome is None:
        return
    for host in [host for host in state.hosts.values() if host.lease == event.lease]:
        leave(state, host)
        for attempt in list(host.live.values()):
            endings.ended(state, _end_of(attempt, outcome))


def ticked(state: State, event: Tick) -> None:
    """The alarms have rung already."""


def ring(state: State) -> None:
    for alarm, key in state.timers.due(state.now):
        if alarm is Alarm.TIMEOUT:
            endings.timed_out(state, int(key))
        elif alarm is Alarm.TRIAL:
            brakes.trials_due(state, state.bags[int(key)])
        elif alarm is Alarm.READMIT:
            blame.readmit(state, state.hosts[str(key)])
        elif alarm is Alarm.LEASE:
            leases.end_is_near(state, int(key))
        else:
            state.fleet_due = True
