"""The open offers, in the order they were made: all of them, and those of each pool."""

from __future__ import annotations

from collections.abc import Collection
from operator import attrgetter

from tailrace.scheduler.state import Host, State


def add(state: State, host: Host) -> None:
    """The newest comes last."""
    state.offers_made += 1
    host.offered = state.offers_made
    state.offers[host.id] = host
    state.offers_in.setdefault(host.pool, {})[host.id] = host


def close(state: State, host: Host) -> None:
    host.offer = None
    if state.offers.pop(host.id, None) is not None:
        del state.offers_in[host.pool][host.id]


def move(state: State, host: Host, pool: str) -> None:
    """Its host belongs to another pool now."""
    if host.pool != pool and state.offers_in.get(host.pool, {}).pop(host.id, None) is not None:
        state.offers_in.setdefault(pool, {})[host.id] = host


def pools(state: State) -> list[str]:
    """Those with some."""
    return [pool for pool, offers in state.offers_in.items() if offers]


def of_pools(state: State, names: list[str]) -> Collection[Host]:
    """Only what is asked for is looked at, however many others are open."""
    if len(names) == 1:
        return state.offers_in[names[0]].values()
    if len(names) == len(pools(state)):
        return state.offers.values()
    hosts = [host for name in names for host in state.offers_in[name].values()]
    return sorted(hosts, key=attrgetter("offered"))
