"""The watchman of a world, and his messenger, from its begin to its end."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace

from tailrace.server import reading
from tailrace.server.messenger import Messenger
from tailrace.server.notices import Watchman
from tailrace.server.world import World

LOOK_S = 1.0


class Notifying:
    def __init__(self, world: World, targets: tuple[str, ...]) -> None:
        self._world = world
        self._watchman = Watchman()
        self._messenger = Messenger(targets, ThreadPoolExecutor(1, "notify"))
        self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            self._look()
            await asyncio.sleep(LOOK_S)

    def _look(self) -> None:
        world = self._world
        if world.available:
            for notice in self._watchman.look(world.state, world.clock.now()):
                owner = reading.owner(world.store.link, notice.bag) or ""
                self._messenger.tell(replace(notice, owner=owner))

    def last_look(self) -> None:
        """While the tables can still be read."""
        self._watching.cancel()
        self._look()

    async def end(self) -> None:
        """Until all is told, or has failed to be."""
        await asyncio.to_thread(self._messenger.close)
