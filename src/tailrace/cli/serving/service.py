"""A server from its start to the signal that ends it."""

from __future__ import annotations

import asyncio
import logging
import signal

from tailrace.cli.hints import hint
from tailrace.errors import Exit
from tailrace.server.pools.command_pool import AnyPool
from tailrace.server.serving import Serving
from tailrace.server.web.porch import FILES
from tailrace.worker import openfiles

log = logging.getLogger("tailrace.serve")
LOOK_S = 0.5
FIRST_S = 60.0  # so long it waits for a first bag


class Service:
    def __init__(self, server: Serving, *, until_idle: bool) -> None:
        self._server = server
        self._until_idle = until_idle
        self._signals = 0
        self._told = asyncio.Event()
        self._worked = False

    async def __call__(self) -> None:
        self._catch_signals()  # before its address is known to anybody who might end it
        async with self._server as server:
            self._began = server.world.loop.time()
            self._before = len(server.world.state.bags)
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
        """Who starts it to hand in a bag is given the time to do so."""
        world = self._server.world
        if not self._until_idle or not world.available:
            return False
        runs = any(bag.runs for bag in world.state.bags.values())
        self._worked = self._worked or runs or len(world.state.bags) > self._before
        waited = world.loop.time() - self._began > FIRST_S
        return not runs and world.at_rest() and (self._worked or waited)

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._end)
        # It outlives its terminal; who means it by this signal has renewed something.
        loop.add_signal_handler(signal.SIGHUP, self._server.look_at_certificate)

    def _end(self) -> None:
        self._signals += 1
        self._told.set()
        if self._signals > 1:
            self._server.kill()


def serve(server: Serving, pools: tuple[AnyPool, ...], *, until_idle: bool) -> int:
    folder = server.world.folder
    if not pools:
        join = hint("tokens add NAME --pool", folder)
        log.info("no machine runs tasks here until one joins (`%s` says how), or --local", join)

    openfiles.allow(FILES)  # each machine that has joined, and each user, holds a connection

    async def run() -> None:
        await Service(server, until_idle=until_idle)()

    asyncio.run(run())
    return int(Exit.OK)
