"""One desk after another over one store: what is told, committed, and begun again.

A turn is: all that waits goes through the desk, one commit, then what may leave. If the commit
fails, the desk is gone in the same moment, with all it had decided: nobody can look at what was
never committed. `rise` makes the next desk from the tables and tells it again what was told.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from tailrace.errors import StoreError
from tailrace.scheduler.events import AnyEvent
from tailrace.server.batch import Batch, New
from tailrace.server.desk import Desk, Released
from tailrace.server.tables.link import TROUBLES
from tailrace.server.tables.store import Store

log = logging.getLogger(__name__)

Heard = Callable[[], None]
CHECK_US = 2_000_000  # so long a server that writes nothing may not know that it lost its store


class CannotCommit(Exception):
    """Not now: the disk is full, the file locked, the database away. It may go later."""


class Fallen(Exception):
    """There is no desk: the last commit failed, and the next has not been tried yet."""


class Cycle:
    def __init__(self, store: Store, make: Callable[[], Desk]) -> None:
        self._store = store
        self._make = make
        self._desk: Desk | None = self._made()
        self._asserted_us = 0  # when the store was last known to be ours
        self._told: list[tuple[AnyEvent, New | None, Heard | None]] = []

    @property
    def desk(self) -> Desk:
        if self._desk is None:
            raise Fallen
        return self._desk

    @property
    def fallen(self) -> bool:
        return self._desk is None

    def tell(self, event: AnyEvent, new: New | None = None, heard: Heard | None = None) -> None:
        """Kept until it is committed: who tells it does not tell it again, as a worker would."""
        self._told.append((event, new, heard))
        if self._desk is not None:
            self._desk.tell(event, new)

    def turn(self, now: int) -> tuple[Batch, Released]:
        try:
            batch = self.desk.work(now)
            self._write(batch, now)
            self._hear()
            return batch, self.desk.release(now)
        except TROUBLES as error:
            self.drop()
            raise CannotCommit(str(error)) from error

    def _write(self, batch: Batch, now: int) -> None:
        if batch:
            self._store.commit(batch)
        elif now > self._asserted_us + CHECK_US:
            self._store.check()
        else:
            return
        self._asserted_us = now

    def _hear(self) -> None:
        told, self._told = self._told, []
        for _, _, heard in told:
            if heard is not None:
                heard()

    def end(self, now: int) -> None:
        """In order. Where the store does not take it, as much is lost as by a kill."""
        if self._desk is None or not self._desk.scheduler.state.unkept:
            return
        try:
            self._write(self._desk.last_words(now), now)
        except (*TROUBLES, StoreError) as error:
            log.warning("what hosts did in the last minute is not stored: %s", error)

    def drop(self) -> None:
        """With all it had decided; what of it is committed stands in the tables."""
        self._desk = None

    def recover(self) -> None:
        """May wait long for a database that is away: for a thread of its own."""
        try:
            self._store.recover()
        except TROUBLES as error:
            raise CannotCommit(str(error)) from error

    def _made(self) -> Desk:
        """Reads all tables, for which a database may take its time."""
        self._store.link.hurry(False)
        try:
            return self._make()
        finally:
            self._store.link.hurry(True)

    def rise(self) -> None:
        """After `recover`."""
        try:
            desk = self._made()
        except TROUBLES as error:
            raise CannotCommit(str(error)) from error
        for event, new, _ in self._told:
            if new is None or not new.is_in(desk.scheduler.state):  # committed, but unheard
                desk.tell(event, new)
        self._desk = desk
