"""From stored rows to the same state of mind."""

from __future__ import annotations

from tailrace.bag.outcome import Outcome
from tailrace.scheduler import dispatch
from tailrace.scheduler.rows import AttemptRow, BagPhase, Restored
from tailrace.scheduler.state import Attempt, Bag, Host, State, Trouble
from tailrace.scheduler.timers import Alarm


def restore(rows: Restored, now: int) -> State:
    """Hosts are absent until they call, and offers are gone: neither is durable."""
    state = State()
    state.now = now
    state.hosts = {row.host: Host(row) for row in rows.hosts}
    state.leases = {row.lease: row for row in rows.leases}
    state.next_attempt, state.next_lease = rows.next_attempt, rows.next_lease
    for row in rows.bags:
        permutation, failed = rows.permutations.get(row.bag), rows.failed.get(row.bag)
        state.bags[row.bag] = Bag(row, permutation, rows.done[row.bag], failed)
    for task in rows.tasks:
        state.bags[task.bag].troubles[task.index] = Trouble(task)
    for attempt in rows.attempts:
        _adopt(state, attempt)
    for bag in state.bags.values():
        _queue_again(bag)
    return state


def watch_again(state: State) -> None:
    """Set the timers; only when `Restarted` has told of the pools and the grace."""
    for attempt in state.attempts.values():
        if attempt.timeout_us is not None:
            due = max(attempt.sent_us + attempt.timeout_us, state.grace_until_us)
            state.timers.set(due, Alarm.TIMEOUT, attempt.attempt)
    for lease in state.leases:
        state.timers.set(state.now, Alarm.LEASE, lease)


def _adopt(state: State, row: AttemptRow) -> None:
    bag, host = state.bags[row.bag], state.hosts[row.host]
    trouble = bag.troubles.get(row.index)
    needs = (trouble.needs if trouble else None) or bag.terms.needs
    attempt = Attempt(row.attempt, row.bag, row.index, row.host, row.sent_us, needs)
    attempt.timeout_us = row.timeout_us
    if row.index in bag.done or bag.phase is BagPhase.CANCELLED:
        attempt.dropping = Outcome.CANCELLED  # asked for before, and asked again
    dispatch.believe(state, bag, host, attempt)


def _queue_again(bag: Bag) -> None:
    """Every task below the cursor is done, live, or in trouble: so their number is the cursor."""
    troubled = 0
    for index, trouble in bag.troubles.items():
        if index not in bag.live:
            troubled += 1
            bag.requeue.add(index, trouble.avoid(), trouble.needs)
    live = sum(1 for index in bag.live if index not in bag.done)
    bag.cursor = bag.done.count + live + troubled
