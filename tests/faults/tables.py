"""The real store, telling what it has really committed, and failing on demand.

What was written is learnt from triggers on the tables, not from the batch: a row that the product
forgot to write, or wrote twice, cannot deceive the oracle.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace.scheduler.rows import Restored
from tailrace.server.batch import Batch
from tailrace.server.store import Store

if TYPE_CHECKING:
    from .world import World

Row = tuple[Any, ...]

WATCH = """
CREATE TEMP TRIGGER t1 AFTER INSERT ON main.bags BEGIN
    SELECT watch('bag', NEW.bag, NEW.name, NULL, NULL); END;
CREATE TEMP TRIGGER t2 AFTER UPDATE ON main.bags BEGIN
    SELECT watch('phase', NEW.bag, NEW.phase, NULL, NULL); END;
CREATE TEMP TRIGGER t3 AFTER DELETE ON main.results BEGIN
    SELECT watch('reopened', OLD.bag, OLD.idx, NULL, NULL); END;
CREATE TEMP TRIGGER t4 AFTER INSERT ON main.attempts BEGIN
    SELECT watch('sent', NEW.attempt, NEW.bag, NEW.idx, NEW.host); END;
CREATE TEMP TRIGGER t5 AFTER UPDATE OF outcome ON main.attempts BEGIN
    SELECT watch('ended', NEW.attempt, NEW.outcome, NULL, NULL); END;
CREATE TEMP TRIGGER t6 AFTER INSERT ON main.results BEGIN
    SELECT watch('settled', NEW.bag, NEW.idx, NEW.attempt, NEW.outcome); END;
CREATE TEMP TRIGGER t7 AFTER INSERT ON main.leases BEGIN
    SELECT watch('lease', NEW.lease, json_extract(CAST(NEW.row AS TEXT), '$.state'), NEW.bag,
        json_extract(CAST(NEW.row AS TEXT), '$.ends_us')); END;
CREATE TEMP TRIGGER t9 AFTER UPDATE ON main.leases BEGIN
    SELECT watch('lease', NEW.lease, json_extract(CAST(NEW.row AS TEXT), '$.state'), NEW.bag,
        json_extract(CAST(NEW.row AS TEXT), '$.ends_us')); END;
CREATE TEMP TRIGGER t8 AFTER UPDATE OF body ON main.attempts WHEN NEW.body IS NOT NULL BEGIN
    SELECT watch('reported', NEW.attempt, NULL, NULL, NULL); END;
"""


class Trouble(Enum):
    BEFORE = auto()  # the disk says no at once
    DURING = auto()  # everything is written but the end
    AFTER = auto()  # it is committed, but who asked is told that it failed


class WatchedStore(Store):
    def __init__(self, path: Path | str, world: World, step: Callable[[str], None]) -> None:
        super().__init__(path, synchronous="OFF")
        self._rows: list[Row] = []  # written, but not committed yet
        self.link.create_function("watch", 5, self._watch)
        self.link.executescript(WATCH)
        self._world = world
        self._step = step  # here the process may die
        self._trouble: Trouble | None = None

    def commit(self, batch: Batch) -> None:
        self._step("a commit")
        self._trouble = self._draw_trouble()
        if self._trouble is Trouble.BEFORE:
            raise sqlite3.OperationalError("disk I/O error")
        self._rows.clear()
        super().commit(batch)
        # A retried task is reopened and sent in one transaction, in whatever order of the rows.
        self._world.oracle.committed(sorted(self._rows, key=lambda row: row[0] != "reopened"))
        if self._trouble is Trouble.AFTER:
            raise sqlite3.OperationalError("disk I/O error")
        self._step("anything committed leaves")

    def restored(self) -> Restored:
        """Found by their hosts, the live attempts are those that a look at all rows finds."""
        found = super().restored()
        query = "SELECT attempt FROM attempts WHERE outcome IS NULL ORDER BY attempt"
        live = [row[0] for row in self.link.execute(query)]
        assert [row.attempt for row in found.attempts] == live
        return found

    def _watch(self, *row: Any) -> None:
        self._rows.append(row)

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
            raise sqlite3.OperationalError("database or disk is full")
