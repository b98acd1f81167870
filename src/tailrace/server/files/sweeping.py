"""Bags past their time go in the background, a little at a time: no call waits for it."""

from __future__ import annotations

import asyncio
import logging

from tailrace.quantities import show_duration
from tailrace.scheduler.events import BagForgotten
from tailrace.server.cycle import Fallen
from tailrace.server.files.blobs import of_bag
from tailrace.server.files.retention import Going, Retention, past
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
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            try:
                await self.sweep()
            except (Fallen, Unavailable, *TROUBLES) as error:
                log.warning("bags past their time stay for now: %s", error)
            await asyncio.sleep(EVERY_S)

    async def sweep(self) -> list[Going]:
        """Those that went."""
        async with self._sweeping:
            gone = [one for one in self.past() if await self._forget(one)]
            await self._clear()
            return gone

    def past(self) -> list[Going]:
        return past(self._world.store.link, self.retention, self._world.clock.now())

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
        """Also what an earlier server left undone."""
        store = self._world.store
        for bag in store.leaving():
            await asyncio.to_thread(self._world.blobs.drop, of_bag(bag))
            while store.clear(bag, SLICE):
                await asyncio.sleep(PAUSE_S)

    async def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
