"""What is known of pools: the leases that stand, what went wrong last, machines nobody knows of."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tailrace.errors import ServerError
from tailrace.pools.commands import any_names
from tailrace.report.poolwork import PoolWork
from tailrace.scheduler.events import LeaseState
from tailrace.scheduler.rows import LeaseRow
from tailrace.server.pools.command_pool import CommandPool
from tailrace.server.records import bills, reading
from tailrace.server.records.poolwork import pool_work
from tailrace.server.tables.storename import name_of
from tailrace.server.tables.whereabouts import holds_runs


class Leases(msgspec.Struct, frozen=True):
    """Of a pool, as the store has them."""

    standing: int = 0
    trouble: str = ""  # why the last that was lost went


class Orphan(msgspec.Struct, frozen=True):
    """A machine that is listed, and that no lease of this folder knows."""

    pool: str
    name: str
    lease: int | None  # it was ours once; None: another folder's, which may need it


class Known:
    """The leases of a folder; none where nothing was run yet."""

    def __init__(self, folder: Path) -> None:
        self.store: str | None = None
        self.rows: list[LeaseRow] = []
        self.work: dict[str, PoolWork] = {}
        self.folder = folder
        if holds_runs(folder):
            link = reading.open_store(folder)
            try:
                self.store, self.rows = name_of(link), bills.all_leases(link)
                self.work = {one.pool: one for one in pool_work(link)}
            finally:
                link.close()

    def of(self, pool: str) -> Leases:
        rows = [row for row in self.rows if row.pool == pool]
        standing = sum(row.state is not LeaseState.GONE for row in rows)
        return Leases(standing, _trouble(rows))

    def orphans(self, pool: CommandPool) -> list[Orphan]:
        stand = [row.lease for row in self.rows if row.state is not LeaseState.GONE]
        printed = pool.tool(self.folder, self.store or "").printed()
        found = []
        for name, store in any_names(printed).items():
            lease = int(name.rpartition("-")[2]) if store == self.store else None
            if lease is None or lease not in stand:
                found.append(Orphan(pool.terms.name, name, lease))
        return found

    def stop(self, pool: CommandPool, orphan: Orphan) -> None:
        if self.store is None or orphan.lease is None:
            raise ServerError(f"{orphan.name} is not of this folder")
        pool.tool(self.folder, self.store).stop(orphan.lease)


def _trouble(rows: list[LeaseRow]) -> str:
    """Of the last that was asked for, where its machine never called: one that came after it and
    worked makes it old news."""
    tried = [row for row in rows if row.why or row.up_us is not None]
    return tried[-1].why if tried and tried[-1].up_us is None else ""
