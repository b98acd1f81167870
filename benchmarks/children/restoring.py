"""`build`: a store in the middle of a bag, with a million finished tasks. `time`: its restore."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tailrace.bag.terms import Terms
from tailrace.scheduler.brain import Scheduler
from tailrace.scheduler.rows import BagPhase, BagRow, HostRow
from tailrace.server.batch import Batch, NewBag
from tailrace.server.store import Store

STEP = 10_000  # tasks a transaction
SENT_US = 1_700_000_000_000_000
BODY = (
    b'{"attempt":1234567,"outcome":"succeeded","exit":0,"run_us":4977,"cpu_us":1024,'
    b'"memory":12697600,"value":null}'
)


def build(path: Path, finished: int) -> None:
    """A tenth more tasks than are finished are still to be sent."""
    store = Store(path, synchronous="OFF")
    store.begin_epoch()
    for batch in _batches(finished):
        store.commit(batch)
    store.link.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()


def _batches(finished: int) -> Iterator[Batch]:
    yield _first(finished + finished // 10)
    for begin in range(0, finished, STEP):
        yield _step(begin, min(begin + STEP, finished))


def _first(count: int) -> Batch:
    batch = Batch()
    bag = BagRow(1, Terms(count), BagPhase.RUNNING, SENT_US)
    host = HostRow("host", "local", "linux", {"cores": 2000}, succeeded=1)
    batch.new_bags.append(NewBag(1, "bag", b"{}", []))
    batch.bags.append((bag.phase.value, msgspec.json.encode(bag), 1))
    batch.hosts.append(("host", 1, msgspec.json.encode(host), b"{}", SENT_US, SENT_US))
    return batch


def _step(begin: int, end: int) -> Batch:
    batch = Batch()
    for index in range(begin, end):
        number = index + 1
        batch.sent.append((number, 1, index, "host", 1, "next", SENT_US + index, None))
        batch.ended.append((SENT_US + index, "succeeded", True, 4977, 0, BODY, number))
        batch.settled.append((1, index, number, "succeeded"))
    return batch


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
