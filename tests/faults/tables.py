"""The real store, telling what it has really committed, and failing on demand.

What was written is learnt from triggers on the tables (`witness.py`), not from the batch: a row
that the product forgot to write, or wrote twice, cannot deceive the oracle. In PostgreSQL a failure
is more than an error: the connection is really cut.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING

from tailrace.scheduler.rows import Restored
from tailrace.server.batch import Batch
from tailrace.server.tables.store import Store
from tailrace.server.tables.storeurl import Place

from .witness import witness_of

if TYPE_CHECKING:
    from .world import World


class Trouble(Enum):
    BEFORE = auto()  # the disk says no at once
    DURING = auto()  # everything is written but the end
    AFTER = auto()  # it is committed, but who asked is told that it failed


class WatchedStore(Store):
    def __init__(self, place: Place, world: World, step: Callable[[str], None]) -> None:
        super().__init__(place, synchronous="OFF")
        self._witness = witness_of(self.link)
        self._world = world
        self._step = step  # here the process may die
        self._trouble: Trouble | None = None

    def commit(self, batch: Batch) -> None:
        self._step("a commit")
        self._trouble = self._draw_trouble()
        if self._trouble is Trouble.BEFORE:
            self._fail("disk I/O error")
        self._witness.begin()
        super().commit(batch)
        # A retried task is reopened and sent in one transaction, in whatever order of the rows.
        told = sorted(self._witness.told(), key=lambda row: row[0] != "reopened")
        self._world.oracle.committed(told)
        if self._trouble is Trouble.AFTER:
            self._fail("disk I/O error")
        self._step("anything committed leaves")

    def _fail(self, why: str) -> None:
        self._witness.cut()
        raise sqlite3.OperationalError(why)

    def close(self) -> None:
        self._witness.close()
        super().close()

    def restored(self) -> Restored:
        """Found by their hosts, the live attempts are those that a look at all rows finds."""
        found = super().restored()
        query = "SELECT attempt FROM attempts WHERE outcome IS NULL ORDER BY attempt"
        live = [row[0] for row in self.link.execute(query)]
        assert [row.attempt for row in found.attempts] == live
        return found

    def _draw_trouble(self) -> Trouble | None:
        engine, world = self._world.engine, self._world
        bad = engine.now < world.bad_disk_until
        failing = engine.chance(0.8 if bad else world.weather.commit_failure)
        trouble = engine.random.choice(list(Trouble)) if failing else None
        if trouble is not None:
            engine.note("a commit fails:", trouble)
        return trouble

    def _write(self, batch: Batch) -> None:
        super()._write(batch)
        if self._trouble is Trouble.DURING:
            self._fail("database or disk is full")
