"""The server's line to the provider: one call at a time, in order, as in the real world.

Each call may be lost on its way, or done and reported as failed. A call under way arrives even if
the server dies meanwhile; those still waiting die with it. What went wrong in silence is found by
the product's own `reconcile`, at the start and every minute.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from tailrace.scheduler.decisions import Acquire, Release
from tailrace.scheduler.events import LeaseChanged, LeaseState
from tailrace.scheduler.rows import LeaseRow
from tailrace.server.leasing import Act, reconcile
from tailrace.server.ledger import DriverCall

from .engine import MINUTE, SECOND

if TYPE_CHECKING:
    from .server import Server

Job = Callable[[], Callable[[], None] | None]  # what it does there, and then here


class MachineRoom:
    def __init__(self, server: Server) -> None:
        self._server = server
        self._world = server.world
        self._life = server.life
        self._jobs: deque[Job] = deque()
        self._busy = False
        self._watch()

    # one job after the other

    def _submit(self, job: Job) -> None:
        self._jobs.append(job)
        self._next()

    def _next(self) -> None:
        if self._jobs and not self._busy and self._alive():
            self._busy = True
            self._world.engine.after(self._takes(), self._there, self._jobs.popleft())

    def _there(self, job: Job) -> None:
        self._world.engine.after(self._takes(), self._back, job())

    def _back(self, then: Callable[[], None] | None) -> None:
        self._busy = False
        if self._alive():
            if then is not None:
                then()
            self._next()

    def _alive(self) -> bool:
        return self._life == self._server.life

    def _takes(self) -> int:
        return self._world.engine.between(1, SECOND)

    # calls

    def drive(self, call: DriverCall) -> None:
        self._world.engine.note("server drives", call)
        self._world.oracle.driver_leaves(call)
        self._submit(lambda: self._call(call))

    def _call(self, call: DriverCall) -> Callable[[], None] | None:
        engine, weather, provider = self._world.engine, self._world.weather, self._world.provider
        done = not engine.chance(weather.driver_loss)
        if done and isinstance(call, Acquire):
            provider.start(call.lease, call.pool, call.bag, call.ends_us)
        elif done and isinstance(call, Release):
            provider.stop(call.lease)
        elif done:
            provider.renew(call.lease, call.ends_us)
        told = done and not engine.chance(weather.driver_lie)
        return lambda: self._reported(call, told)

    def _reported(self, call: DriverCall, done: bool) -> None:
        """A call that is said to have failed may have been done: only `list` knows."""
        if done and isinstance(call, Acquire):
            self._server.tell(LeaseChanged(call.lease, LeaseState.STARTING))
        elif done and isinstance(call, Release):
            self._server.tell(LeaseChanged(call.lease, LeaseState.GONE))

    # the comparison

    def _watch(self) -> None:
        if self._alive():
            rows = list(self._server.desk.scheduler.state.leases.values())
            self._submit(lambda: self._compare(rows))
            self._world.engine.after(MINUTE, self._watch)

    def _compare(self, rows: list[LeaseRow]) -> Callable[[], None] | None:
        """The rows of before, the list of now: calls decided before are done by then, and none
        decided later has begun."""
        if self._world.engine.chance(self._world.weather.driver_loss):
            return None
        found = reconcile(rows, self._world.provider.list())
        by_lease = {row.lease: row for row in rows}
        return lambda: [self._act(one.act, one.lease, by_lease.get(one.lease)) for one in found]

    def _act(self, act: Act, lease: int, row: LeaseRow | None) -> None:
        self._world.engine.note("reconciled:", act, lease)
        if act is Act.GONE:
            self._server.tell(LeaseChanged(lease, LeaseState.GONE, "not there"))
        elif act is Act.STOP:
            self._submit(lambda: self._call(Release(lease, "not wanted")))
        elif row is not None:
            self.drive(Acquire(lease, row.pool, row.bag, row.ends_us))
