"""Room on the server's disk. Some is kept for its own store: what others send is refused before.

A store that cannot be written stops all bags of everybody; an upload that is refused waits.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tailrace.quantities import show_size as size

KEPT_BYTES = 256 << 20


class NoRoom(Exception):
    """Nothing more is taken in for now."""


class Room:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def free(self) -> int:
        """Bytes that this account may still write."""
        return shutil.disk_usage(self._folder).free

    def check(self) -> None:
        free = self.free()
        if free < KEPT_BYTES:
            raise NoRoom(
                f"the server's disk has {size(free)} left, and {size(KEPT_BYTES)} are kept for its "
                "own records: nothing is taken in until its admin frees some (`tailrace gc`)"
            )
