"""From stored rows to the same state of mind."""

from __future__ import annotations

from tailrace.bag.outcome import Outcome
from tailrace.scheduler import (
    admission,
    blame,
    dispatch,
    doubts,
    endings,
    fleet,
    leases,
    money,
    shares,
    strategies,
    units,
)
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.events import LeaseState
from tailrace.scheduler.rows import AttemptRow, BagPhase, HostRow, LeaseRow, PastRow, Restored
from tailrace.scheduler.state import ENDED, Bag, Host, State, Trouble
from tailrace.scheduler.timers import Alarm


def restore(rows: Restored, now: int) -> State:
    """Hosts are absent until they call, and offers are gone: neither is durable."""
    state = State()
    state.now = now
    state.next_attempt, state.next_lease = rows.next_attempt, rows.next_lease
    for row in rows.bags:
        permutation, failed = rows.permutations.get(row.bag), rows.failed.get(row.bag)
        bag = state.bags[row.bag] = Bag(row, permutation, rows.done[row.bag], failed,
                                         rows.columns.get(row.bag))  # fmt: skip
        bag.account = shares.account(state, row.terms.owner)
        strategies.equip(bag)
    for host in rows.hosts:
        _meet_again(state, host)
    for lease in rows.leases:
        _owe(state, lease)
    for task in rows.tasks:
        state.bags[task.bag].troubles[task.index] = Trouble.of(task)
    for attempt in rows.attempts:
        _adopt(state, attempt)
    shares.restore(state, rows.uses)
    for bag in state.bags.values():
        _take_up(state, bag)
    _look_back(state, rows.past)
    return state


def _look_back(state: State, past: list[PastRow]) -> None:
    of: dict[int, list[PastRow]] = {}
    for row in past:
        of.setdefault(row.bag, []).append(row)
    for number, some in of.items():
        replication = state.bags[number].replication
        if replication is not None:
            replication.looks_back(some)


def _meet_again(state: State, row: HostRow) -> None:
    host = state.hosts[row.host] = Host(row)
    fleet.move_to_lease(state, host, row.lease)
    state.capacity_in[host.pool] = host.whole
    state.booked += host.booked
    state.succeeded += host.succeeded
    if host.excluded:
        state.excluded[host.id] = host


def _owe(state: State, row: LeaseRow) -> None:
    bag = state.bags[row.bag]
    bag.given_back += row.idle
    leases.note_startup(state, row)
    if row.billing.by_result:
        money.add(bag.paid, row.billing.currency, row.billed)
    if row.state is LeaseState.GONE:
        money.pay(bag, row)
    else:
        leases.own(state, row)
        for host in state.on_lease.get(row.lease, {}).values():
            host.payer = fleet.payer(state, row.lease)


def _adopt(state: State, row: AttemptRow) -> None:
    bag, host = state.bags[row.bag], state.hosts[row.host]
    trouble = bag.troubles.get(row.index)
    ahead = host.plain.get(bag.id, 0) >= fleet.slots(bag, host)  # what it offered is not known
    attempt = Attempt(row.attempt, row.bag, row.index, row.host, row.sent_us, None, ahead)
    attempt.timeout_us = row.timeout_us
    if trouble is not None:
        attempt.needs, attempt.expired = trouble.needs, row.attempt in trouble.expired
    loses = row.index in bag.done and (bag.terms.last or not bag.keeps_losers)
    if loses or bag.phase is BagPhase.CANCELLED:
        attempt.dropping = Outcome.CANCELLED  # asked for before, and asked again
    elif attempt.expired and trouble is not None and _has_had_its_time(bag, trouble):
        attempt.dropping = Outcome.EXPIRED
    dispatch.believe(state, bag, host, attempt)


def _has_had_its_time(bag: Bag, trouble: Trouble) -> bool:
    """The last that its owner allowed. Where time-outs are guesses it may run on."""
    return not bag.guesses and blame.exhausted(bag, trouble) is not None


def _take_up(state: State, bag: Bag) -> None:
    """Every task below the cursor is done, live, or in trouble: so their number is the cursor."""
    live = sum(1 for index in bag.live if index not in bag.done)
    troubled = sum(1 for index in bag.troubles if index not in bag.live)
    bag.fresh.restore(bag.done.count + live + troubled, bag.is_known)
    doubts.restore(bag)
    for index, trouble in bag.troubles.items():
        if not dispatch.under_way(bag, index) and _may_go_on(bag, index, trouble):
            bag.requeue.add(index, admission.group_of(state, bag, index, trouble))
    if bag.phase is BagPhase.FINISHED:
        bag.put_away()
    elif bag.phase not in ENDED:
        fleet.opened(state, bag)


def _may_go_on(bag: Bag, index: int, trouble: Trouble) -> bool:
    """One whose last allowed attempt has expired waits for that, and for nothing more."""
    return index not in bag.live or blame.exhausted(bag, trouble) is None


def watch_again(state: State) -> None:
    """Set the timers; only when `Restarted` has told of the pools and the grace."""
    for attempt in state.attempts.values():
        late = attempt.expired and not endings.late_counts(state, state.hosts[attempt.host])
        if late and attempt.dropping is None:
            attempt.dropping = Outcome.EXPIRED  # asked for before, and asked again
        if attempt.timeout_us is not None:
            due = max(attempt.sent_us + attempt.timeout_us, state.grace_until_us)
            state.timers.set(due, Alarm.TIMEOUT, attempt.attempt)
    for bag in state.open.values():
        doubts.watch_again(state, bag)
        if bag.replication is not None:
            bag.replication.restore(state, bag)
    for lease in state.leases.values():
        leases.watch_end(state, lease)
        units.watch(state, lease)
    for host in state.excluded.values():
        state.timers.set(host.excluded_until_us, Alarm.READMIT, host.id)
