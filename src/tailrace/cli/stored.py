"""The store that commands read: the nearest one, and whether a server runs on it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.cli import place
from tailrace.cli.servers.asking import Asked
from tailrace.cli.servers.changing import add, change, set_policy
from tailrace.errors import BadInput, ServerError
from tailrace.scheduler.events import Change
from tailrace.server.records import reading
from tailrace.server.records.reader import About, Details, HostTold, StoreReader
from tailrace.server.records.reading import FeedItem
from tailrace.server.tables import lock
from tailrace.server.tables.link import Link, Trouble
from tailrace.server.tables.lock import Owner

if TYPE_CHECKING:
    from tailrace.bag.additions import Addition
    from tailrace.server.enlarging import Enlarged
    from tailrace.server.policysetting import PolicyChange, PolicyTold, PolicyTrial


class Stored(StoreReader):
    """A reader of the tables; what only a scheduler knows it asks of the server, if one runs."""

    def __init__(self, folder: Path, link: Link, owner: Owner | None) -> None:
        super().__init__(link, None)
        self.folder = folder
        self.owner = owner  # who runs on it now

    @property
    def server(self) -> About | None:
        return None if self.owner is None else About(self.owner.address, self.owner.pid)

    @property
    def now_us(self) -> int | None:
        return time.time_ns() // 1000 if self.owner else None

    def again(self) -> Stored:
        """As it stands now."""
        return Stored(self.folder, self.link, lock.alive(self.folder))

    def details(self, number: int) -> Details:
        """What is in the way of outputs only the server knows that moves them."""
        told = super().details(number)
        if not told.unpublished or self.owner is None:
            return told
        with suppress(ServerError):  # it may end just now
            return Asked(self.owner).details(number)
        return told

    def hosts(self, of: str | None = None) -> list[HostTold]:
        """Which of them are there now only the server knows."""
        if self.owner is not None:
            with suppress(ServerError):
                return Asked(self.owner).hosts()
        return super().hosts(of)

    def explain(self, subject: str) -> list[str]:
        if self.owner is not None:
            return Asked(self.owner).explain(subject)
        from tailrace.scheduler.brain import Scheduler
        from tailrace.server.clock import Clock
        from tailrace.server.tables.restored import restored

        now = Clock().now()
        scheduler = Scheduler()
        scheduler.restore(restored(self.link), now)
        return scheduler.explain(subject, now)

    def events(self, number: int, after: int, wait_s: float) -> list[FeedItem]:
        if self.owner is not None:
            return Asked(self.owner).events(number, after, wait_s)
        return reading.feed(self.link, number, after)

    def change(self, number: int, what: Change, tasks: tuple[int, ...] = (), why: str = "") -> bool:
        return change(self.folder, number, what, tasks, why)

    def add(self, number: int, asked: Addition) -> tuple[Enlarged, bool]:
        return add(self.folder, number, asked)

    def try_policy(self, number: int) -> PolicyTrial:
        if self.owner is not None:
            return Asked(self.owner).try_policy(number)
        raise BadInput(
            "no server runs here now, so that no host is there to be tried",
            remedy=f"`tailrace resume {number}` goes on with the bag.",
        )

    def set_policy(self, number: int, asked: PolicyChange) -> tuple[PolicyTold, bool]:
        return set_policy(self.folder, number, asked)


@contextmanager
def stored(run: Path | None = None) -> Iterator[Stored]:
    """The nearest, or that of the folder that was named. Whatever is wrong with the file is told in
    one sentence."""
    folder = place.nearest() if run is None else place.of(run)
    link = reading.open_store(folder)
    try:
        yield Stored(folder, link, lock.alive(folder))
    except (*reading.UNREADABLE, Trouble) as error:
        raise reading.damaged(folder, error) from error
    finally:
        link.close()
