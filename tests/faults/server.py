"""A process around the product's own world (`server/world.py`): its lives, its deaths, its callers.

The server may die before each commit, after it, before each reply, before each call of a driver
and between any two steps of a publication. What is left of it then is the folder; the next one
knows nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

import msgspec

from tailrace.bag.additions import Addition
from tailrace.bag.bag import Bag
from tailrace.bag.values import Range
from tailrace.errors import BadInput, StoreError
from tailrace.scheduler.events import AnyEvent, BagSubmitted
from tailrace.server import world as product
from tailrace.server.batch import New, NewBag
from tailrace.server.enlarging import enlarge
from tailrace.server.people.principals import OWNER
from tailrace.server.protocol import WorkReply, decode_request

from .driver import Driver
from .loop import Loop
from .tables import WatchedStore
from .thread import Died, Threads

if TYPE_CHECKING:
    from .machine import Machine
    from .tasks import BagPlan
    from .world import World

decode_reply = msgspec.json.Decoder(WorkReply).decode


class Clock:
    """The wall clock at the start plus what has passed: it never decreases in one life."""

    def __init__(self, world: World) -> None:
        self._engine = world.engine
        self._ahead = world.wall() - world.engine.now

    def now(self) -> int:
        return self._ahead + self._engine.now

    def stepped_us(self) -> int:
        return 0


class Caller:
    """A connection with a call on it."""

    def __init__(self, machine: Machine, life: int, seq: int, gone: asyncio.Future[None]) -> None:
        self.machine = machine
        self.life = life
        self.seq = seq
        self.gone = gone  # what the server sees of its end
        self.left = False


class Server:
    def __init__(self, world: World) -> None:
        self.world = world
        self.life = 0
        self.product: product.World | None = None
        self.submitted: dict[str, None] = {}  # bags handed in, in this life
        self._callers: dict[Caller, Coroutine[Any, Any, None]] = {}
        self._last_bag = 0

    # life and death

    def boot(self) -> None:
        world, parts = self.world, self.world.parts
        self.life += 1
        world.engine.note("server boots, life", self.life)
        self.loop = Loop(world.engine, self._look)
        made_of = product.Parts(
            store=lambda place: WatchedStore(place, world, self.step),
            clock=lambda: Clock(world),  # type: ignore[arg-type, return-value]
            threads=lambda name, count=1: Threads(self, name, count),
            desk=parts.desk,
            cycle=parts.cycle,
            machines=parts.machines,
            porter=parts.porter,
        )
        self.product = product.World(
            world.folder, world.pools, check=parts.check, store=world.store, parts=made_of
        )
        for pool in world.pools:
            if pool.max:
                self.product.machines.drivers[pool.name] = Driver(self, pool.name)
        self.loop.run_now(self.product.begin)
        world.network.call_again()

    def lives(self, life: int) -> bool:
        return self.product is not None and self.life == life

    def step(self, before: str) -> None:
        if self.world.engine.chance(self.world.weather.server_crash):
            raise Died(f"before {before}")

    def die(self, why: str, life: int | None = None) -> None:
        if self.product is None or life not in (None, self.life):
            return
        self.world.engine.note("server dies:", why)
        self.close()
        for caller in self._callers:
            self._fail(caller, None)
        self._callers.clear()
        self.submitted.clear()
        engine = self.world.engine
        engine.after(engine.one_in(engine.random.choice((1, 10))), self.boot)

    def close(self) -> None:
        """What the kernel does with a process that is gone."""
        if self.product is not None:
            self.loop.close()
            for serving in self._callers.values():
                serving.close()
            self.product.store.close()
            self.product.lock.free()
            self.product = None

    def _look(self, fault: BaseException | None) -> None:
        """After each callback of the loop: is the process still well?"""
        if fault is None and self.product is not None and self.product.fatal.done():
            fault = self.product.fatal.exception()
        if isinstance(fault, Died):
            self.die(str(fault))
        elif isinstance(fault, StoreError) and self.world.bad_disk_until:
            self.die("it gave up")
        elif fault is not None:
            raise fault

    # the workers' calls

    def receive(self, machine: Machine, life: int, seq: int, body: bytes) -> None:
        if self.product is None:
            self.world.network.send(machine, machine.hear_failure, life, seq, None)
            return
        self.world.engine.note("server receives", machine.host, seq)
        caller = Caller(machine, life, seq, self.loop.create_future())
        self._callers[caller] = serving = self._serve(self.product, caller, body)
        self.loop.create_task(serving).add_done_callback(_surface)

    async def _serve(self, world: product.World, caller: Caller, body: bytes) -> None:
        reply: bytes | None = None
        try:
            reply = await world.call(decode_request(body), lambda: caller.gone)
        except product.Unavailable:
            pass
        self.step("a reply")
        del self._callers[caller]
        if reply is None:
            self._fail(caller, 503)
        else:
            self._answer(caller, reply)

    def _fail(self, caller: Caller, status: int | None) -> None:
        if not caller.left:
            machine = caller.machine
            self.world.network.send(machine, machine.hear_failure, caller.life, caller.seq, status)

    def _answer(self, caller: Caller, body: bytes) -> None:
        reply, machine = decode_reply(body), caller.machine
        self.world.oracle.reply_leaves(reply)
        start = [one.attempt for one in reply.start]
        self.world.engine.note(
            "server answers", machine.host, reply.seq, "start", start, "drop", reply.drop,
            "ack", reply.ack, reply.stop or "",
        )  # fmt: skip
        if not caller.left:
            self.world.network.send(machine, machine.hear, caller.life, body)

    def caller_gone(self, host: str, life: int, seq: int | None = None) -> None:
        for caller in self._callers:
            same = (caller.machine.host, caller.life) == (host, life)
            if same and seq in (None, caller.seq):
                caller.left = True
                if not caller.gone.done():
                    caller.gone.set_result(None)

    # the owner's and the provider's word

    def submit(self, plan: BagPlan) -> None:
        if self.product is None:
            return
        self._last_bag = self.product.new_bag()
        self.submitted[plan.name] = None
        self.world.owner.numbered(plan, self._last_bag)
        spec, chunks = Bag(plan.spec, _no_chunk).encode()
        new = NewBag(self._last_bag, plan.name, spec, chunks)
        self.tell(BagSubmitted(self._last_bag, plan.terms), new)

    def add(self, bag: int, count: int) -> None:
        """The values go on where they ended, so that a task's value is its number; some are there
        already."""
        if self.product is None:
            return
        first = max(self.world.count_of(bag) - 2, 0)
        asked = Addition(((Range("i", str(first), "1", count + 2),),))
        try:
            found = enlarge(self.product.store.link, bag, asked, OWNER)
        except BadInput:
            return  # it is cancelled
        self.world.engine.note("owner adds to", bag, found.told.added)
        if found.event is not None:
            self.tell(found.event, found.more)

    def tell(self, event: AnyEvent, new: New | None = None) -> None:
        if self.product is not None:
            self.product.tell(event, new)

    def machine_gone(self, lease: int) -> None:
        """Some drivers see it when a machine of theirs ends."""
        if self.product is not None:
            self.product.machines.gone(lease, "its machine ended")

    # how it stands

    def unquiet(self) -> str:
        if self.product is None or not self.product.at_rest():
            return "the server is not at rest"
        unpublished = self.product.store.unpublished()
        return f"unpublished: {unpublished}" if unpublished else ""

    def explained(self) -> str:
        """What the product itself has to say about it."""
        if self.product is None:
            return ""
        bags = [f"bag {bag}" for bag in self.product.state.bags]
        return "\n".join(line for bag in bags for line in [bag, *self.product.explain(bag)])


def _surface(task: asyncio.Task[None]) -> None:
    """Else asyncio would keep it to itself until the task is forgotten."""
    if not task.cancelled():
        task.result()


def _no_chunk(k: int) -> bytes:
    raise KeyError(k)
