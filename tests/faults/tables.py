"""The real store, telling what it has really committed, and failing on demand.

What was written is learnt from triggers on the tables, not from the batch: a row that the product
forgot to write, or wrote twice, cannot deceive the oracle.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from enum import Enum, auto
from pathlib import Path
from typing import Any

from tailrace.server.batch import Batch
from tailrace.server.store import Store

Row = tuple[Any, ...]

WATCH = """
PRAGMA temp_store = MEMORY;
CREATE TEMP TABLE news (n INTEGER PRIMARY KEY, kind TEXT, a, b, c, d);
CREATE TEMP TRIGGER t1 AFTER INSERT ON main.bags BEGIN
    INSERT INTO news (kind, a, b) VALUES ('bag', NEW.bag, NEW.name); END;
CREATE TEMP TRIGGER t2 AFTER UPDATE ON main.bags BEGIN
    INSERT INTO news (kind, a, b) VALUES ('phase', NEW.bag, NEW.phase); END;
CREATE TEMP TRIGGER t3 AFTER DELETE ON main.results BEGIN
    INSERT INTO news (kind, a, b) VALUES ('reopened', OLD.bag, OLD.idx); END;
CREATE TEMP TRIGGER t4 AFTER INSERT ON main.attempts BEGIN
    INSERT INTO news (kind, a, b, c, d) VALUES ('sent', NEW.attempt, NEW.bag, NEW.idx, NEW.host);
    END;
CREATE TEMP TRIGGER t5 AFTER UPDATE OF outcome ON main.attempts BEGIN
    INSERT INTO news (kind, a, b) VALUES ('ended', NEW.attempt, NEW.outcome); END;
CREATE TEMP TRIGGER t8 AFTER UPDATE OF body ON main.attempts WHEN NEW.body IS NOT NULL BEGIN
    INSERT INTO news (kind, a) VALUES ('reported', NEW.attempt); END;
CREATE TEMP TRIGGER t6 AFTER INSERT ON main.results BEGIN
    INSERT INTO news (kind, a, b, c, d)
    VALUES ('settled', NEW.bag, NEW.idx, NEW.attempt, NEW.outcome); END;
CREATE TEMP TRIGGER t7 AFTER INSERT ON main.leases BEGIN
    INSERT INTO news (kind, a, b)
    VALUES ('lease', NEW.lease, json_extract(CAST(NEW.row AS TEXT), '$.state')); END;
"""
# A retried task is reopened and sent in one transaction, in whatever order the rows are written.
ORDER = "SELECT kind, a, b, c, d FROM news ORDER BY kind <> 'reopened', n"


class Trouble(Enum):
    BEFORE = auto()  # the disk says no at once
    DURING = auto()  # everything is written but the end
    AFTER = auto()  # it is committed, but who asked is told that it failed


class WatchedStore(Store):
    def __init__(self, path: Path, tell: Callable[[list[Row]], None]) -> None:
        super().__init__(path, synchronous="OFF")
        self.link.executescript(WATCH)
        self._tell = tell
        self.trouble: Trouble | None = None

    def commit(self, batch: Batch) -> None:
        if self.trouble is Trouble.BEFORE:
            raise sqlite3.OperationalError("disk I/O error")
        super().commit(batch)
        rows = self.link.execute(ORDER).fetchall()
        if rows:
            self.link.execute("DELETE FROM news")
            self._tell(rows)
        if self.trouble is Trouble.AFTER:
            raise sqlite3.OperationalError("disk I/O error")

    def _write(self, batch: Batch) -> None:
        super()._write(batch)
        if self.trouble is Trouble.DURING:
            raise sqlite3.OperationalError("database or disk is full")
