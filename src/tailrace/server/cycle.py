"""One desk after another over one store: what is told, committed, and begun again.

A turn is: all that waits goes through the desk, one commit, then what may leave. If the commit
fails, the desk is gone in the same moment, with all it had decided: nobody can look at what was
never committed. `rise` makes the next desk from the tables and tells it again what was told.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from tailrace.scheduler.events import AnyEvent
from tailrace.server.batch import Batch, NewBag
from tailrace.server.desk import Desk, Released
from tailrace.server.store import Store

Heard = Callable[[], None]


class CannotCommit(Exception):
    """Not now: the disk is full, or the file is locked. It may go later."""


class Fallen(Exception):
    """There is no desk: the last commit failed, and the next has not been tried yet."""


class Cycle:
    def __init__(self, store: Store, make: Callable[[], Desk]) -> None:
        self._store = store
        self._make = make
        self._desk: Desk | None = make()
        self._told: list[tuple[AnyEvent, NewBag | None, Heard | None]] = []

    @property
    def desk(self) -> Desk:
        if self._desk is None:
            raise Fallen
        return self._desk

    @property
    def fallen(self) -> bool:
        return self._desk is None

    def tell(self, event: AnyEvent, new: NewBag | None = None, heard: Heard | None = None) -> None:
        """Kept until it is committed: who tells it does not tell it again, as a worker would."""
        self._told.append((event, new, heard))
        if self._desk is not None:
            self._desk.tell(event, new)

    def turn(self, now: int) -> tuple[Batch, Released]:
        desk, told = self.desk, self._told
        batch = desk.work(now)
        try:
            if batch:
                self._store.commit(batch)
        except sqlite3.OperationalError as error:
            self._desk = None
            raise CannotCommit(str(error)) from error
        self._told = []
        for _, _, heard in told:
            if heard is not None:
                heard()
        return batch, desk.release(now)

    def rise(self) -> None:
        try:
            desk = self._make()
        except sqlite3.OperationalError as error:
            raise CannotCommit(str(error)) from error
        for event, new, _ in self._told:
            if new is None or new.bag not in desk.scheduler.state.bags:  # committed, but unheard
                desk.tell(event, new)
        self._desk = desk
