"""`build`: a store in the middle of a bag, with a million finished tasks. `time`: its restore."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec

from tailrace.bag.terms import Terms
from tailrace.scheduler.brain import Scheduler
from tailrace.scheduler.rows import BagPhase, BagRow
from tailrace.server.batch import Batch, NewBag
from tailrace.server.tables.store import Store

SENT_US = 1_700_000_000_000_000
BODY = (
    b'{"attempt":1234567,"outcome":"succeeded","exit":0,"run_us":4977,"cpu_us":1024,'
    b'"memory":12697600,"value":null}'
)
ATTEMPTS = """
INSERT INTO attempts (attempt, bag, idx, host, lease, why, sent_us, ended_us, outcome, accepted,
                      run_us, exit, body)
VALUES (?, 1, ?, 'host', 1, 'next', ?, ?, 'succeeded', 1, 4977, 0, ?)
"""
RESULTS = "INSERT INTO results (bag, idx, attempt, outcome) VALUES (1, ?, ?, 'succeeded')"


def build(path: Path, finished: int) -> None:
    """A tenth more tasks than are finished are still to be sent."""
    store = Store(path, synchronous="OFF")
    store.begin_epoch()
    store.commit(_bag(finished + finished // 10))
    link = store.link
    link.execute("BEGIN")
    link.executemany(ATTEMPTS, map(_attempt, range(finished)))
    link.executemany(RESULTS, ((index, index + 1) for index in range(finished)))
    link.execute("COMMIT")
    link.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()


def _bag(count: int) -> Batch:
    batch = Batch()
    row = BagRow(1, Terms(count), BagPhase.RUNNING, SENT_US)
    batch.new_bags.append(NewBag(1, "bag", b"{}", []))
    batch.bags.append((row.phase.value, msgspec.json.encode(row), 1))
    return batch


def _attempt(index: int) -> tuple[int, int, int, int, bytes]:
    return index + 1, index, SENT_US + index, SENT_US + index + 4977, BODY


def restore(path: Path, finished: int) -> float:
    """From opening the store to a scheduler of the same mind."""
    began = time.monotonic()
    store = Store(path)
    scheduler = Scheduler()
    scheduler.restore(store.restored(), SENT_US)
    lasted = time.monotonic() - began
    assert scheduler.state.bags[1].done.count == finished
    return lasted


if __name__ == "__main__":
    what, folder, finished = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    if what == "build":
        build(folder / "store.db", finished)
    else:
        print(restore(folder / "store.db", finished))
