"""A simulated host: a machine with its presence, as its pool lends it, and what it runs for us."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from tailrace.bag.needs import Amounts
from tailrace.scheduler.events import HostSeen, Offer
from tailrace.simulation.calling import Calls
from tailrace.simulation.job import Job
from tailrace.simulation.life import Presence
from tailrace.simulation.machine import Machine
from tailrace.simulation.scenario import Machines
from tailrace.simulation.single import SingleMachine


class SimulatedHost:
    __slots__ = (
        "attempts", "awaits", "calls", "capacity", "ends", "forgotten", "goes_us", "known", "lease",
        "lent", "machine", "many", "name", "number", "offer", "partings", "pool", "presence",
        "rejected", "site", "speed", "unborn", "waiting", "warned", "works",
    )  # fmt: skip

    def __init__(self, name: str, number: int, pool: Machines, lease: int | None) -> None:
        self.name = name
        self.number = number  # within its pool
        self.pool = pool
        self.lease = lease
        self.capacity = pool.capacity
        self.offer = Offer(name, self.capacity)  # the scheduler subtracts what it has
        self.site = pool.sites[number % len(pool.sites)] if pool.sites else None
        self.lent: dict[str, int] = {}
        self.many = True  # attempts at once, perhaps
        self.calls: Calls | None = None  # of its worker, if it has one
        self.speed = 1.0
        self.unborn: Callable[[SimulatedHost], None] | None = None  # begins its life, if not yet
        self.machine: Machine | SingleMachine
        self.presence: Presence
        self.partings: dict[int, None]  # of its presence: looked up for every result
        self.works: Any = None  # by bag: the work of each task on this type
        self.attempts: dict[int, Job] = {}
        self.waiting: dict[int, Job] = {}  # those of them that were sent ahead, in their order
        self.forgotten: dict[int, Job] = {}  # lost with it, as it tells when it is back
        self.rejected = 0  # attempts for which it had no room
        self.known = False  # the scheduler takes it for present
        self.awaits: HostSeen | None = None  # news of its present life, as long as it is on its way
        self.warned = False  # it knows that it will go, and takes nothing more
        self.goes_us = 0  # and when
        self.ends = 0  # handle of the end of its lease

    @property
    def parts_now(self) -> bool:
        """It goes or is warned in this very instant, and this has not happened yet."""
        return self.presence.engine.now in self.partings

    @property
    def at_work(self) -> bool:
        """Something it has will end by itself. One that never returns only holds its place."""
        return any(job.tag.returns for job in self.attempts.values())

    def lend(self, needs: Amounts, times: int = 1) -> None:
        """What an attempt gave back while its output travels: the scheduler takes it for present
        until it has ended, so that more must be offered. -1 times: it has ended."""
        for name, amount in needs.items():
            self.lent[name] = self.lent.get(name, 0) + times * amount
        free = {name: amount + self.lent.get(name, 0) for name, amount in self.capacity.items()}
        self.offer = Offer(self.name, free)


class Sent(msgspec.Struct, eq=False):
    """An attempt on its way or at work; the tag of its job."""

    attempt: int
    bag: int
    index: int
    host: SimulatedHost
    began_us: int = -1  # it has not
    late: int = 0  # handle of what it waits for
    worked_us: int = -1  # when its output began to travel
    limit_us: int | None = None  # of its work
    returns: bool = True  # or is never heard of again
    forgotten_us: int | None = None  # when its machine forgets one that never returns

    def ran_us(self, now: int) -> int:
        return now - self.began_us if self.began_us >= 0 else 0
