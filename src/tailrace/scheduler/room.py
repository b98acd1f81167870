"""Room that hosts have for what waits, as far as they may be sent it.

Each kind of task (its needs, and whether it failed elsewhere or is kept for a reliable pool) is
reckoned once for all hosts, so that a group of tasks looks only at the hosts that it avoids.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from tailrace.bag.needs import Amounts, less, times
from tailrace.policy.attributes import Plain
from tailrace.scheduler import doubts, fleet, lifetimes, others, policies
from tailrace.scheduler.requeue import Group
from tailrace.scheduler.state import Bag, Host, State

PLAIN = Group()


class Kind(NamedTuple):
    needs: tuple[tuple[str, int], ...] | None
    failed: bool  # elsewhere: a host that is held back may have it
    reliable: bool
    job: tuple[Plain, ...] = ()  # what its bag's policy looks at of it


class Slots(NamedTuple):
    by_host: dict[str, int]
    all: int


class Room:
    """On all able hosts but those of the leases that are left out. Most hold as much as their
    pool's machines do, and are not looked at closely."""

    def __init__(self, state: State, bag: Bag, but: Container[int]) -> None:
        self._state, self._bag = state, bag
        needs = bag.terms.needs
        most = {pool: max(times(needs, has), 1) for pool, has in state.capacity_in.items()}
        hosts = [host for host in state.able.values() if len(host.live) < most.get(host.pool, 1)]
        self._hosts = [host for host in hosts if host.lease not in but]
        self._slots: dict[Kind, Slots] = {}

    def all(self, group: Group = PLAIN) -> int:
        return self._of_kind(group).all

    def of(self, group: Group) -> int:
        """Where it did not fail; there as well, if nobody else is left."""
        elsewhere, everywhere = self.beside(group), self.all(group)
        if elsewhere or not everywhere or self._another(group):
            return elsewhere
        return everywhere

    def beside(self, group: Group) -> int:
        """Only on others than those that it avoids."""
        slots = self._of_kind(group)
        return slots.all - sum(slots.by_host.get(host, 0) for host in group.avoid)

    def on_reliable(self) -> int:
        """For what replication wants there."""
        kind = Kind(None, failed=True, reliable=True)
        hosts = [host for host in self._hosts if host.reliable]
        fit = [host for host in hosts if lifetimes.fits(self._state, self._bag, host)]
        return sum(self._free(host, kind) for host in fit)

    def _another(self, group: Group) -> bool:
        needs = dict(group.needs) if group.needs else None
        return others.another(self._state, self._bag, group.avoid, needs, group.reliable, group.job)

    def _of_kind(self, group: Group) -> Slots:
        state, bag = self._state, self._bag
        reliable = group.reliable and others.keeps_to_reliable(state, bag)
        kind = Kind(group.needs, bool(group.avoid), reliable, group.job)
        if kind not in self._slots:
            hosts = [host for host in self._hosts if host.reliable or not reliable]
            hosts = [host for host in hosts if self._may_send(host, kind)]
            found = {host.id: self._for_policy(host, kind) for host in hosts}
            self._slots[kind] = Slots(found, sum(found.values()))
        return self._slots[kind]

    def _for_policy(self, host: Host, kind: Kind) -> int:
        """Concurrency counts all that the host holds, `tasks_per_host` what it holds of the bag."""
        free = self._free(host, kind)
        return min(free, policies.holds_more(self._state, self._bag, host, kind.job)) if free else 0

    def _may_send(self, host: Host, kind: Kind) -> bool:
        state, bag = self._state, self._bag
        if not lifetimes.fits(state, bag, host):
            return False
        return bag.replication is None or bag.replication.admits_first(state, bag, host.reliable)

    def _free(self, host: Host, kind: Kind) -> int:
        state, bag = self._state, self._bag
        slots = fleet.slots(bag, host)
        if not slots or (bag.doubts and not kind.failed and doubts.held_back(state, bag, host)):
            return 0
        if not host.live and not kind.needs:
            return slots
        needs: Amounts = dict(kind.needs) if kind.needs else bag.terms.needs
        has = host.capacity if host.offer is None else host.offer
        return max(times(needs, less(has, fleet.used(state, host))), 0)
