"""A pool of this machine: its terms, what its workers may use, and whether it is a rehearsal."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tailrace.bag.needs import THOUSANDTHS
from tailrace.drivers.driver import Driver, Gone
from tailrace.drivers.local import LocalDriver
from tailrace.drivers.rehearsed import RehearsedDriver
from tailrace.pools.rehearsal import Rehearsal
from tailrace.pools.terms import Pool
from tailrace.server.environments import Environments

PLAIN = "local"  # the pool there is when none is described


class Capacity(msgspec.Struct, frozen=True):
    """What workers of this machine may use; None: all there is."""

    cores: float | None = None
    memory: int | None = None
    more: dict[str, int] = {}  # thousandths of gpus, and of names of the user's own

    def arguments(self) -> list[str]:
        cores = [] if self.cores is None else ["--cores", f"{self.cores:g}"]
        memory = [] if self.memory is None else ["--memory", str(self.memory)]
        more = [word for name, amount in self.more.items() for word in _more(name, amount)]
        return cores + memory + more


def _more(name: str, amount: int) -> list[str]:
    count = f"{amount / THOUSANDTHS:g}"
    return ["--gpus", count] if name == "gpus" else ["--has", f"{name}={count}"]


class LocalPool(msgspec.Struct, frozen=True):
    terms: Pool
    capacity: Capacity = Capacity()
    rehearsal: Rehearsal | None = None

    def driver(self, folder: Path, address: str, token: str, gone: Gone) -> Driver:
        """`folder` is that of the runs."""
        if self.rehearsal is None:
            return self._local(folder, address, token, gone)
        local = self._local(folder, address, token, lambda lease, why: played.gone(lease, why))
        local.keeps_places, local.speed = False, self.rehearsal.speed
        played = RehearsedDriver(local, self.rehearsal, gone)
        return played

    def _local(self, folder: Path, address: str, token: str, gone: Gone) -> LocalDriver:
        name, workers = self.terms.name, folder / "workers"
        place = workers if name == PLAIN and self.rehearsal is None else workers / name
        driver = LocalDriver(place, name, address, token, gone)
        driver.capacity = self.capacity.arguments()
        kept = Environments(folder)
        driver.before_start = lambda lease: kept.keep(lease, driver.environment)
        return driver
