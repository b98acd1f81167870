"""Who calls the driver of one pool: some threads of its own, so that no pool waits for another.

What a call fails to do is told; what failed in silence, `list` shows, at the start and every
minute. A renewal that failed shows nowhere: the ends of all that stands are told again then.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Executor

from tailrace.drivers.driver import Driver, NotStarted
from tailrace.scheduler.events import LeaseChanged, LeaseState
from tailrace.scheduler.rows import LeaseRow
from tailrace.server.pools.errands import MOST, Errand, Errands
from tailrace.server.pools.leasing import Act, Difference, reconcile

log = logging.getLogger("tailrace.server")
HANDS = sum(MOST.values()) + 1  # the last one compares
NOT_THERE = "its machine is not there any more"
Tell = Callable[[LeaseChanged], None]  # from any thread


class Comparison:
    """The rows of a moment against what is listed a little later.

    Calls decided before that moment are done when they are compared, but for starts: those may take
    as long as they like. Leases that are being started then, or are called for since, are left out:
    of those the rows say nothing."""

    def __init__(self, rows: list[LeaseRow], busy: list[int], starting: list[int]) -> None:
        self.rows = rows
        self.left_out = set(starting)
        self.awaits = set(busy) - self.left_out
        self.begun = False

    def begins(self) -> bool:
        """Now, and once."""
        before, self.begun = self.begun, self.begun or not self.awaits
        return self.begun and not before


class Crew:
    def __init__(self, pool: str, driver: Driver, tell: Tell, hands: Executor) -> None:
        self._pool, self._driver, self._tell, self._hands = pool, driver, tell, hands
        self._errands = Errands()
        self._comparison: Comparison | None = None
        self._asked: set[int] = set()  # leases that were started by us; no second time
        self._starts_no_more = False
        self._change = threading.Condition()

    def call(self, errand: Errand) -> None:
        with self._change:
            if self._comparison is not None:
                self._comparison.left_out.add(errand.lease)
            needed = self._add(errand)
        if not needed:
            self._gone(errand.lease)
        self._go_on()

    def _add(self, errand: Errand) -> bool:
        if errand.act is Act.START and self._starts_no_more:
            return True  # the next server finds it wanted
        return self._errands.add(errand)

    def compare(self, rows: list[LeaseRow]) -> None:
        """The rows of now; unless those of a moment ago still wait to be compared."""
        with self._change:
            if self._comparison is None and not self._starts_no_more:
                wanted = (row.lease for row in rows if row.state is LeaseState.WANTED)
                self._asked.intersection_update(wanted)
                busy, starting = self._errands.leases(), self._errands.starting()
                self._comparison = Comparison(rows, busy, starting)
        self._go_on()

    def start_no_more(self) -> None:
        """What was not begun, nobody will have asked for."""
        with self._change:
            self._starts_no_more = True
            self._errands.drop_starts()

    def close(self) -> None:
        """When all is done that was begun, and all that was to be ended is told so."""
        self.start_no_more()
        with self._change:
            if self._comparison is not None and not self._comparison.begun:
                self._comparison = None
            self._change.wait_for(lambda: not (self._errands or self._comparison))
        self._hands.shutdown()

    # who does what next

    def _go_on(self) -> None:
        with self._change:
            begun = []
            while (errand := self._errands.begin()) is not None:
                begun.append(errand)
                if errand.act is Act.START:
                    self._asked.add(errand.lease)
            comparison = self._comparison
            if comparison is not None and not comparison.begins():
                comparison = None
            self._change.notify_all()
        for errand in begun:
            self._hands.submit(self._do, errand)
        if comparison is not None:
            self._hands.submit(self._compare, comparison)

    # on a thread

    def _do(self, errand: Errand) -> None:
        over = False
        try:
            over = self._act(errand)
        except Exception as error:
            log.error("driver of pool %s: %s", self._pool, error)
        with self._change:
            self._errands.end(errand, over=over)
            if self._comparison is not None and errand.lease not in self._errands:
                self._comparison.awaits.discard(errand.lease)
        self._go_on()

    def _act(self, errand: Errand) -> bool:
        """Whether its lease is over, and was told to be."""
        if errand.act is Act.START:
            return self._start(errand.lease, errand.ends_us)
        if errand.act is Act.RENEW:
            self._driver.renew(errand.lease, errand.ends_us)
        else:
            self._driver.stop(errand.lease)
            if errand.for_good:
                self._gone(errand.lease)
        return False

    def _start(self, lease: int, ends_us: int) -> bool:
        """A start that failed may have worked all the same: gone it is only once it is stopped.
        If that fails too, the lease stays as it is, with what went wrong, until `list` tells."""
        try:
            self._driver.start(lease, ends_us)
        except NotStarted as error:
            self._gone(lease, str(error))
        except Exception as error:
            self._tell(LeaseChanged(lease, LeaseState.WANTED, str(error)))
            self._end(lease)
            self._gone(lease, str(error))
        else:
            self._tell(LeaseChanged(lease, LeaseState.STARTING))
            return False
        return True

    def _end(self, lease: int) -> None:
        try:
            self._driver.stop(lease)
        except Exception:
            with self._change:
                self._asked.discard(lease)
            raise

    def _compare(self, comparison: Comparison) -> None:
        try:
            listed = self._driver.list()
        except Exception as error:
            log.error("driver of pool %s: %s", self._pool, error)
            listed = None
        with self._change:
            found = [] if listed is None else reconcile(comparison.rows, listed)
            found = [one for one in found if one.lease not in comparison.left_out]
            ends = {row.lease: row.ends_us for row in comparison.rows}
            for one in found:
                self._settle(one, ends.get(one.lease, 0))
            self._comparison = None
        self._go_on()

    def _settle(self, one: Difference, ends_us: int) -> None:
        if one.act is Act.GONE:
            self._gone(one.lease, NOT_THERE)
        elif one.act is not Act.START or one.lease not in self._asked:
            self._add(Errand(one.act, one.lease, ends_us, again=True))

    def _gone(self, lease: int, why: str = "") -> None:
        self._tell(LeaseChanged(lease, LeaseState.GONE, why))
