"""The worker's folder: whose it is, which machine this is, how often a worker has started here."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from typing import Optional

from .joining import Join

LOCK_PATIENCE_S = 10.0


class FolderBusy(Exception):
    """Another worker, or the keeper of one that died, still uses the folder."""


def default(join: Join, name: Optional[str] = None) -> str:
    """On a disk of this machine, also where homes are shared; one for each server, and ours. Where
    several machines of a batch system are one, each has its name."""
    above = f"/var/tmp/tailrace-worker-{os.getuid()}"
    os.makedirs(above, mode=0o700, exist_ok=True)
    if os.lstat(above).st_uid != os.getuid() or os.path.islink(above):
        raise FolderBusy(f"{above} is somebody else's; name another folder with --folder")
    if name is not None:
        return os.path.join(above, os.path.basename(name))
    return os.path.join(above, hashlib.sha256(join.url.encode()).hexdigest()[:12])


class Folder:
    """Opens the folder and locks it. The lock is inherited by guard and keeper, so it is free only
    when all three of an earlier worker, and with them all its tasks, are gone."""

    def __init__(self, path: str, patience_s: float = LOCK_PATIENCE_S) -> None:
        self.path = os.path.abspath(path)
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        self.lock_fd = os.open(self._at("lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._lock(patience_s)

    def _at(self, name: str) -> str:
        return os.path.join(self.path, name)

    def _lock(self, patience_s: float) -> None:
        until = time.monotonic() + patience_s
        while True:
            try:
                fcntl.flock(self.lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    text = f"another worker runs in {self.path}"
                    raise FolderBusy(text) from None
                time.sleep(0.02)
            else:
                return

    @property
    def spool_path(self) -> str:
        return self._at("spool")

    @property
    def cache_path(self) -> str:
        return self._at("cache")

    @property
    def scratch_path(self) -> str:
        return self._at("scratch")

    @property
    def setups_path(self) -> str:
        """Beside it, where other workers of this machine find them, too."""
        above = os.path.dirname(self.path)
        return os.path.join(above if os.access(above, os.W_OK) else self.path, "setups")

    def remove(self) -> None:
        """With all that is in it; the lock goes with the process."""
        shutil.rmtree(self.path, ignore_errors=True)

    def used_before(self) -> bool:
        return bool(self._read("session"))

    def host(self) -> str:
        """The name of this machine's record, made up when a worker first starts here."""
        name = self._read("host")
        if not name:
            name = f"{os.uname().nodename.split('.')[0]}-{os.urandom(4).hex()}"
            self._write_durably("host", name)
        return name

    def key(self) -> str:
        """By which the server knows this host again: nobody else can speak for it. Made up once,
        and on disk before it is used."""
        key = self._read("key")
        if not key:
            key = os.urandom(32).hex()
            self._write_durably("key", key)
        return key

    def next_session(self) -> int:
        """On disk before it is used: were a number used twice, the server would take the first
        calls of the new worker for late ones of the old."""
        before = self._read("session")
        session = int(before) + 1 if before.isdigit() else 1
        self._write_durably("session", str(session))
        return session

    def _read(self, name: str) -> str:
        try:
            with open(self._at(name), encoding="utf-8") as file:
                return file.read().strip()
        except FileNotFoundError:
            return ""

    def _write_durably(self, name: str, text: str) -> None:
        fresh = self._at(name + ".new")
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, self._at(name))
        folder = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
