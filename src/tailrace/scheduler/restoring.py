"""From stored rows to the same state of mind."""

from __future__ import annotations

from tailrace.scheduler import dispatch
from tailrace.scheduler.rows import AttemptRow, Restored
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
    for lease in state.leases:
        state.timers.set(now, Alarm.LEASE, lease)
    return state


def _adopt(state: State, row: AttemptRow) -> None:
    bag, host = state.bags[row.bag], state.hosts[row.host]
    trouble = bag.troubles.get(row.index)
    needs = (trouble.needs if trouble else None) or bag.terms.needs
    attempt = Attempt(row.attempt, row.bag, row.index, row.host, row.sent_us, needs)
    attempt.timeout_us = row.timeout_us
    dispatch.adopt(state, bag, host, attempt)


def _queue_again(bag: Bag) -> None:
    """Every task below the cursor is done, live, or in trouble: so their number is the cursor."""
    troubled = 0
    for index, trouble in bag.troubles.items():
        if index not in bag.live:
            troubled += 1
            bag.requeue.add(index, trouble.avoid(), trouble.needs)
    live = sum(1 for index in bag.live if index not in bag.done)
    bag.cursor = bag.done.count + live + troubled
