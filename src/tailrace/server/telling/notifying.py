"""The watchman of a world, and his messenger, from its begin to its end."""

from __future__ import annotations

import asyncio
import logging

from msgspec.structs import replace

from tailrace.server.records import reading
from tailrace.server.telling.messenger import Messenger
from tailrace.server.telling.notices import Notice, Watchman
from tailrace.server.world import World

log = logging.getLogger("tailrace.server")
LOOK_S = 1.0


class Notifying:
    def __init__(self, world: World, targets: tuple[str, ...]) -> None:
        self._world = world
        self._watchman = Watchman()
        self._messenger = Messenger(targets)
        self._untold: list[Notice] = []
        self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            self._try_to_look()
            await asyncio.sleep(LOOK_S)

    def _try_to_look(self) -> None:
        """A store that cannot be read just now can be later."""
        try:
            self._look()
        except Exception as error:
            log.warning("notify: %s; tried again", error)

    def _look(self) -> None:
        world = self._world
        if world.available:
            self._untold += self._watchman.look(world.state, world.clock.now())
        while self._untold:
            owner = reading.owner(world.store.link, self._untold[0].bag) or ""
            self._messenger.tell(replace(self._untold.pop(0), owner=owner))

    def last_look(self) -> None:
        """While the tables can still be read."""
        self._watching.cancel()
        self._try_to_look()

    async def end(self) -> None:
        """Until all is told, has failed to be, or has taken too long."""
        await asyncio.to_thread(self._messenger.close)
