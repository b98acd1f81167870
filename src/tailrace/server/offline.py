"""A change to a bag while no server runs: told to the scheduler, committed, and nothing started.

The scheduler is told of no pools, so that it takes no leases; a server that starts later restores
it from the tables as after any other end.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import TracebackType

from tailrace.errors import StoreError
from tailrace.scheduler.brain import Scheduler
from tailrace.scheduler.events import BagChanged, BagForgotten
from tailrace.scheduler.journal import Page
from tailrace.server.batch import New
from tailrace.server.clock import Clock
from tailrace.server.ledger import Ledger
from tailrace.server.people.sealed import Sealed
from tailrace.server.tables import aged
from tailrace.server.tables.link import Link, Trouble
from tailrace.server.tables.lock import Lock
from tailrace.server.tables.store import Store
from tailrace.server.tables.whereabouts import store_of

SLICE = 10_000  # rows removed at once: nobody waits


class Offline:
    """Holds the store's lock inside `with`, as a server would."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sealed = Sealed(folder)

    def __enter__(self) -> Offline:
        self._lock = Lock(self._folder)
        try:
            self.store = Store(store_of(self._folder))
            self.store.begin_epoch()
        except BaseException:
            self._lock.free()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.store.close()
        self._lock.free()

    @property
    def link(self) -> Link:
        return self.store.link

    def clear(self, bag: int) -> None:
        """What is left of a bag that was forgotten."""
        self._sealed.drop(bag)
        while self.store.clear(bag, SLICE):
            pass

    def trim(self, until_us: int) -> tuple[int, int]:
        """Pages of the journal and hosts that no bag needs which is left: how many went."""
        first = aged.first_page(self.link, until_us)
        count = aged.pages_before(self.link, first)
        while aged.drop_pages(self.store, first, SLICE):
            pass
        return count, aged.forget_hosts(self.store, until_us)

    def leaving(self) -> list[int]:
        return self.store.leaving()

    def tell(self, *events: BagChanged | BagForgotten, new: New | None = None) -> None:
        now, rows = Clock().now(), self.store.restored()
        scheduler = Scheduler()
        scheduler.restore(rows, now)
        ledger = Ledger(True, {})
        ledger.begin(now, scheduler.state, Page(rows, now))
        if new is not None:
            ledger.new_bag(new)
        for event in events:
            ledger.enter(event, scheduler.handle(event, now))
        try:
            self.store.commit(ledger.batch())
        except (sqlite3.Error, Trouble) as error:
            raise StoreError(
                f"{self.store.path}: cannot be written: {error}.",
                remedy="If the disk is full, free some; nothing was changed.",
            ) from error
