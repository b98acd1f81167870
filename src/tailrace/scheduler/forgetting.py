"""A bag that ended long ago, and a host that is silent for long, leave the scheduler's mind, and
the tables after it."""

from __future__ import annotations

from tailrace.scheduler import leases
from tailrace.scheduler.decisions import Forget, ForgetHost
from tailrace.scheduler.events import BagForgotten, HostForgotten
from tailrace.scheduler.state import ENDED, Host, State


def forget(state: State, event: BagForgotten) -> None:
    """Not while anything of it is under way, whoever says so."""
    leases.let_go(state)
    if goes(state, event.bag, state.now):
        del state.bags[event.bag]
        state.fleet_due.pop(event.bag, None)
        state.out.append(Forget(event.bag))


def goes(state: State, number: int, now: int) -> bool:
    """Would it go, at this moment? Leases that have just gone keep it, too: a call on its way may
    still name them."""
    bag = state.bags.get(number)
    if bag is None or bag.phase not in ENDED or bag.live or bag.queued:
        return False
    rows = [row for row in state.leases.values() if row.bag == number]
    owed = any(not leases.is_past(row, now) for row in rows)
    return not (owed or any(host.payer == number for host in state.able.values()))


def forget_host(state: State, event: HostForgotten) -> None:
    """Not while it is there, or may hold something, whoever says so."""
    leases.let_go(state)
    host = state.hosts.get(event.host)
    if host is None or host.present or host.live or host.lease in state.leases:
        return
    del state.hosts[host.id]
    _forget_traces(state, host)
    state.out.append(ForgetHost(host.id))


def _forget_traces(state: State, host: Host) -> None:
    state.excluded.pop(host.id, None)
    if host.lease is not None:
        state.on_lease.get(host.lease, {}).pop(host.id, None)
    state.booked -= host.booked
    state.succeeded -= host.succeeded
    for bag in state.open.values():
        bag.doubts.pop(host.id, None)
        bag.like_hosts.pop(host.id, None)
        if bag.rules is not None:
            bag.rules.forget(host.id)
