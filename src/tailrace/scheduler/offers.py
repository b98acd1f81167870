"""Open offers, and who takes them: bags in the order they came, by the matching of each; then what
replication wants."""

from __future__ import annotations

from collections.abc import Collection

from tailrace.scheduler import admission, dispatch, fleet
from tailrace.scheduler.replication.replication import Replication
from tailrace.scheduler.state import Bag, Host, State

Served = dict[str, Host]


def match(state: State, offers: Collection[Host]) -> None:
    """A host that was sent something has had its offer answered."""
    served: Served = {}
    _share_out(state, offers, served)
    if state.replicating:
        _replicate_all(state, offers, served)
    for host in served.values():
        close(state, host)


def match_one(state: State, host: Host) -> None:
    """A single offer, as most are."""
    served: Served = {}
    _serve(state, host, served)
    if state.replicating:
        _replicate_all(state, (host,), served)
    if served:
        close(state, host)


def _replicate_all(state: State, offers: Collection[Host], served: Served) -> None:
    for bag in list(state.replicating.values()):
        if bag.replication is not None and bag.replication.wants(bag) and bag.round_open:
            _replicate(state, bag, bag.replication, offers, served)


def close(state: State, host: Host) -> None:
    state.offers.pop(host.id, None)
    host.offer = None


def _serve(state: State, host: Host, served: Served) -> None:
    """The bags are asked in turn, until the host is full."""
    for bag in fleet.hungry(state):
        if served and admission.is_full(state, host):
            return
        if bag.round_open:
            count = admission.room(state, bag, host)
            if count > 0:
                _send(state, bag, host, count, served)


def _share_out(state: State, offers: Collection[Host], served: Served) -> None:
    """Many offers: each bag picks among them, until it is sated."""
    for bag in fleet.hungry(state):
        if bag.round_open:
            for host, count in bag.matching.pick(state, bag, offers):
                _send(state, bag, host, count, served)


def _send(state: State, bag: Bag, host: Host, count: int, served: Served) -> None:
    before = state.next_attempt
    dispatch.send(state, bag, host, count)
    if state.next_attempt > before:
        served[host.id] = host


def _replicate(
    state: State, bag: Bag, replication: Replication, offers: Collection[Host], served: Served
) -> None:
    for host in offers:
        while admission.begins_at_once(state, bag, host):
            index = replication.take(state, bag, host)
            if index is None:
                break
            dispatch.send_wanted(state, bag, host, index)
            served[host.id] = host
        if not replication.wants(bag):
            return
