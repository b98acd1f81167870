"""Where the drivers are called: on one thread, one call after another.

What a call fails to do is told; what failed in silence, `list` shows, at the start and every
minute. A renewal that failed shows nowhere: the ends of all that stands are told again then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Executor

from tailrace.drivers.driver import Driver, NotStarted
from tailrace.scheduler.decisions import Acquire, Release, Renew
from tailrace.scheduler.events import LeaseChanged, LeaseState
from tailrace.scheduler.rows import LeaseRow
from tailrace.server.ledger import DriverCall
from tailrace.server.pools.leasing import Act, Difference, reconcile

log = logging.getLogger("tailrace.server")
Tell = Callable[[LeaseChanged], None]  # from any thread


class MachineRoom:
    def __init__(self, tell: Tell, thread: Executor) -> None:
        self._tell = tell
        self.drivers: dict[str, Driver] = {}
        self._thread = thread

    def call(self, call: DriverCall, pool: str) -> None:
        self._thread.submit(self._guarded, pool, self._call, call)

    def reconcile(self, leases: list[LeaseRow]) -> None:
        """The rows of now: calls decided before are done when they are compared, and none decided
        later has begun."""
        for pool in self.drivers:
            rows = [row for row in leases if row.pool == pool]
            self._thread.submit(self._guarded, pool, self._compare, rows)

    def gone(self, lease: int, why: str) -> None:
        """A driver saw a machine end; called from any thread."""
        self._tell(LeaseChanged(lease, LeaseState.GONE, why))

    def stop(self, *, now: bool = False) -> None:
        for driver in self.drivers.values():
            driver.close(now=now)

    def close(self) -> None:
        self._thread.shutdown()

    # on the thread

    def _guarded(self, pool: str, act: Callable[[Driver, object], None], what: object) -> None:
        driver = self.drivers.get(pool)
        try:
            if driver is not None:
                act(driver, what)
        except Exception as error:
            log.error("driver of pool %s: %s", pool, error)

    def _call(self, driver: Driver, call: object) -> None:
        if isinstance(call, Acquire):
            self._start(driver, call.lease, call.ends_us)
        elif isinstance(call, Renew):
            driver.renew(call.lease, call.ends_us)
        elif isinstance(call, Release):
            driver.stop(call.lease)

    def _start(self, driver: Driver, lease: int, ends_us: int) -> None:
        """A start that failed may have worked all the same: gone it is only once it is stopped.
        If that fails too, the lease stays as it is, with what went wrong, until `list` tells."""
        try:
            driver.start(lease, ends_us)
        except NotStarted as error:
            self.gone(lease, str(error))
        except Exception as error:
            self._tell(LeaseChanged(lease, LeaseState.WANTED, str(error)))
            driver.stop(lease)
            self.gone(lease, str(error))
        else:
            self._tell(LeaseChanged(lease, LeaseState.STARTING))

    def _compare(self, driver: Driver, rows: object) -> None:
        assert isinstance(rows, list)
        ends = {row.lease: row.ends_us for row in rows}
        for one in reconcile(rows, driver.list()):
            self._settle(driver, one, ends)

    def _settle(self, driver: Driver, one: Difference, ends: dict[int, int]) -> None:
        """One that fails keeps none of the others from being settled."""
        try:
            if one.act is Act.GONE:
                self.gone(one.lease, "its machine is not there any more")
            elif one.act is Act.STOP:
                driver.stop(one.lease)
            elif one.act is Act.RENEW:
                driver.renew(one.lease, ends[one.lease])
            else:
                self._start(driver, one.lease, ends[one.lease])
        except Exception as error:
            log.error("lease %s: %s", one.lease, error)
