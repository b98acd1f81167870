"""The world around the real desk: calls come in, a cycle is worked, committed, released.

The server may die before each step of a cycle, also in the middle of its replies. What is left of
it then is the file of the store; the next one restores from it and knows nothing else.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tailrace.scheduler.events import AnyEvent, BagSubmitted
from tailrace.server.batch import NewBag
from tailrace.server.desk import Content, Desk, Released
from tailrace.server.protocol import decode_request, encode

from .driving import MachineRoom
from .engine import MS
from .tables import Trouble, WatchedStore
from .tasks import BagPlan, content

if TYPE_CHECKING:
    from .machine import Machine
    from .world import World


class Died(Exception):
    """The process ends here."""


class Server:
    room_kind = MachineRoom

    def __init__(self, world: World) -> None:
        self.world = world
        self.life = 0
        self.desk: Desk | None = None
        self._ticket = 0
        self._last_bag = 0

    def clock(self) -> int:
        """The wall clock at the start plus what has passed: it never decreases in one life."""
        return self._started_wall + self.world.engine.now - self._started

    # life and death

    def boot(self) -> None:
        world = self.world
        self.life += 1
        self._started, self._started_wall = world.engine.now, world.wall()
        world.engine.note("server boots, life", self.life)
        self.store = WatchedStore(world.path, world.oracle.committed)
        self.store.begin_epoch()
        self._make_desk()

    def _make_desk(self) -> None:
        world = self.world
        source = Content(content, world.owner.shared)
        self.callers: dict[int, tuple[Machine, int, int]] = {}
        self.submitted: dict[str, None] = {}
        self.desk = world.parts.desk(
            self.store, source, world.pools, self.clock(), seed=self.life, check=True
        )
        self._alarm: int | None = None
        self._wake_soon()
        self.room = self.room_kind(self)

    def die(self, why: str) -> None:
        if self.desk is None:
            return
        self.world.engine.note("server dies:", why)
        self.life += 1
        self.desk = None
        self.store.link.close()
        self._hang_up_on_all(None)
        self.world.engine.after(self.world.engine.one_in(10), self.boot)

    def _hang_up_on_all(self, status: int | None) -> None:
        for machine, life, seq in self.callers.values():
            self.world.network.send(machine, machine.hear_failure, life, seq, status)
        self.callers.clear()

    # what comes in

    def receive(self, machine: Machine, life: int, seq: int, body: bytes) -> None:
        if self.desk is None:
            self.world.network.send(machine, machine.hear_failure, life, seq, None)
            return
        self._ticket += 1
        self.callers[self._ticket] = (machine, life, seq)
        self.world.engine.note("server receives", machine.host, seq)
        self.desk.call(self._ticket, decode_request(body), self.clock())
        self._wake_soon()

    def caller_gone(self, host: str, life: int, seq: int | None = None) -> None:
        if self.desk is None:
            return
        for ticket, (machine, its_life, its_seq) in list(self.callers.items()):
            if (machine.host, its_life) == (host, life) and seq in (None, its_seq):
                del self.callers[ticket]
                self.desk.hang_up(ticket)
                self._wake_soon()

    def submit(self, plan: BagPlan) -> None:
        if self.desk is None:
            return
        self._last_bag = max(self._last_bag + 1, self.store.next_bag())
        self.submitted[plan.name] = None
        self.world.owner.numbered(plan, self._last_bag)
        new = NewBag(self._last_bag, plan.name, b"{}", [])
        self.tell(BagSubmitted(self._last_bag, plan.terms), new)

    def tell(self, event: AnyEvent, new: NewBag | None = None) -> None:
        if self.desk is not None:
            self.desk.tell(event, new)
            self._wake_soon()

    # the cycle

    def _wake_soon(self) -> None:
        self._wake_at(self.world.engine.now + self.world.engine.between(0, 3 * MS))

    def _wake_at(self, when: int) -> None:
        if self._alarm is None or when < self._alarm:
            self._alarm = when
            self.world.engine.at(when, self._ring, self.life, when)

    def _ring(self, life: int, when: int) -> None:
        if life == self.life and when == self._alarm and self.desk is not None:
            self._alarm = None
            try:
                self.cycle(self.desk)
            except Died as death:
                self.die(str(death))

    def step(self, before: str) -> None:
        if self.world.engine.chance(self.world.weather.server_crash):
            raise Died(f"before {before}")

    def cycle(self, desk: Desk) -> None:
        batch = desk.work(self.clock())
        self.step("the commit")
        if batch and not self.commit(batch):
            return
        for leave in self.leaving(desk.release(self.clock())):
            self.step("something leaves")
            leave()
        wakeup = desk.next_wakeup() - self.clock() + self.world.engine.now
        self._wake_at(max(wakeup, self.world.engine.now + 1))

    def commit(self, batch: Any) -> bool:
        """Whether it was reported to be committed; if not, there is a new desk."""
        engine = self.world.engine
        failing = engine.chance(self.world.weather.commit_failure)
        self.store.trouble = engine.random.choice(list(Trouble)) if failing else None
        try:
            self.store.commit(batch)
        except sqlite3.OperationalError as error:
            assert self.desk is not None
            engine.note("commit fails:", error, self.store.trouble)
            self._turn_away(self.desk.abandoned())
            self.life += 1
            self._make_desk()
            return False
        return True

    def _turn_away(self, tickets: list[int]) -> None:
        for ticket in tickets:
            if ticket in self.callers:
                machine, life, seq = self.callers.pop(ticket)
                self.world.network.send(machine, machine.hear_failure, life, seq, 503)

    # what leaves

    def leaving(self, released: Released) -> Iterator[Callable[[], None]]:
        for ticket, reply in released.replies:
            yield lambda ticket=ticket, reply=reply: self._reply(ticket, reply)
        for call in released.driver:
            yield lambda call=call: self.room.drive(call)

    def _reply(self, ticket: int, reply: Any) -> None:
        self.world.oracle.reply_leaves(reply)
        found = self.callers.pop(ticket, None)
        if found is None:
            return
        machine, life, seq = found
        start = [one.attempt for one in reply.start]
        self.world.engine.note(
            "server answers", machine.host, seq, "start", start, "drop", reply.drop,
            "ack", reply.ack, reply.stop or "",
        )  # fmt: skip
        self.world.network.send(machine, machine.hear, life, encode(reply))
