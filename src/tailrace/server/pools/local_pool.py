"""A pool of this machine: its terms, what its workers may use, and whether it is a rehearsal."""

from __future__ import annotations

import msgspec

from tailrace.drivers.driver import Driver, Gone
from tailrace.drivers.inherited import harmless
from tailrace.drivers.local import LocalDriver
from tailrace.drivers.rehearsed import RehearsedDriver
from tailrace.pools.rehearsal import Rehearsal
from tailrace.pools.terms import Pool
from tailrace.server.files.environments import Environments
from tailrace.server.pools.capacity import Capacity as Capacity
from tailrace.server.pools.site import Site

PLAIN = "local"  # the pool there is when none is described


class LocalPool(msgspec.Struct, frozen=True):
    terms: Pool
    capacity: Capacity = Capacity()
    rehearsal: Rehearsal | None = None

    def driver(self, site: Site) -> Driver:
        if self.rehearsal is None:
            return self._local(site, site.gone)
        local = self._local(site, lambda lease, why: played.gone(lease, why))
        local.keeps_places, local.speed = False, self.rehearsal.speed
        played = RehearsedDriver(local, self.rehearsal, site.gone)
        return played

    def _local(self, site: Site, gone: Gone) -> LocalDriver:
        name, workers = self.terms.name, site.folder / "workers"
        place = workers if name == PLAIN and self.rehearsal is None else workers / name
        driver = LocalDriver(place, name, site.here.text(), site.token, gone)
        driver.capacity = self.capacity.arguments()
        if not site.inherits:
            driver.environment = harmless(driver.environment)
        kept = Environments(site.folder)
        driver.before_start = lambda lease: kept.keep(lease, driver.environment)
        return driver
