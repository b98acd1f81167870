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
from tailrace.worker.owning import BESIDE, written

NOT_MEASURED = ["--benchmark", "never"]  # a played machine is as fast as its pool says
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
        local.capacity += [*NOT_MEASURED, *self._owned(site, self.rehearsal)]
        played = RehearsedDriver(local, self.rehearsal, site.gone)
        return played

    def _owned(self, site: Site, rehearsal: Rehearsal) -> list[str]:
        """What the owner of a real machine would write into the file of its worker."""
        words = ["--owner", rehearsal.owner] if rehearsal.owner else []
        if not rehearsal.says:
            return words
        path = site.folder / "workers" / self.terms.name / BESIDE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written(rehearsal.says), encoding="utf-8")
        return [*words, "--conf", str(path)]

    def _local(self, site: Site, gone: Gone) -> LocalDriver:
        name, workers = self.terms.name, site.folder / "workers"
        place = workers if name == PLAIN and self.rehearsal is None else workers / name
        driver = LocalDriver(place, name, site.here.text(), site.token, gone)
        driver.capacity = self.capacity.arguments()
        driver.join = site.join
        if not site.inherits:
            driver.environment = harmless(driver.environment)
        kept = Environments(site.folder)
        driver.before_start = lambda lease: kept.keep(lease, driver.environment)
        return driver
