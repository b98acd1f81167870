"""Drive an embedded server until its bag rests: the view, the signals, the end."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

import msgspec

from tailrace.cli.here import halfway, pools
from tailrace.cli.here.live import View, failures, noted
from tailrace.cli.here.progress import Progress
from tailrace.cli.here.terminals import STDERR, Terminals, hush
from tailrace.cli.screen import plain
from tailrace.errors import Exit, StoreError
from tailrace.report.words import count
from tailrace.scheduler.rows import BagPhase
from tailrace.server.embedded import Embedded
from tailrace.server.records import reading
from tailrace.server.records.poolwork import pool_work
from tailrace.server.records.reading import BagFacts
from tailrace.server.tables.link import TROUBLES, Link
from tailrace.server.tally import failure
from tailrace.server.web.apart import apart

REFRESH_S = 0.2
Found = TypeVar("Found")
CODES = {
    BagPhase.BRAKED: Exit.BRAKE,
    BagPhase.STOPPED: Exit.BUDGET,
    BagPhase.PAUSED: Exit.INTERRUPTED,
    BagPhase.CANCELLED: Exit.SOME_FAILED,
}


class Ended(msgspec.Struct, frozen=True):
    facts: BagFacts
    code: Exit
    unpublished: list[str]
    took_s: float
    remarks: list[str]  # on tasks that failed, or whose value had to be changed
    alone: bool  # the only bag of its folder, so that it need not be named
    deadline_us: int | None  # from its submission on
    stopped: list[BagFacts]  # other bags that ran here and were interrupted with it
    hurried: bool  # interrupted when all was done: nothing more is waited for


class Running:
    """One `run` or `resume`, from its start to its rest."""

    def __init__(
        self, server: Embedded, view: View, say: Callable[[str], None], terminals: Terminals
    ) -> None:
        self._server = server
        self._view = view
        self._say = say
        self._terminals = terminals
        self._interrupts = 0
        self._rests = self._hurried = False
        self._bag = 0
        self._remarks: list[str] = []
        self._stopped: list[int] = []
        self._waits_for: list[int] = []

    async def __call__(self, begin: Callable[[Embedded], int]) -> Ended:
        began = time.monotonic()
        async with self._server as server:
            self._bag = begin(server)
            self._catch_signals()
            watcher = asyncio.create_task(self._watch())
            try:
                await server.rest(self._bag)
                self._rests = True
            finally:
                watcher.cancel()
                await asyncio.wait([watcher])  # a fault of the view decides nothing
            facts = await self._read(lambda link: reading.bag(link, self._bag))
            unpublished = server.world.porter.in_the_way()
            row = await self._read(lambda link: reading.bag_row(link, self._bag))
            alone = await self._read(lambda _: server.world.store.next_bag() == 2)
            stopped = await self._read(lambda link: [reading.bag(link, n) for n in self._stopped])
        code = self._code(facts, unpublished)
        took_s = time.monotonic() - began
        deadline = row.terms.deadline_us
        return Ended(
            facts, code, unpublished, took_s, self._remarks, alone, deadline, stopped,
            self._hurried,
        )  # fmt: skip

    def _code(self, facts: BagFacts, unpublished: list[str]) -> Exit:
        if self._interrupts:
            return Exit.INTERRUPTED
        if unpublished:
            return Exit.SERVER
        if facts.phase == BagPhase.FINISHED:
            return Exit.SOME_FAILED if facts.failed else Exit.OK
        return CODES.get(BagPhase(facts.phase), Exit.INTERRUPTED)

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        loop.add_signal_handler(signal.SIGTERM, self._interrupt)

    def _interrupt(self) -> None:
        if self._rests and not self._interrupts:
            self._hurry()
            return
        self._interrupts += 1
        if self._interrupts == 1:
            self._say("stopping: running tasks are ended and kept for later; again to stop at once")
            self._stopped = self._server.interrupt(self._bag)
        else:
            self._server.kill()

    def _hurry(self) -> None:
        """There is nothing to stop any more, and the bag's end is what it is."""
        if self._hurried:
            self._server.kill()
        self._hurried = True

    async def _watch(self) -> None:
        world = self._server.world
        await self._first_commit()
        bag = self._bag
        newest = await self._read(lambda link: reading.newest(link, bag))  # told before it resumed
        facts = await self._read(lambda link: reading.bag(link, bag))
        progress = Progress(facts.name, facts.count, facts.done, facts.failed, world.clock.now())
        progress.after = newest
        for index, outcome, told in await self._read(lambda link: list(reading.failed(link, bag))):
            progress.failure(index, *failure(outcome, told))
        row = await self._read(lambda link: reading.bag_row(link, bag))
        if row.terms.deadline_us is not None:
            progress.deadline_at_us = row.submitted_us + row.terms.deadline_us
        machines = asyncio.create_task(self._look_at_pools(progress))
        self._view.begin()
        try:
            while True:
                self._update(progress)
                await asyncio.sleep(REFRESH_S)
        finally:
            machines.cancel()
            self._update(progress)
            self._view.end()

    async def _look_at_pools(self, progress: Progress) -> None:
        """Beside the server, which goes on meanwhile."""
        world, pause_s = self._server.world, pools.FIRST_S
        while self._view.shows:
            await asyncio.sleep(pause_s)
            began, present = time.monotonic(), world.present()
            with suppress(StoreError, *TROUBLES):
                progress.pools = await apart(world.folder, partial(pool_work, present=present))
            pause_s = pools.pause_s(time.monotonic() - began)

    async def _first_commit(self) -> None:
        while not await self._read(lambda link: reading.has_bag(link, self._bag)):
            await self._server.world.news(REFRESH_S)

    async def _read(self, look: Callable[[Link], Found]) -> Found:
        """A database may be away for a moment; the world gives it up when it stays away."""
        while True:
            try:
                return look(self._server.world.store.link)
            except TROUBLES:
                if self._server.world.fatal.done():
                    raise
                await asyncio.sleep(REFRESH_S)

    def _update(self, progress: Progress) -> None:
        self._read_feed(progress)
        progress.trouble = self._server.world.trouble
        progress.halfway = self._server.world.halfway(self._bag, halfway.MOST)
        self._remarks = [*failures(progress), *noted(progress)]
        with suppress(*TROUBLES):
            self._tell_what_it_waits_for()
        try:
            self._view.update(progress, self._server.world.clock.now())
        except OSError:  # the terminal went away without a word, or the disk of the log is full
            self._terminals.let_go()
            hush(STDERR)

    def _read_feed(self, progress: Progress) -> None:
        link = self._server.world.store.link
        with suppress(*TROUBLES):  # the world will say what it is, if it lasts
            for item in reading.feed(link, self._bag, progress.after):
                progress.take(item)

    def _tell_what_it_waits_for(self) -> None:
        """Once for each bag; after an interrupt they are about to end."""
        if self._interrupts:
            return
        for bag in self._server.waits_for(self._bag):
            if bag not in self._waits_for:
                self._waits_for.append(bag)
                facts = reading.bag(self._server.world.store.link, bag)
                left = count(facts.count - facts.done, "task")
                self._say(f"waiting for bag {bag}: {plain(facts.name)}, {left} left; Ctrl-C stops")


def run_to_rest(
    server: Embedded,
    view: View,
    say: Callable[[str], None],
    begin: Callable[[Embedded], int],
    tell: Callable[[Ended], None],
) -> Ended:
    """Signals stay caught until all is told: what they cut off then would be lost for nothing."""
    terminals = Terminals()
    terminals.catch_hangup()
    with asyncio.Runner() as runner:
        ended = runner.run(Running(server, view, say, terminals)(begin))
        tell(ended)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # while Python ends, they could only change the code
    return ended
