"""The real world around the desk: one event loop, one store, drivers, outputs, and the clock.

The cycle runs inside the loop: all that waits goes through the desk, one commit, then replies,
driver calls and publications leave. While a commit writes, the next calls gather in their sockets.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec

from tailrace.errors import StoreError
from tailrace.pools.terms import Pool
from tailrace.scheduler.events import AnyEvent, LeaseChanged, LeaseState
from tailrace.scheduler.progress import Halfway, halfway
from tailrace.scheduler.state import State
from tailrace.server.batch import Batch, New
from tailrace.server.catalogues import Catalogues
from tailrace.server.clock import Clock
from tailrace.server.content import Contents
from tailrace.server.cycle import CannotCommit, Cycle
from tailrace.server.desk import Desk, Released
from tailrace.server.files import arrivals
from tailrace.server.files.blobs import Blobs
from tailrace.server.files.porter import Places, Porter
from tailrace.server.files.room import Room
from tailrace.server.gathering import Gathering
from tailrace.server.orders import Content
from tailrace.server.people.sealed import Sealed
from tailrace.server.planner import Planner
from tailrace.server.pools.crew import HANDS
from tailrace.server.pools.machine_room import MachineRoom
from tailrace.server.protocol import WorkReply, WorkRequest, encode
from tailrace.server.records import reading
from tailrace.server.records.reading import BagFacts
from tailrace.server.tables import counts
from tailrace.server.tables.link import TROUBLES
from tailrace.server.tables.lock import Lock, Owner
from tailrace.server.tables.store import Store
from tailrace.server.tables.storeurl import Place
from tailrace.server.tables.whereabouts import remember, settle
from tailrace.server.unmade import UNWRITABLE
from tailrace.server.web.turnstile import LONGEST_S, Turnstile
from tailrace.server.web.waiters import ANY, Waiters

log = logging.getLogger("tailrace.server")

RECONCILE_S = 60.0
TRY_AGAIN_S = 1.0
GIVE_UP_S = 60.0

Answer = asyncio.Future[bytes]


class Unavailable(Exception):
    """Nothing can be committed just now: ask again."""


class Threads(Protocol):
    def __call__(self, name: str, count: int = 1) -> Executor: ...


def _threads(name: str, count: int = 1) -> Executor:
    return ThreadPoolExecutor(count, name)


class Parts(msgspec.Struct, frozen=True):
    """What a world is made of. The fault tests put in a simulated clock, disk and threads, and
    faulty ones of the others."""

    store: Callable[[Place], Store] = Store
    clock: Callable[[], Clock] = Clock
    threads: Threads = _threads
    desk: type[Desk] = Desk
    cycle: type[Cycle] = Cycle
    machines: type[MachineRoom] = MachineRoom
    porter: type[Porter] = Porter


class World:
    def __init__(
        self,
        folder: Path,
        pools: tuple[Pool, ...],
        *,
        check: bool = False,
        journal: bool = True,
        store: str = "",
        parts: Parts | None = None,
    ) -> None:
        """`store`: the URL of a database; else it is a file of the folder."""
        parts = parts or Parts()
        self.folder = folder
        self.pools = pools
        self.lock = Lock(folder)
        self.store = self._opened(parts, store)
        self.store.begin_epoch()
        self.clock = parts.clock()
        self.store.remember_pools(pools, self.clock.now())
        self.blobs = Blobs(folder / "blobs")
        self.room = Room(folder)
        self.catalogues = Catalogues(self.blobs)
        self.sealed = Sealed(folder)
        contents = Contents(self.store, str(folder / "scratch"), self.catalogues, self.sealed)
        self.contents = contents
        lacking = partial(arrivals.lacking, contents, self.blobs)
        small, fitted = self.catalogues.small, contents.fitted
        content = Content(contents.task, contents.shared, lacking, small, fitted)

        def make() -> Desk:
            now = self.clock.now()
            return parts.desk(self.store, content, pools, now, check=check, journal=journal)

        carrier, self._aside = parts.threads("publishing"), parts.threads("recovering")
        self._cycle = parts.cycle(self.store, make)
        hands = partial(parts.threads, "drivers", HANDS)
        self.machines = parts.machines(self._from_any_thread, hands)
        self.porter = parts.porter(self.store, contents, Places(folder), self._carried, carrier)
        self.planner = Planner(folder, self.tell)
        self.trouble = ""  # why nothing can be committed just now
        self._failing_since: float | None = None
        self._tickets = 0
        self._last_bag = self.store.next_bag() - 1
        self.ending = False  # what is handed in now would be run by nobody
        self._waiting: dict[int, asyncio.Future[bytes | Answer]] = {}
        self._parked: dict[int, Answer] = {}
        self._unheard: dict[asyncio.Future[None], None] = {}
        self._fresh = True  # this desk has not committed yet
        self._closed = False
        self._planned = False
        self._gathering = Gathering()
        self.turnstile = Turnstile()
        self._soon: asyncio.TimerHandle | None = None  # the cycle, while it waits for callers
        self._alarm: asyncio.TimerHandle | None = None
        self._waiters = Waiters()

    def _opened(self, parts: Parts, wanted: str) -> Store:
        try:
            place = settle(self.folder, wanted)
            store = parts.store(place)
        except BaseException:
            self.lock.free()
            raise
        remember(self.folder, place)
        return store

    # from the loop's side

    def begin(self) -> None:
        """Within the running loop, when the drivers are known."""
        self.loop = asyncio.get_running_loop()
        self.fatal: asyncio.Future[None] = self.loop.create_future()
        self.porter.clear()
        self.porter.take_up()
        self._plan()
        self.loop.call_later(RECONCILE_S, self._reconcile)

    @property
    def available(self) -> bool:
        return not (self._cycle.fallen or self.fatal.done() or self._closed)

    @property
    def state(self) -> State:
        """Of the scheduler, as far as it is committed; `Fallen` where there is none."""
        return self._cycle.desk.scheduler.state

    def announce(self, owner: Owner) -> None:
        self.lock.announce(owner)
        self.store.link.announce(owner.address)

    def is_of_pool(self, pool: str, host: str, lease: int | None) -> bool:
        """Neither a host nor a lease that is known as another pool's."""
        known, row = self.state.hosts.get(host), self.state.leases.get(lease or 0)
        return (known is None or known.pool == pool) and (row is None or row.pool == pool)

    def refusal(self, request: WorkRequest) -> str:
        """Why this call is not one of the host it names."""
        return self._cycle.desk.refusal(request)

    def knows_words(self, request: WorkRequest) -> bool:
        """Its host has said them before, and was believed."""
        known = self.state.hosts.get(request.host)
        return known is not None and known.says == request.says

    def admits(self, host: str, key: str) -> bool:
        return self._cycle.desk.admits(host, key)

    def present(self) -> list[str]:
        """Hosts that have called, and are not silent; none where nobody knows."""
        hosts = self.state.hosts.values() if self.available else ()
        return [host.id for host in hosts if host.present]

    def facts(self, number: int, owner: str) -> BagFacts:
        """As it is in mind; from the tables while nothing is."""
        if not self.available:
            return reading.bag(self.store.link, number)
        return counts.facts(self.store.link, self.state, number, owner)

    def explain(self, subject: str) -> list[str]:
        return self._cycle.desk.scheduler.explain(subject, self.clock.now())

    def halfway(self, bag: int, most: int) -> list[Halfway]:
        """Its oldest running tasks that tell how far they are; none where nobody knows."""
        found = self.state.bags.get(bag) if self.available else None
        return [] if found is None else halfway(found, self.clock.now(), most)

    def new_bag(self) -> int:
        """A number that no other bag has, or was told of and waits to be committed."""
        self._last_bag += 1
        return self._last_bag

    def tell(self, event: AnyEvent, new: New | None = None) -> asyncio.Future[None]:
        """The future is done when it is committed."""
        heard: asyncio.Future[None] = self.loop.create_future()
        self._unheard[heard] = None
        if new is not None:
            self._last_bag = max(self._last_bag, new.bag)
        self._cycle.tell(event, new, lambda: self._hear(heard))
        self._plan()
        return heard

    def _hear(self, heard: asyncio.Future[None]) -> None:
        self._unheard.pop(heard, None)
        if not heard.done():
            heard.set_result(None)

    def _from_any_thread(self, event: LeaseChanged) -> None:
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.tell, event)

    def check_room(self) -> None:
        """`Full` where more calls wait than a cycle can see to."""
        self.turnstile.check(self.loop.time())

    async def call(
        self,
        request: WorkRequest,
        gone: Callable[[], asyncio.Future[None]],
        *,
        trusted: bool = False,
    ) -> bytes:
        """A worker's call, answered now or when there is news; `gone` ends with the connection."""
        if not self.available:
            raise Unavailable
        self._tickets += 1
        ticket = self._tickets
        answer = self._waiting[ticket] = self.loop.create_future()
        self._gathering.called(request.host)
        self.turnstile.came(self.loop.time())
        self._cycle.desk.call(ticket, request, self.clock.now(), trusted=trusted)
        self._plan()
        reply = await answer
        return reply if isinstance(reply, bytes) else await self._park(ticket, reply, gone())

    async def _park(self, ticket: int, answer: Answer, gone: asyncio.Future[None]) -> bytes:
        ends: list[asyncio.Future[Any]] = [answer, gone]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if answer.done():
            return answer.result()
        if self._parked.pop(ticket, None) is not None and self.available:
            self._cycle.desk.hang_up(ticket)
            self._plan()
        raise Unavailable

    async def news(self, wait_s: float, bag: int = ANY) -> None:
        """Until something has been committed of the bag, or of any, or the time is over."""
        await self._waiters.wait(wait_s, bag)

    def stir(self) -> None:
        """Whoever waits for news looks again."""
        self._waiters.wake_all()

    # the cycle

    def _plan(self) -> None:
        if not self._planned and not self._cycle.fallen:
            self._planned = True
            self._soon = self.loop.call_later(self._gathering.wait_s, self._turn)
        elif self._soon is not None and self._gathering.complete:
            self._soon.cancel()
            self._soon = None
            self.loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._planned, self._soon = False, None
        self._gathering.cycled()
        if not self.available:
            return
        began = self.loop.time()
        try:
            self._excuse(began)
            batch, released = self._cycle.turn(self.clock.now())
            self._gathering.committed(self.loop.time() - began if batch else 0.0)
            self._let_go(batch, released)
            self.turnstile.cycled(self.loop.time())
            self._set_alarm()
        except CannotCommit as error:
            self._fall(error)
        except TROUBLES as error:  # met while letting go: from the tables it leaves again
            self._cycle.drop()
            self._fall(error)
        except BaseException as error:  # a fault of our own: end loudly, the tables are whole
            self._die(error)

    def _excuse(self, now: float) -> None:
        """Nobody is silent whom we may have told to come again."""
        if now - self.turnstile.refused_at < LONGEST_S:
            self._cycle.desk.excuse(self.clock.now())

    def _let_go(self, batch: Batch, released: Released) -> None:
        for ticket, reply in released.replies:
            self._reply(ticket, reply)
        for ticket, answer in self._waiting.items():
            if not answer.done():
                parked = self._parked[ticket] = self.loop.create_future()
                answer.set_result(parked)
        self._waiting.clear()
        for call in released.driver:
            self.machines.call(call, self.state.leases[call.lease].pool)
        for question in released.questions:
            self.planner.ask(question)
        for attempt in released.publish:
            self.porter.carry(attempt)
        for attempt in released.discard:
            self.porter.discard(attempt)
        self.porter.try_again()
        if self._fresh:
            self._look_around()
        if batch.feed:
            self._waiters.wake(bag for bag, *_ in batch.feed)

    def _reply(self, ticket: int, reply: WorkReply) -> None:
        waiting, parked = self._waiting.pop(ticket, None), self._parked.pop(ticket, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(self._encoded(reply))
        if parked is not None and not parked.done():
            parked.set_result(self._encoded(reply))

    def _encoded(self, reply: WorkReply) -> bytes:
        try:
            return encode(reply)
        except UNWRITABLE:
            return encode(self._cycle.desk.writable(reply))

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        wait_us = self._cycle.desk.next_wakeup() - self.clock.now()
        if self._cycle.desk.busy():
            self._plan()
        self._alarm = self.loop.call_later(max(wait_us, 1000) / 1e6, self._plan)

    def _look_around(self) -> None:
        """The first commit of a desk: what the tables say is now true, and may be acted upon."""
        self._fresh, self.trouble, self._failing_since = False, "", None
        self.porter.take_up()
        self._compare_machines()

    # when it cannot go on

    def _fall(self, error: Exception) -> None:
        """The desk is gone, and what it had not committed: refuse the calls, and try again."""
        told, self.trouble = self.trouble, f"the store cannot be written: {error}"
        if told != self.trouble:
            log.error("%s; trying again", self.trouble)
        self._refuse_calls()
        self.store.link.rest()
        now = self.loop.time()
        self._failing_since = self._failing_since or now
        if now - self._failing_since > GIVE_UP_S:
            remedy = "Nothing is lost: free some space if the disk is full, then resume the bag."
            self._die(StoreError(f"{self.store.path}: {self.trouble}", remedy=remedy))
        else:
            self.loop.call_later(TRY_AGAIN_S, self._rise)

    def _rise(self) -> None:
        if not (self._closed or self.fatal.done()):
            self._aside.submit(self._recover)

    def _recover(self) -> None:
        """On a thread: meanwhile whoever calls is told to come again."""
        failed: Exception | None = None
        try:
            self._cycle.recover()
        except Exception as error:
            failed = error
        if self._closed:  # and what was opened anew would stay so
            self.store.close()
        elif not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._recovered, failed)

    def _recovered(self, failed: Exception | None) -> None:
        if self._closed or self.fatal.done():
            return
        try:
            if failed is not None:
                raise failed
            self._cycle.rise()
        except CannotCommit as error:
            self._fall(error)
        except BaseException as error:
            self._die(error)
        else:
            self._fresh = True
            self._plan()

    def _die(self, error: BaseException) -> None:
        if not self.fatal.done():
            self.fatal.set_exception(error)
        self.refuse_all()
        self.stir()

    def _refuse_calls(self) -> None:
        answers: list[asyncio.Future[Any]] = [*self._waiting.values(), *self._parked.values()]
        _refuse(answers)
        self._waiting.clear()
        self._parked.clear()
        self.turnstile.clear()

    def refuse_all(self) -> None:
        """Who waits, for an answer or to be heard, learns that it will not come."""
        self._refuse_calls()
        _refuse(list(self._unheard))
        self._unheard.clear()

    # machines and outputs

    def _reconcile(self) -> None:
        step = self.clock.stepped_us()
        if step:
            text = (
                "the wall clock moved by %+.0f s against the time that passed; leases keep theirs"
            )
            log.warning(text, step / 1_000_000)
        self._compare_machines()
        self.loop.call_later(RECONCILE_S, self._reconcile)

    def _compare_machines(self) -> None:
        """Only by what is committed: a desk that has not committed yet is not looked at."""
        if self.available and not self._fresh:
            self.machines.reconcile(list(self.state.leases.values()))

    def _carried(self, attempt: int, published: bool) -> None:
        if self.available:  # else it stays in the table, and is found to be there already
            desk = self._cycle.desk
            (desk.published if published else desk.not_published)(attempt)
            self._plan()

    # the end

    def at_rest(self) -> bool:
        """Nothing under way: no live attempt, no lease, no output on the move."""
        if not self.available or self._fresh:
            return False
        standing = any(row.state is not LeaseState.GONE for row in self.state.leases.values())
        busy = self.porter.busy or self._cycle.desk.busy()
        return not (standing or self.state.attempts or busy)

    def stop_machines(self, *, now: bool = False) -> None:
        self.machines.stop(now=now)

    def close(self) -> None:
        """Machines may end, and say so, after this: nobody listens any more."""
        if self.available and not self._fresh:
            self._cycle.end(self.clock.now())
        self._closed = True
        self.planner.close()
        self.machines.close()
        self.porter.close()
        self._aside.shutdown(wait=False)
        self.store.close()
        self.lock.free()


def _refuse(answers: list[asyncio.Future[Any]]) -> None:
    for answer in answers:
        if not answer.done():
            answer.set_exception(Unavailable())
            answer.exception()  # some wait for nobody: no complaint about those
