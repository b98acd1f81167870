"""A server from its start to the signal that ends it."""

from __future__ import annotations

import asyncio
import logging
import signal

from tailrace.cli.hints import hint
from tailrace.errors import Exit
from tailrace.server.local_pool import LocalPool
from tailrace.server.serving import Serving

log = logging.getLogger("tailrace.serve")
LOOK_S = 0.5


class Service:
    def __init__(self, server: Serving, *, until_idle: bool) -> None:
        self._server = server
        self._until_idle = until_idle
        self._signals = 0
        self._told = asyncio.Event()

    async def __call__(self) -> None:
        async with self._server as server:
            self._catch_signals()
            log.info("serving %s at %s", server.world.folder, server.elsewhere.url)
            while not self._told.is_set() and not self._idle():
                if server.world.fatal.done():
                    server.world.fatal.result()
                await self._wait()
            log.info("ending; machines that have joined go on, and call again")
        log.info("ended")

    async def _wait(self) -> None:
        try:
            await asyncio.wait_for(self._told.wait(), LOOK_S)
        except TimeoutError:
            return

    def _idle(self) -> bool:
        """Not before something was handed in."""
        world = self._server.world
        if not self._until_idle or not world.at_rest():
            return False
        bags = world.state.bags.values()
        return bool(bags) and not any(bag.runs for bag in bags)

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._end)
        loop.add_signal_handler(signal.SIGHUP, lambda: None)  # it outlives its terminal

    def _end(self) -> None:
        self._signals += 1
        self._told.set()
        if self._signals > 1:
            self._server.kill()


def serve(server: Serving, pools: tuple[LocalPool, ...], *, until_idle: bool) -> int:
    folder = server.world.folder
    if not pools:
        join = hint("tokens add NAME --pool", folder)
        log.info("no machine runs tasks here until one joins (`%s` says how), or --local", join)

    async def run() -> None:
        await Service(server, until_idle=until_idle)()

    asyncio.run(run())
    return int(Exit.OK)
