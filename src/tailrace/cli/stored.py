"""The store that commands read: the nearest one, and whether a server runs on it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from tailrace.cli import place
from tailrace.server import lock, reading
from tailrace.server.link import Link, Rejected, Trouble
from tailrace.server.lock import Owner


class Stored(NamedTuple):
    folder: Path
    link: Link
    server: Owner | None  # who runs on it now

    @property
    def served(self) -> bool:
        return self.server is not None

    @property
    def now_us(self) -> int | None:
        """The time while a server runs; without one nothing moves."""
        return time.time_ns() // 1000 if self.server else None


@contextmanager
def stored(run: Path | None = None) -> Iterator[Stored]:
    """The nearest, or that of this run. Whatever is wrong with the file is told in one sentence."""
    folder = place.nearest() if run is None else place.above(run)
    link = reading.open_store(folder)
    try:
        yield Stored(folder, link, lock.alive(folder))
    except (sqlite3.DatabaseError, Trouble, Rejected, msgspec.MsgspecError) as error:
        raise reading.damaged(folder, error) from error
    finally:
        link.close()
