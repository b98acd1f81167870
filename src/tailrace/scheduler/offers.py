"""Who takes an offer: bags in the order they came, by the matching of each; then what replication
wants."""

from __future__ import annotations

from collections.abc import Collection

from tailrace.scheduler import admission, dispatch, fleet, openings
from tailrace.scheduler.state import Bag, Host, State

Served = dict[str, Host]


def match(state: State) -> None:
    """All that are open. A host that was sent something has had its offer answered."""
    served: Served = {}
    pools = openings.pools(state)
    for bag in fleet.hungry(state, pools):
        if bag.round_open:
            _share_out(state, bag, pools, served)
    for bag in state.replicating.values():
        if bag.round_open:
            _replicate_all(state, bag, pools, served)
    for host in served.values():
        openings.close(state, host)


def match_one(state: State, host: Host) -> bool:
    """A single offer, as most are. False: it finds nothing, and stays open."""
    before = state.next_attempt
    _serve(state, host)
    for bag in state.replicating.values():
        replication = bag.replication
        assert replication is not None
        wanted = replication.wants(bag, host.reliable)  # seldom: asked first
        if wanted and bag.round_open and fleet.admits_pool(bag, host):
            _replicate(state, bag, (host,), {})
    return state.next_attempt > before


def _serve(state: State, host: Host) -> None:
    """The bags are asked in turn, until the host is full. Who is found to be sated leaves the
    queue."""
    numbers, before, place, earlier = state.hungry[host.pool], state.next_attempt, 0, False
    while place < len(numbers):
        bag = state.bags[numbers[place]]
        if not bag.hungry:
            fleet.sated(state, bag)
            continue
        if place and state.next_attempt > before and admission.is_full(state, host):
            return
        replication = bag.replication
        if bag.round_open and (
            replication is None or replication.admits_first(state, bag, host.reliable)
        ):
            count = admission.room_behind(state, bag, host, earlier)
            if count > 0:
                dispatch.send(state, bag, host, count)
        place += 1
        if place == len(numbers):
            return
        earlier = earlier or (bag.hungry and fleet.slots(bag, host) > 0)


def _share_out(state: State, bag: Bag, pools: list[str], served: Served) -> None:
    """The bag picks among many offers, until it is sated."""
    names = [name for name in pools if admission.is_open(state, bag, name)]
    if not names:
        return
    for host, count in bag.matching.pick(state, bag, openings.of_pools(state, names)):
        before = state.next_attempt
        dispatch.send(state, bag, host, count)
        if state.next_attempt > before:
            served[host.id] = host


def _replicate_all(state: State, bag: Bag, pools: list[str], served: Served) -> None:
    """What is wanted on the cheap is looked for there, and what on the reliable there alone."""
    here = [name for name in pools if not bag.terms.pools or name in bag.terms.pools]
    for reliable in (False, True):
        names = [name for name in here if fleet.is_reliable(state, name) is reliable]
        if names:
            _replicate(state, bag, openings.of_pools(state, names), served)


def _replicate(state: State, bag: Bag, offers: Collection[Host], served: Served) -> None:
    """To hosts of a kind: reliable, or not."""
    replication = bag.replication
    assert replication is not None
    for host in offers:
        if not replication.wants(bag, host.reliable):
            return
        while admission.begins_at_once(state, bag, host):
            index = replication.take(state, bag, host)
            if index is None:
                break
            dispatch.send_wanted(state, bag, host, index)
            served[host.id] = host
