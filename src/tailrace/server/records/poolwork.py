"""What came of the machines of all pools, for all bags, as the store has it.

It is read when somebody asks. Of a long history the newest attempts count, of a user's own the
newest of his, so that asking costs the same after a million of them, whoever made them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from msgspec.structs import replace

from tailrace.report.poolwork import PoolWork, Stay
from tailrace.report.poolwork import pool_work as work_of
from tailrace.report.record import AttemptRecord, LeaseRecord
from tailrace.server.records import attempts, bills, reading, recording
from tailrace.server.records.reading import HostFacts
from tailrace.server.tables.link import Link

RECENT = 100_000  # attempts that are looked at
MOST_STEPS = 500  # changes of the number of machines that are told, the newest


def pool_work(
    link: Link, present: Collection[str] = (), whose: str | None = None
) -> list[PoolWork]:
    """Of all pools that ever had a machine, or wanted one. `present`: hosts that are there now, as
    only a server knows. `whose` work is told; None: everybody's."""
    hosts = reading.hosts(link)
    leases = [recording.lease(row) for row in bills.all_leases(link)]
    pool_of = {host.row.host: host.row.pool for host in hosts}
    recent, begins_us = _recent(link, pool_of)
    own = recent if whose is None else attempts.newest_of(link, whose, RECENT, pool_of)
    sent, told = _by_pool(recent), _by_pool(own)
    names = dict.fromkeys([*(lease.pool for lease in leases), *pool_of.values()])
    found = (
        work_of(
            name,
            _stays(name, leases, hosts, present),
            [lease for lease in leases if lease.pool == name],
            told[name],
            sent[name],
            begins_us,
        )
        for name in sorted(names)
    )
    return [replace(one, machines=one.machines[-MOST_STEPS:]) for one in found]


def _by_pool(attempts: Iterable[AttemptRecord]) -> dict[str, list[AttemptRecord]]:
    found: dict[str, list[AttemptRecord]] = defaultdict(list)
    for one in attempts:
        found[one.pool].append(one)
    return found


def _recent(link: Link, pool_of: dict[str, str]) -> tuple[list[AttemptRecord], int]:
    """And since when they are all that were sent."""
    found = attempts.newest(link, RECENT, pool_of)
    return found, found[0].sent_us if len(found) == RECENT else 0


def _stays(
    pool: str, leases: list[LeaseRecord], hosts: list[HostFacts], present: Collection[str]
) -> Iterator[Stay]:
    """A lease is a machine from its first call until it is gone; one that came by itself, between
    the first and the last that was noted of it, or until now."""
    for lease in leases:
        if lease.pool == pool and lease.up_us is not None:
            yield lease.up_us, lease.gone_us
    for host in hosts:
        if host.row.pool == pool and host.row.lease is None:
            gone = None if host.row.host in present else host.last_seen_us
            yield host.first_seen_us, gone
