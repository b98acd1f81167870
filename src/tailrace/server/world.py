"""The real world around the desk: one event loop, one store, the drivers, and the clock.

The cycle runs inside the loop: all that waits goes through the desk, one commit, then replies,
driver calls and publications leave. While a commit writes, the next calls gather in their sockets.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tailrace.drivers.driver import Driver
from tailrace.errors import StoreError
from tailrace.pools.terms import Pool
from tailrace.scheduler.decisions import Acquire, Release
from tailrace.scheduler.events import AnyEvent, LeaseChanged, LeaseState
from tailrace.scheduler.rows import LeaseRow
from tailrace.scheduler.state import State
from tailrace.server.batch import Batch, NewBag
from tailrace.server.clock import Clock
from tailrace.server.content import Contents
from tailrace.server.desk import Content, Desk, Released
from tailrace.server.gathering import Gathering
from tailrace.server.leasing import Act, reconcile
from tailrace.server.ledger import DriverCall
from tailrace.server.lock import Lock
from tailrace.server.protocol import WorkReply, WorkRequest, encode
from tailrace.server.publishing import CannotPublish, clear_scratch, decode_result, publish
from tailrace.server.store import Store

log = logging.getLogger("tailrace.server")

RECONCILE_S = 60.0
TRY_AGAIN_S = 1.0
GIVE_UP_S = 60.0


Answer = asyncio.Future[bytes]


class Unavailable(Exception):
    """The cycle could not commit: ask again."""


class World:
    def __init__(
        self, folder: Path, pools: tuple[Pool, ...], *, check: bool = False, journal: bool = True
    ) -> None:
        self.folder = folder
        self.lock = Lock(folder)
        self.store = Store(folder / "store.db")
        self.store.begin_epoch()
        self.clock = Clock()
        self.store.remember_pools(pools, self.clock.now())
        self.pools = pools
        self.drivers: dict[str, Driver] = {}
        self.contents = Contents(self.store, str(folder / "scratch"))
        self.trouble = ""  # why nothing can be committed just now
        self._check = check
        self._journal = journal
        self._content = Content(self.contents.task, self.contents.shared)
        self._desk = self._new_desk()
        self._tickets = 0
        self._waiting: dict[int, asyncio.Future[bytes | Answer]] = {}
        self._parked: dict[int, Answer] = {}
        self._closed = False
        self._told: list[tuple[AnyEvent, NewBag | None]] = []
        self._planned = False
        self._gathering = Gathering()
        self._soon: asyncio.TimerHandle | None = None  # the cycle, while it waits for callers
        self._alarm: asyncio.TimerHandle | None = None
        self._failing_since: float | None = None
        self._news = asyncio.Event()
        self._machine_room = ThreadPoolExecutor(1, "drivers")
        self._porter = ThreadPoolExecutor(1, "publishing")
        self._to_publish = 0
        self.unpublished: dict[int, str] = {}  # attempts whose outputs could not be moved, and why

    def _new_desk(self) -> Desk:
        now = self.clock.now()
        return Desk(
            self.store,
            self._content,
            self.pools,
            now,
            check=self._check,
            journal=self._journal,
        )

    # from the loop's side

    def begin(self) -> None:
        """Within the running loop, when the drivers are known."""
        self.loop = asyncio.get_running_loop()
        self.fatal: asyncio.Future[None] = self.loop.create_future()
        clear_scratch(self.folder / "scratch", self.store.of_no_use)
        for attempt in self.store.unpublished():
            self._publish(attempt)
        self._plan()
        self.loop.call_later(0, self._reconcile)

    @property
    def state(self) -> State:
        return self._desk.scheduler.state

    def explain(self, subject: str) -> list[str]:
        return self._desk.scheduler.explain(subject, self.clock.now())

    def tell(self, event: AnyEvent, new: NewBag | None = None) -> None:
        """Kept until it is committed: who tells it does not tell it again, as a worker would."""
        self._told.append((event, new))
        self._desk.tell(event, new)
        self._plan()

    async def call(self, request: WorkRequest, gone: Callable[[], asyncio.Future[None]]) -> bytes:
        """A worker's call, answered now or when there is news; `gone` ends with the connection."""
        if self.fatal.done() or self._failing_since is not None:
            raise Unavailable  # the desk is about to be thrown away
        self._tickets += 1
        ticket = self._tickets
        answer = self._waiting[ticket] = self.loop.create_future()
        self._gathering.called(request.host)
        self._desk.call(ticket, request, self.clock.now())
        self._plan()
        reply = await answer
        return reply if isinstance(reply, bytes) else await self._park(ticket, reply, gone())

    async def _park(self, ticket: int, answer: Answer, gone: asyncio.Future[None]) -> bytes:
        ends: list[asyncio.Future[Any]] = [answer, gone]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if answer.done():
            return answer.result()
        self._parked.pop(ticket, None)
        self._desk.hang_up(ticket)
        self._plan()
        raise Unavailable

    async def news(self, wait_s: float) -> None:
        """Until something has been committed, or the time is over."""
        try:
            await asyncio.wait_for(self._news.wait(), wait_s)
        except TimeoutError:
            return

    # the cycle

    def _plan(self) -> None:
        if not self._planned and self._failing_since is None:
            self._planned = True
            self._soon = self.loop.call_later(self._gathering.wait_s, self._cycle)
        elif self._soon is not None and self._gathering.complete:
            self._soon.cancel()
            self._soon = None
            self.loop.call_soon(self._cycle)

    def _cycle(self) -> None:
        self._planned, self._soon = False, None
        self._gathering.cycled()
        if self.fatal.done() or self._closed:
            return
        try:
            batch = self._desk.work(self.clock.now())
            if batch:
                self._commit(batch)
        except (sqlite3.Error, StoreError) as error:
            self._fall(error)
        except BaseException as error:  # a fault of our own: end loudly, the tables are whole
            self.fatal.set_exception(error)
            self.refuse_all()
        else:
            self._let_go(batch, self._desk.release(self.clock.now()))
            self._set_alarm()

    def _commit(self, batch: Batch) -> None:
        began = self.loop.time()
        self.store.commit(batch)
        self._gathering.committed(self.loop.time() - began)

    def _let_go(self, batch: Batch, released: Released) -> None:
        self.trouble, self._failing_since = "", None
        self._told.clear()
        for ticket, reply in released.replies:
            self._reply(ticket, reply)
        for ticket, answer in self._waiting.items():
            parked = self._parked[ticket] = self.loop.create_future()
            answer.set_result(parked)
        self._waiting.clear()
        for call in released.driver:
            self._machine_room.submit(self._drive, call, self._pool_of(call))
        for attempt in released.publish:
            self._publish(attempt)
        if batch.feed:
            self._news.set()
            self._news = asyncio.Event()

    def _reply(self, ticket: int, reply: WorkReply) -> None:
        waiting, parked = self._waiting.pop(ticket, None), self._parked.pop(ticket, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(encode(reply))
        if parked is not None and not parked.done():
            parked.set_result(encode(reply))

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        wait_us = self._desk.next_wakeup() - self.clock.now()
        if self._desk.busy():
            self._plan()
        self._alarm = self.loop.call_later(max(wait_us, 1000) / 1e6, self._plan)

    def _fall(self, error: Exception) -> None:
        """Nothing was committed: forget all of it, refuse the calls, restore from the tables."""
        self.trouble = f"the store cannot be written: {error}"
        log.error("%s", self.trouble)
        self.refuse_all()
        now = self.loop.time()
        self._failing_since = self._failing_since or now
        if now - self._failing_since > GIVE_UP_S:
            self.fatal.set_exception(StoreError(f"{self.store.path}: {self.trouble}"))
        else:
            self.loop.call_later(TRY_AGAIN_S, self._rise)

    def refuse_all(self) -> None:
        answers: list[asyncio.Future[Any]] = [*self._waiting.values(), *self._parked.values()]
        for answer in answers:
            if not answer.done():
                answer.set_exception(Unavailable())
        self._waiting.clear()
        self._parked.clear()

    def _rise(self) -> None:
        since = self._failing_since
        try:
            self._desk = self._new_desk()
        except (sqlite3.Error, StoreError) as error:
            self._fall(error)
            return
        for event, new in self._told:
            if new is None or new.bag not in self.state.bags:  # a commit may succeed unheard
                self._desk.tell(event, new)
        self._planned = True
        self._cycle()
        if self._failing_since is not None:
            self._failing_since = since
        else:
            self._reconcile_once()

    # machines

    def _pool_of(self, call: DriverCall) -> str:
        return self.state.leases[call.lease].pool

    def _drive(self, call: DriverCall, pool: str) -> None:
        """On the drivers' thread. What fails is told; what failed in silence, `list` shows."""
        driver = self.drivers.get(pool)
        try:
            if driver is not None and isinstance(call, Acquire):
                self._start(driver, call)
            elif driver is not None and isinstance(call, Release):
                driver.stop(call.lease)
        except Exception as error:
            log.error("driver of pool %s: %s", pool, error)

    def _start(self, driver: Driver, call: Acquire) -> None:
        """A start that failed may have worked all the same: gone it is only once it is stopped.
        If that fails too, the lease stays as it is until `list` tells."""
        try:
            driver.start(call.lease, call.ends_us)
        except Exception as error:
            driver.stop(call.lease)
            self._tell_lease(call.lease, LeaseState.GONE, str(error))
        else:
            self._tell_lease(call.lease, LeaseState.STARTING, "")

    def _tell_lease(self, lease: int, state: LeaseState, why: str) -> None:
        event = LeaseChanged(lease, state, why)
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.tell, event)

    def lease_gone(self, lease: int, why: str) -> None:
        """A driver saw a machine end; called from any thread."""
        self._tell_lease(lease, LeaseState.GONE, why)

    def _reconcile(self) -> None:
        self._reconcile_once()
        self.loop.call_later(RECONCILE_S, self._reconcile)

    def _reconcile_once(self) -> None:
        """The rows of now, compared on the drivers' thread: calls decided before are done by then,
        and none decided later has begun."""
        for pool in self.drivers:
            rows = [row for row in self.state.leases.values() if row.pool == pool]
            self._machine_room.submit(self._compare, pool, rows)

    def _compare(self, pool: str, rows: list[LeaseRow]) -> None:
        driver = self.drivers[pool]
        ends = {row.lease: row.ends_us for row in rows}
        for one in reconcile(rows, driver.list()):
            if one.act is Act.GONE:
                self._tell_lease(one.lease, LeaseState.GONE, "its machine is not there any more")
            elif one.act is Act.STOP:
                driver.stop(one.lease)
            else:
                self._drive(Acquire(one.lease, pool, 0, ends[one.lease]), pool)

    # outputs

    def _publish(self, attempt: int) -> None:
        bag, index, body = self.store.report(attempt)
        of = self.contents.bag(bag)
        self._to_publish += 1
        task, folder = of.task(index), Path(of.spec.folder)
        future = self.loop.run_in_executor(
            self._porter, publish, decode_result(body), task.outputs, folder
        )
        future.add_done_callback(lambda done: self._published(attempt, done))

    def _published(self, attempt: int, done: asyncio.Future[None]) -> None:
        self._to_publish -= 1
        error = done.exception()
        if error is None:
            self.unpublished.pop(attempt, None)
            self._desk.published(attempt)
            self._plan()
        else:
            self.unpublished[attempt] = str(error)
            log.error("%s", error)
            if not isinstance(error, CannotPublish):
                self.fatal.set_exception(error)

    # the end

    def at_rest(self) -> bool:
        """Nothing under way: no live attempt, no lease, no output on the move."""
        standing = any(row.state is not LeaseState.GONE for row in self.state.leases.values())
        return not (standing or self.state.attempts or self._to_publish or self._desk.busy())

    def stop_machines(self, *, now: bool = False) -> None:
        for driver in self.drivers.values():
            driver.close(now=now)

    def close(self) -> None:
        """Machines may end, and say so, after this: nobody listens any more."""
        self._closed = True
        self._machine_room.shutdown()
        self._porter.shutdown()
        self.store.close()
        self.lock.free()
