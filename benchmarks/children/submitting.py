"""Reads a file of commands, stores them as a bag, and prints the seconds it took."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec

from tailrace.bag.bagfile import load_commands_file
from tailrace.scheduler.rows import BagPhase, BagRow
from tailrace.server.batch import Batch, NewBag
from tailrace.server.tables.store import Store


def submit(file: str, folder: Path) -> float:
    """From the first byte of the file to the commit; the store is there already."""
    store = Store(folder / "store.db")
    store.begin_epoch()
    began = time.monotonic()
    bag = load_commands_file(file, folder)
    spec, chunks = bag.encode()
    batch = Batch()
    row = BagRow(1, bag.terms(), BagPhase.RUNNING, 0)
    batch.new_bags.append(NewBag(1, bag.spec.name, spec, chunks))
    batch.bags.append((row.phase.value, msgspec.json.encode(row), 1))
    store.commit(batch)
    return time.monotonic() - began


if __name__ == "__main__":
    print(submit(sys.argv[1], Path(sys.argv[2])))
