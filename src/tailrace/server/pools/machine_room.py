"""Where the drivers are called: a crew for each pool."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

from tailrace.drivers.driver import Driver
from tailrace.scheduler.decisions import Acquire, Renew
from tailrace.scheduler.events import LeaseChanged, LeaseState
from tailrace.scheduler.rows import LeaseRow
from tailrace.server.ledger import DriverCall
from tailrace.server.pools.crew import Crew, Tell
from tailrace.server.pools.errands import Errand
from tailrace.server.pools.leasing import Act


class MachineRoom:
    crew: type[Crew] = Crew

    def __init__(self, tell: Tell, hands: Callable[[], Executor]) -> None:
        """`hands`: makes the threads of one crew."""
        self._tell, self._hands = tell, hands
        self.drivers: dict[str, Driver] = {}
        self._crews: dict[str, Crew] = {}

    def call(self, call: DriverCall, pool: str) -> None:
        """A pool that is described no more has nobody to call."""
        if pool in self.drivers:
            self._crew(pool).call(_errand(call))

    def reconcile(self, leases: list[LeaseRow]) -> None:
        for pool in self.drivers:
            self._crew(pool).compare([row for row in leases if row.pool == pool])

    def _crew(self, pool: str) -> Crew:
        if pool not in self._crews:
            driver = self.drivers[pool]
            self._crews[pool] = self.crew(pool, driver, self._tell, self._hands())
        return self._crews[pool]

    def gone(self, lease: int, why: str) -> None:
        """A driver saw a machine end; called from any thread."""
        self._tell(LeaseChanged(lease, LeaseState.GONE, why))

    def stop(self, *, now: bool = False) -> None:
        for crew in self._crews.values():
            crew.start_no_more()
        for driver in self.drivers.values():
            driver.close(now=now)

    def close(self) -> None:
        for crew in self._crews.values():
            crew.close()


def _errand(call: DriverCall) -> Errand:
    if isinstance(call, Acquire):
        return Errand(Act.START, call.lease, call.ends_us)
    if isinstance(call, Renew):
        return Errand(Act.RENEW, call.lease, call.ends_us)
    return Errand(Act.STOP, call.lease)
