"""What a pool is told of the server that it lends machines to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tailrace.drivers.driver import Gone
from tailrace.server.tables.store import Store
from tailrace.worker.joining import Join


class Site(NamedTuple):
    folder: Path  # of the runs
    here: Join  # how workers of this machine reach it
    elsewhere: Join  # and others
    port: int
    token: str  # the owner's, for workers that end with the server
    store: Store
    now: Callable[[], int]
    gone: Gone
    inherits: bool = True  # its workers have the server's whole environment
    join: Path | None = None  # says how they reach it from now on, where that may change
