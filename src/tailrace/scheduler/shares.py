"""Who has had how much of the machines of late: owners, and the bags of each.

Bags of the same rank are served in the order of what their owners have had, then of what each bag
has had for its weight; so fifty bags of one owner get no more than one of another. That is counted
in milliseconds of a core, whole ones, so that what is taken back leaves nothing behind. It is
entered when an attempt is sent, as long as those before it took, and set right when it ends: else a
bag would get every machine before its first task has ended.

Half of it is forgotten within a day. Since all forget alike, nothing is ever divided: instead the
newer counts for more, and who has less does not change by itself. What ended is stored (see
`keeping`), and after a restart it counts as if there had been none.
"""

from __future__ import annotations

from tailrace.scheduler import keeping
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.rows import UseRow
from tailrace.scheduler.state import Account, Bag, State, cores_of

SECOND_US = 1_000_000
HALF_LIFE_US = 24 * 3600 * SECOND_US
COARSE_US = 3600 * SECOND_US  # less is not worth a power
ASSUMED_US = SECOND_US  # a task takes, before one has ended: rather too little than too much
MOST_DOUBLINGS = 10  # so that the numbers stay small


def charge(state: State, bag: Bag, attempt: Attempt) -> None:
    if state.now > state.weigh_us:
        _weigh_anew(state)
    cores = bag.cores if attempt.needs is None else cores_of(attempt.needs)
    attempt.charged = used = int((bag.times.recent_us or ASSUMED_US) * cores * state.weight)
    bag.used += used
    bag.account.used += used


def settle(state: State, bag: Bag, attempt: Attempt) -> None:
    """It is over: what it really took counts."""
    cores = bag.cores if attempt.needs is None else cores_of(attempt.needs)
    took = int((state.now - attempt.sent_us) * cores * state.weight)
    more, account = took - attempt.charged, bag.account
    bag.used += more
    bag.settled += took
    account.used += more
    account.settled += took
    if not bag.unkept:
        keeping.changed(state, bag)
    if not account.unkept:
        keeping.changed(state, account)
    if more < 0 and bag.queued and len(state.open) > 1:
        for lines in state.lines.values():
            lines.move_up(bag, attempt.charged / 2)


def account(state: State, owner: str) -> Account:
    found = state.accounts.get(owner)
    if found is None:
        found = state.accounts[owner] = Account(owner)
    return found


def restore(state: State, stored: UseRow) -> None:
    """A bag may be gone, which has had its part of what its owner had."""
    one = state.bags.get(stored.bag) if stored.bag else account(state, stored.owner)
    if one is not None:
        halves = max(state.now - stored.at_us, 0) / HALF_LIFE_US
        one.used = one.settled = int(stored.used * 0.5**halves)


def _weigh_anew(state: State) -> None:
    if not state.weigh_us:
        state.weighed_from_us = state.now
    doublings = (state.now - state.weighed_from_us) / HALF_LIFE_US
    if doublings > MOST_DOUBLINGS:
        _begin_anew(state, 0.5**doublings)
        doublings = 0.0
    state.weight = 2.0**doublings / SECOND_US
    state.weigh_us = state.now + COARSE_US


def _begin_anew(state: State, part: float) -> None:
    """Before the numbers grow too large."""
    state.weighed_from_us = state.now
    for account in state.accounts.values():
        account.used, account.settled = int(account.used * part), int(account.settled * part)
    for bag in state.bags.values():
        bag.used, bag.settled = int(bag.used * part), int(bag.settled * part)
    for attempt in state.attempts.values():
        attempt.charged = int(attempt.charged * part)
    for lines in state.lines.values():
        lines.sort_anew(state.bags.get)
