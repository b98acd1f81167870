"""The driver of commands over small commands of a test's own."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tailrace.drivers.command import CommandDriver, Site
from tailrace.pools.commands import Commands, Names

STORE = "0123456789"
HOUR_US = 3_600_000_000
PATIENCE_S = 120


class Stage:
    """A folder in which commands run; those that end well and print nothing, unless told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.gone: list[int] = []

    def name(self, lease: int) -> str:
        return Names(STORE).of(lease)

    def driver(self, **commands: Any) -> CommandDriver:
        known = {"start": "true", "stop": "true", "list": "true", "look_us": 10_000, "appear_us": 0}
        told = Commands(**{**known, **commands, "folder": str(self.folder)})
        path = self.folder
        site = Site("lab", Names(STORE), path / "join", path / "worker", path, 1)
        return CommandDriver(told, site, lambda lease, why: self.gone.append(lease))

    def write(self, name: str, text: str = "") -> None:
        """At once: commands read meanwhile."""
        (self.folder / f"{name}.new").write_text(text)
        (self.folder / f"{name}.new").rename(self.folder / name)

    def lines(self, name: str) -> list[str]:
        try:
            return (self.folder / name).read_text().splitlines()
        except FileNotFoundError:
            return []


def wait_for(what: Callable[[], Any]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < until, f"{what} did not come about"
        time.sleep(0.01)


def in_us() -> int:
    """The end of a lease of an hour."""
    return time.time_ns() // 1000 + HOUR_US
