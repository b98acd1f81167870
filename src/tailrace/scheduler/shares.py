"""Who has how much of the machines, and has had of late: owners, and the bags of each.

Bags of the same rank are served in the order of what their owners have, and have had (see `scale`),
then of what each bag has for its weight; so fifty bags of one owner get no more than one of
another, and who comes later gets the next machines that become free. That is counted in
milliseconds of a core, whole ones. What waits on a host behind others of its bag holds no core:
there, so many are held as run at once.

Half of what was had is forgotten within a day. Since all forget alike, nothing is ever divided:
instead the newer counts for more. It is stored (see `keeping`), and after a restart it counts as if
there had been none.
"""

from __future__ import annotations

from collections.abc import Iterable

from tailrace.scheduler import keeping
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.rows import UseRow
from tailrace.scheduler.scale import SECOND_US
from tailrace.scheduler.state import Account, Bag, Host, State, cores_of

HALF_LIFE_US = 24 * 3600 * SECOND_US
COARSE_US = 3600 * SECOND_US  # less is not worth a power
FINE_US = 60 * SECOND_US  # less is not worth a look at all that are compared
MOST_DOUBLINGS = 10  # so that the numbers stay small


def reckon(state: State) -> None:
    """Time has passed."""
    if state.now >= state.weigh_us:
        _weigh_anew(state)
    state.scale.reckon(state.now)
    state.reckon_us = state.now + FINE_US


def take(state: State, bag: Bag, host: Host, attempt: Attempt) -> None:
    """An attempt is out."""
    if attempt.needs is not None:
        _hold(state, bag, cores_of(attempt.needs))
    elif not attempt.ahead:
        busy, number = host.busy, bag.id
        busy[number] = busy.get(number, 0) + 1
        _hold(state, bag, bag.cores)


def give_back(state: State, bag: Bag, host: Host, attempt: Attempt) -> None:
    """It is over, and no more among what its host holds."""
    if attempt.needs is not None:
        _hold(state, bag, -cores_of(attempt.needs))
    else:
        _leave_place(state, bag, host)
    if not bag.unkept:
        keeping.changed(state, bag)
    if not bag.account.unkept:
        keeping.changed(state, bag.account)
    if bag.queued and len(state.open) > 1:
        for lines in state.lines.values():
            lines.move_up(bag)


def _leave_place(state: State, bag: Bag, host: Host) -> None:
    """Unless another that waited behind it has it now."""
    number, busy = bag.id, host.busy
    held = busy.get(number, 0)
    if host.plain.get(number, 0) < held:
        _hold(state, bag, -bag.cores)
        if held > 1:
            busy[number] = held - 1
        else:
            del busy[number]


def _hold(state: State, bag: Bag, more: int) -> None:
    account, until_now = bag.account, int(more * state.now * state.scale.weight)
    bag.held += more
    bag.used -= until_now
    account.held += more
    account.used -= until_now


def account(state: State, owner: str) -> Account:
    found = state.accounts.get(owner)
    if found is None:
        found = state.accounts[owner] = Account(owner)
    return found


def restore(state: State, rows: Iterable[UseRow]) -> None:
    """When all attempts that are out are known again: they have run on. A bag may be gone, which
    has had its part of what its owner had."""
    stored = {(row.owner, row.bag): row for row in rows}
    for row in stored.values():
        one = state.bags.get(row.bag) if row.bag else account(state, row.owner)
        if one is not None:
            halves = max(state.now - row.at_us, 0) / HALF_LIFE_US
            one.used += int(row.used * 0.5**halves)
    for attempt in state.attempts.values():
        if attempt.needs is not None or not attempt.ahead:
            _add_since(state, state.bags[attempt.bag], attempt, stored)


def _add_since(
    state: State, bag: Bag, attempt: Attempt, stored: dict[tuple[str, int], UseRow]
) -> None:
    """It was sent, or what is stored was reckoned."""
    cores = bag.cores if attempt.needs is None else cores_of(attempt.needs)
    owner = bag.account.owner
    for one, row in ((bag, stored.get((owner, bag.id))), (bag.account, stored.get((owner, 0)))):
        since_us = attempt.sent_us if row is None else max(attempt.sent_us, row.at_us)
        one.used += int(max(state.now - since_us, 0) * cores * state.scale.weight)


def _weigh_anew(state: State) -> None:
    """The newer counts for more; before the numbers grow too large, the older for less."""
    if not state.weigh_us:
        state.weighed_from_us = state.now
    doublings, part = (state.now - state.weighed_from_us) / HALF_LIFE_US, 1.0
    if doublings > MOST_DOUBLINGS:
        state.weighed_from_us = state.now
        doublings, part = 0.0, 0.5**doublings
    weight, now = 2.0**doublings / SECOND_US, state.now
    everybody: list[Account | Bag] = [*state.accounts.values(), *state.bags.values()]
    for one in everybody:
        one.used = int(state.scale.used(one, now) * part) - int(one.held * now * weight)
    state.scale.weight, state.weigh_us = weight, now + COARSE_US
    state.scale.reckon(now)
    if part != 1.0:
        for lines in state.lines.values():
            lines.sort_anew(state.bags.get)
