"""The environment that each lease's worker was started in, and its tasks with it: for `reproduce`.

It may hold secrets, as environments do. So it lies in a folder of its own that only its owner may
enter, one name a lease, and never in the store, which people pass on to others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

OURS = "TAILRACE_"  # taken away by the worker: no task sees it


class Environments:
    def __init__(self, folder: Path) -> None:
        """`folder` is that of the runs."""
        self._folder = folder / "environments"
        self._last: int | None = None  # the lease kept last

    def keep(self, lease: int, environment: Mapping[str, str]) -> None:
        """What cannot be written is not worth a run that does not start."""
        words = [f"{name}={value}" for name, value in environment.items() if _reaches_tasks(name)]
        data = os.fsencode("\0".join(words))
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if not self._is_linked(lease, data):
                self._write(lease, data)
            self._last = lease

    def _is_linked(self, lease: int, data: bytes) -> bool:
        """Most leases have the environment of the one before: then it is the same file."""
        last = self._last if self._last is not None else self._newest()
        if last is None or last == lease:
            return False
        try:
            if self._file(last).read_bytes() != data:
                return False
            self._file(lease).hardlink_to(self._file(last))
        except OSError:  # deleted, or a file system without links
            return False
        return True

    def _newest(self) -> int | None:
        """Of an earlier run."""
        names = (path.stem for path in self._folder.glob("*.environ"))
        return max((int(name) for name in names if name.isdecimal()), default=None)

    def _write(self, lease: int, data: bytes) -> None:
        fresh = self._file(lease).with_suffix(".new")
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
        fresh.replace(self._file(lease))

    def of(self, lease: int) -> dict[str, str] | None:
        """None when it was not kept, or was deleted."""
        try:
            words = os.fsdecode(self._file(lease).read_bytes()).split("\0")
        except OSError:
            return None
        return dict(word.split("=", 1) for word in words if "=" in word)

    def newest(self) -> dict[str, str] | None:
        """Of the lease that was kept last; None as above."""
        lease = self._newest()
        return None if lease is None else self.of(lease)

    def _file(self, lease: int) -> Path:
        """As the kernel's `/proc/PID/environ`: any byte but NUL may stand in a value."""
        return self._folder / f"{lease}.environ"


def _reaches_tasks(name: str) -> bool:
    return not name.startswith(OURS)
