"""Bags past their time go in the background, a little at a time: no call waits for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailrace.quantities import show_duration
from tailrace.scheduler import forgetting
from tailrace.scheduler.events import BagForgotten, HostForgotten
from tailrace.server.cycle import Fallen
from tailrace.server.files.blobs import of_bag
from tailrace.server.files.retention import Going, Retention, past
from tailrace.server.records import reading
from tailrace.server.tables import aged
from tailrace.server.tables.link import TROUBLES
from tailrace.server.world import Unavailable, World

log = logging.getLogger("tailrace.server")

EVERY_S = 3600.0
SLICE = 1000  # rows at once
PAUSE_S = 0.05  # between two slices


class Sweeper:
    def __init__(self, world: World, retention: Retention) -> None:
        self._world = world
        self.retention = retention
        self._sweeping = asyncio.Lock()
        # Who holds it finds all bags there, and their blobs, until he lets go.
        self.forgetting = asyncio.Lock()
        self._coming: dict[int, None] = {}
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def sparing(self, bag: int) -> Iterator[None]:
        """A bag whose results are laid down, and that is not there yet."""
        self._coming[bag] = None
        try:
            yield
        finally:
            del self._coming[bag]

    def begin(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            try:
                await self.sweep()
                await self.trim()
                await self.forget_hosts()
            except (Fallen, Unavailable, *TROUBLES) as error:
                log.warning("bags past their time stay for now: %s", error)
            await asyncio.sleep(EVERY_S)

    async def sweep(self) -> list[Going]:
        """Those that went."""
        async with self._sweeping:
            async with self.forgetting:
                gone = [one for one in self.past() if await self._forget(one)]
            await self._clear()
            return gone

    def past(self) -> list[Going]:
        return past(self._world.store.link, self.retention, self._world.clock.now())

    def going(self) -> list[Going]:
        """Those that a sweep would remove now."""
        state, now = self._world.state, self._world.clock.now()
        return [one for one in self.past() if forgetting.goes(state, one.bag, now)]

    async def _forget(self, one: Going) -> bool:
        """From this commit on nobody sees it; the scheduler has the last word."""
        await self._world.tell(BagForgotten(one.bag))
        if one.bag in self._world.state.bags:
            return False
        ago = show_duration(self._world.clock.now() - one.ended_us)
        log.info(
            "bag %d (%s, %d tasks) removed: it ended %s ago", one.bag, one.name, one.count, ago
        )
        return True

    async def _clear(self) -> None:
        """Also what an earlier server left undone, and secrets of bags that are in no table."""
        store = self._world.store
        gone = [bag for bag in store.leaving() if bag not in self._coming]
        for bag in gone:
            await asyncio.to_thread(self._world.blobs.drop, of_bag(bag))
            await asyncio.to_thread(self._world.sealed.drop, bag)
            while store.clear(bag, SLICE):
                await asyncio.sleep(PAUSE_S)
        there = {*self._coming, *(number for number, _ in reading.owned(store.link))}
        if count := await asyncio.to_thread(self._world.sealed.drop_strays, there):
            log.info("%d files of secrets removed: their bags are gone", count)

    async def trim(self, *, dry: bool = False) -> int:
        """The journal: how many pages went, or would go, that no bag needs which is left."""
        if (keep_us := self.retention.keep_us) is None:
            return 0
        until_us, store = self._world.clock.now() - keep_us, self._world.store
        first, count = await asyncio.to_thread(_needless, self._world.folder, until_us)
        if dry or not count:
            return count
        while aged.drop_pages(store, first, SLICE):
            await asyncio.sleep(PAUSE_S)
        log.info("%d pages of the journal removed: no bag that is left needs them", count)
        return count

    async def forget_hosts(self) -> int:
        """That are silent for as long as bags are kept, and have no part in one that is left. Those
        with a lease of late, the scheduler keeps until the next time."""
        if (keep_us := self.retention.keep_us) is None:
            return 0
        since_us, before = self._world.clock.now() - keep_us, len(self._world.state.hosts)
        for host in await asyncio.to_thread(_silent, self._world.folder, since_us):
            await self._world.tell(HostForgotten(host))
        count = before - len(self._world.state.hosts)
        if count > 0:
            log.info("%d hosts forgotten: silent, and in no bag that is left", count)
        return count

    async def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])


def _silent(folder: Path, since_us: int) -> list[str]:
    link = reading.open_store(folder)
    try:
        return aged.silent_hosts(link, since_us)
    finally:
        link.close()


def _needless(folder: Path, until_us: int) -> tuple[int, int]:
    """The first page that stays, and how many are before it; on a thread, so with its own link."""
    link = reading.open_store(folder)
    try:
        first = aged.first_page(link, until_us)
        return first, aged.pages_before(link, first)
    finally:
        link.close()
