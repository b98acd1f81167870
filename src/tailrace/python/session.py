"""A server for calls: inside this process, on a thread of its own, with workers of this machine.

`Session` is all that the rest of this room knows of it, so that a server elsewhere can take its
place (see `elsewhere`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from tailrace.cli.place import for_run
from tailrace.cli.servers.reached import named, of, unless_near
from tailrace.errors import ServerError
from tailrace.python.answers import Answers
from tailrace.python.parcels import CallBag
from tailrace.scheduler.events import BagChanged, Change
from tailrace.server.pools.local_pool import Capacity
from tailrace.server.records import reading
from tailrace.server.resident import Resident
from tailrace.server.tables.store import Store
from tailrace.server.web.answering import read_phase, read_settled
from tailrace.server.world import Parts

GLANCE_S = 1.0

log = logging.getLogger("tailrace.python")


class Session(Protocol):
    def submit(self, bag: CallBag, answers: Answers, taken: Callable[[int], None]) -> None:
        """`taken` is told the bag's number once it is stored, or 0 when it cannot be and `answers`
        have ended; on the session's thread."""

    @property
    def alive(self) -> bool: ...

    def cancel(self, bag: int) -> None: ...

    def close(self) -> None: ...


class Here:
    """The server is a thread of this process. Without a folder of its own its store is temporary:
    nobody could resume it, so that it is not forced to the disk and keeps no journal."""

    def __init__(self, workers: float | None, folder: Path | None) -> None:
        self._temporary = folder is None
        self._folder = Path(tempfile.mkdtemp(prefix="tailrace-")) if folder is None else folder
        self._capacity = Capacity(cores=workers)
        self._open: dict[int, Answers] = {}
        self._coming: dict[int, Answers] = {}  # by identity: not yet stored
        self._taking: dict[asyncio.Task[int], None] = {}
        self._seen = 0  # of the feed
        self._failures: list[BaseException] = []
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tailrace", daemon=True)
        self._owner = os.getpid()
        self._thread.start()
        self._ready.wait()
        for failure in self._failures:
            raise failure

    # ---- from any thread ----------------------------------------------------------------------

    def submit(self, bag: CallBag, answers: Answers, taken: Callable[[int], None]) -> None:
        self._coming[id(answers)] = answers
        try:
            if bag.spec.catalogue is None:
                self._soon(partial(self._submit, bag, answers, taken))
            else:
                self._look()
                giver = self._server_here.put(bag.take_blobs())
                self._soon(partial(self._begin_with, bag, giver, answers, taken))
        except BaseException:
            self._coming.pop(id(answers), None)
            raise

    @property
    def alive(self) -> bool:
        return self._thread.is_alive() and os.getpid() == self._owner

    def cancel(self, bag: int) -> None:
        with suppress(RuntimeError, ServerError):  # its end has come: nothing runs any more
            self._soon(partial(self._cancel, bag))

    def close(self) -> None:
        if os.getpid() != self._owner:
            return  # a child made by fork has neither the thread nor the workers
        if self._thread.is_alive():
            self._soon(self._end.set)
            self._thread.join()

    def _soon(self, act: Callable[[], None]) -> None:
        self._look()
        self._loop.call_soon_threadsafe(act)

    def _look(self) -> None:
        """Whether there is a server."""
        if os.getpid() != self._owner:
            remedy = "Make one of its own in the child, or start children by spawn."
            raise ServerError("this Executor belongs to the parent process", remedy=remedy)
        for failure in self._failures:
            raise ServerError(f"the server of these calls has failed: {failure}")

    # ---- on its own thread --------------------------------------------------------------------

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._failures.append(error)
        finally:
            self._ready.set()
            for answers in [*self._open.values(), *self._coming.values()]:
                answers.end(str(next(iter(self._failures), "the Executor was shut down")))
            if self._temporary:
                shutil.rmtree(self._folder, ignore_errors=True)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        async with self._server() as self._server_here:
            self._seen = reading.newest_of_all(self._server_here.world.store.link)
            self._ready.set()
            telling = asyncio.create_task(self._tell())
            ends = asyncio.create_task(self._end.wait())
            fatal = self._server_here.world.fatal
            first: list[asyncio.Future[Any]] = [telling, ends, fatal]
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            for each in first:
                if each.done():
                    each.result()
                elif each is not fatal:
                    each.cancel()
            if self._temporary:
                self._server_here.kill()

    def _server(self) -> Resident:
        store = partial(Store, synchronous="OFF") if self._temporary else Store
        journal, parts = not self._temporary, Parts(store=store)
        server = Resident(self._folder, self._capacity, journal=journal, parts=parts)
        server.world.blobs.durable = not self._temporary
        return server

    def _begin_with(
        self, bag: CallBag, giver: str, answers: Answers, taken: Callable[[int], None]
    ) -> None:
        """Large arguments become the bag's, which takes a disk some time."""
        taking = self._loop.create_task(self._server_here.take_over(bag, giver))
        self._taking[taking] = None
        taking.add_done_callback(partial(self._taken_over, bag, answers, taken))

    def _taken_over(
        self,
        bag: CallBag,
        answers: Answers,
        taken: Callable[[int], None],
        done: asyncio.Task[int],
    ) -> None:
        del self._taking[done]
        self._submit(bag, answers, taken, done.result)

    def _submit(
        self,
        bag: CallBag,
        answers: Answers,
        taken: Callable[[int], None],
        number_of: Callable[[], int] | None = None,
    ) -> None:
        self._coming.pop(id(answers), None)
        try:
            given = None if number_of is None else number_of()
            number, stored = self._server_here.add(bag, given)
        except (Exception, asyncio.CancelledError) as error:
            answers.end(str(error) or "the Executor was shut down")
            taken(0)
            return
        self._open[number] = answers
        stored.add_done_callback(partial(self._heard, number, answers, taken))

    def _heard(
        self,
        number: int,
        answers: Answers,
        taken: Callable[[int], None],
        told: asyncio.Future[None],
    ) -> None:
        failure = None if told.cancelled() else told.exception()
        if failure is None and not told.cancelled():
            taken(number)
            return
        self._open.pop(number, None)
        answers.end(str(failure or "the Executor was shut down"))
        taken(0)

    def _cancel(self, bag: int) -> None:
        if bag in self._open:
            self._server_here.world.tell(
                BagChanged(bag, Change.CANCEL, why="its caller gave it up")
            )

    async def _tell(self) -> None:
        world = self._server_here.world
        while True:
            await world.news(GLANCE_S)
            news = self._news()
            for number, kind, body in news:
                if kind == "settled":
                    self._pass_on(number, body)
            for number, kind, body in news:  # a commit may tell of a bag's end before its last task
                if kind == "phase":
                    self._close_if_over(number, body)

    def _news(self) -> list[tuple[int, str, bytes]]:
        items = reading.feed_of_all(self._server_here.world.store.link, self._seen)
        if items:
            self._seen = items[-1][0]
        return [(bag, kind, body) for _, bag, kind, body in items]

    def _pass_on(self, number: int, body: bytes) -> None:
        answers = self._open.get(number)
        if answers is not None:
            indices = [index for index, _ in read_settled(body).tasks]
            answers.put(reading.reports(self._server_here.world.store.link, number, indices))
            if answers.complete:
                del self._open[number]

    def _close_if_over(self, number: int, body: bytes) -> None:
        over = read_phase(body).over
        answers = self._open.pop(number, None) if over else None
        if answers is not None:
            answers.end(over)


def open_session(workers: float | None, folder: str | Path | None, server: str | None) -> Session:
    """At the server that is named here or by TAILRACE_SERVER, or of the login, as commands find it;
    else inside this process. Who says how many workers, or where to keep runs, wants them here."""
    owner = named(None) if server is None else of(server, "server")
    if owner is None and workers is None and folder is None:
        owner = unless_near()
    if owner is not None:
        from tailrace.python.elsewhere import Elsewhere

        return Elsewhere(owner)
    if folder is None:
        return Here(workers, None)
    place = for_run(Path(folder))
    place.mkdir(parents=True, exist_ok=True)
    return Here(workers, place)
