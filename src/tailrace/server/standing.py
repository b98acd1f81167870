"""A worker of this machine that stays as long as the server: it needs no lease, and nobody pays.

Should it die, another is started in its place, which first delivers what the first had spooled.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from tailrace.drivers.local import LocalDriver
from tailrace.server.pools.local_pool import Capacity

log = logging.getLogger("tailrace.server")
AGAIN_AFTER_S = 0.5  # a worker that dies at once must not keep us busy
PLACE = 1


class Standing:
    def __init__(
        self, folder: Path, pool: str, address: str, token: str, capacity: Capacity
    ) -> None:
        self._driver = LocalDriver(folder, pool, address, token, self._gone)
        self._driver.leased = False
        self._driver.capacity = capacity.arguments()
        self._ending = threading.Event()

    def start(self) -> None:
        self._driver.start(PLACE, 0)

    def stop(self, *, now: bool = False) -> None:
        self._ending.set()
        self._driver.close(now=now)

    def _gone(self, lease: int, why: str) -> None:
        """On the driver's thread, which watched it."""
        if not self._ending.wait(AGAIN_AFTER_S):
            log.warning("%s; another is started", why)
            self.start()
