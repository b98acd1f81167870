"""What changes with every attempt is stored now and then: the records of hosts, and what owners and
bags have had of the machines.

Each of them is stored a minute after it has changed, with the first event that comes then; a few at
a time, so that no event pays for all. A server that is killed forgets that much of them. What ends
in order forgets nothing.
"""

from __future__ import annotations

from tailrace.scheduler.decisions import Remember
from tailrace.scheduler.events import Stopping
from tailrace.scheduler.rows import HostRow, UseRow
from tailrace.scheduler.state import Account, Bag, Host, State
from tailrace.scheduler.timers import NEVER

WAIT_US = 60_000_000
MOST_AT_ONCE = 16  # with one event
SECOND_US = 1_000_000

Kept = Host | Bag | Account


def changed(state: State, one: Kept) -> None:
    """It does not stand in the queue yet."""
    one.unkept = True
    if not state.stores:
        return  # and nobody asks again
    due_us = state.now + WAIT_US
    if not state.unkept:
        state.keep_us = due_us
    state.unkept.append((due_us, one))


def keep_due(state: State) -> None:
    _keep(state, state.now, MOST_AT_ONCE)


def keep_all(state: State, event: Stopping) -> None:
    _keep(state, NEVER, len(state.unkept))


def keep_host(state: State, host: Host) -> None:
    """Nothing more is heard of it for a while."""
    if host.unkept and state.stores:
        host.unkept = False  # where it stands in the queue, it is passed by
        state.out.append(Remember(host.row()))


def _keep(state: State, until_us: int, most: int) -> None:
    """Those that changed first come first."""
    unkept = state.unkept
    while unkept and unkept[0][0] <= until_us and most > 0:
        one = unkept.popleft()[1]
        row = _row(state, one) if one.unkept else None
        one.unkept = False
        if row is not None:
            most -= 1
            state.out.append(Remember(row))
    state.keep_us = unkept[0][0] if unkept else NEVER


def _row(state: State, one: Kept) -> HostRow | UseRow | None:
    """None: it was forgotten meanwhile."""
    if isinstance(one, Host):
        return one.row() if state.hosts.get(one.id) is one else None
    if isinstance(one, Bag) and state.bags.get(one.id) is not one:
        return None
    return _use(state, one)


def _use(state: State, one: Bag | Account) -> UseRow:
    """With what is out, until now: after a restart it goes on from there."""
    used = int(state.scale.used(one, state.now) / (state.scale.weight * SECOND_US))
    if isinstance(one, Bag):
        return UseRow(one.terms.owner, one.id, used, state.now)
    return UseRow(one.owner, 0, used, state.now)
