"""The watchman of a world, and his messenger, from its begin to its end."""

from __future__ import annotations

import asyncio
import logging

from msgspec.structs import replace

from tailrace.server.records import reading
from tailrace.server.telling.messenger import Messenger
from tailrace.server.telling.notices import Notice, Watchman
from tailrace.server.telling.outbox import Outbox
from tailrace.server.world import World

log = logging.getLogger("tailrace.server")
LOOK_S = 1.0


class Notifying:
    def __init__(self, world: World, targets: tuple[str, ...]) -> None:
        self._world = world
        self._targets = tuple(dict.fromkeys(targets))
        self._watchman = Watchman()
        self._outbox = Outbox(world.store, self._targets)
        self._loop = asyncio.get_running_loop()
        self._messenger = Messenger(self._targets, self._from_thread)
        self._unkept: list[tuple[Notice, str]] = []
        self._done: list[int] = []  # and still in the store
        self._taken_up = False
        self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            self._try_to_look()
            await asyncio.sleep(LOOK_S)

    def _try_to_look(self) -> None:
        """A store that cannot be used just now can be later."""
        try:
            self._look()
        except Exception as error:
            log.warning("notify: %s; tried again", error)

    def _look(self) -> None:
        world = self._world
        if world.available:
            self._take_up()
            for notice in self._watchman.look(world.state, world.clock.now()):
                self._unkept += [(notice, target) for target in self._targets]
        while self._unkept:
            notice, target = self._unkept[0]
            owner = reading.owner(world.store.link, notice.bag) or ""
            kept = self._outbox.keep(replace(notice, owner=owner), target, world.clock.now())
            self._messenger.tell(kept)
            del self._unkept[0]
        while self._done:
            self._outbox.drop(self._done[0])
            del self._done[0]

    def _take_up(self) -> None:
        """What an earlier server could not tell."""
        if not self._taken_up:
            now = self._world.clock.now()
            for kept in self._outbox.left(now):
                self._messenger.tell(kept, now - kept.made_us)
            self._taken_up = True

    def _from_thread(self, number: int) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._told, number)

    def _told(self, number: int) -> None:
        """Gone from the store at once: who kills us now does not have it told twice."""
        self._done.append(number)
        self._try_to_look()

    async def end(self) -> None:
        """While the tables can still be written: until all is told, has failed to be, or has taken
        too long. What is left stays in the store."""
        self._watching.cancel()
        self._try_to_look()
        await asyncio.to_thread(self._messenger.close)
        await asyncio.sleep(0)
