"""Files on this machine's disk, by what is in them: fetched once, laid out for many attempts.

The oldest go when all are larger than the cache may be; those in use stay. A file that is only half
there is kept, too: chunk by chunk it is looked at again, and what is whole is not fetched anew.
After a restart of the machine every file is looked at like that, for nothing here is synced.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import Dict

from .blobs import File, Read, digest
from .filling import GoOn, fill

PART = ".part"
BOOT = "/proc/sys/kernel/random/boot_id"


class Cache:
    def __init__(self, folder: str, most: int) -> None:
        self._folder, self._most = folder, most
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._guard = threading.Lock()
        self._used: Dict[str, int] = {}  # how many attempts need it now
        self._sizes: "OrderedDict[str, int]" = OrderedDict()  # the one used last comes last
        self._total = 0
        self._doubt_older_boots()
        self._look()

    def path(self, file: File) -> str:
        return os.path.join(self._folder, _name(file))

    def _doubt_older_boots(self) -> None:
        now, mark = _text(BOOT), os.path.join(self._folder, "boot")
        if _text(mark) == now:
            return
        for name in os.listdir(self._folder):
            if "-" in name and not name.endswith(PART):
                path = os.path.join(self._folder, name)
                os.chmod(path, 0o600)
                os.replace(path, path + PART)
        with open(mark, "w", encoding="utf-8") as file:
            file.write(now)

    def _look(self) -> None:
        found = []
        for entry in os.scandir(self._folder):
            if "-" in entry.name:
                there = entry.stat(follow_symlinks=False)
                found.append((there.st_mtime, entry.name, there.st_size))
        for _, name, size in sorted(found):
            self._sizes[name] = size
            self._total += size

    # ---- in use -------------------------------------------------------------------------------

    def has(self, file: File) -> bool:
        with self._guard:
            return _name(file) in self._sizes

    def use(self, file: File) -> None:
        """It stays until it is let go, as often as it was used."""
        name = _name(file)
        with self._guard:
            self._used[name] = self._used.get(name, 0) + 1
            if name in self._sizes:
                self._sizes.move_to_end(name)
                _touch(os.path.join(self._folder, name))

    def let_go(self, file: File) -> None:
        name = _name(file)
        with self._guard:
            left = self._used.get(name, 0) - 1
            if left > 0:
                self._used[name] = left
            else:
                self._used.pop(name, None)
            self._make_room(0)

    # ---- filling ------------------------------------------------------------------------------

    def put(self, file: File, data: bytes) -> None:
        """A small one that came along."""
        if not self.has(file) and digest(data) == file.hash and len(data) == file.size:
            self.fetch(file, lambda name: data, lambda: None)

    def fetch(self, file: File, read: Read, go_on: GoOn) -> None:
        """`read` gives blobs that are what they say; `go_on` raises when nobody wants it any more.
        One thread at a time for each file."""
        part = self.path(file) + PART
        self._begin(file, part)
        fill(part, file, read, go_on, 0o400)
        self._end(file, part)

    def _begin(self, file: File, part: str) -> None:
        with self._guard:
            self._total -= self._sizes.pop(os.path.basename(part), 0)
            self._make_room(file.size)

    def _end(self, file: File, part: str) -> None:
        os.replace(part, self.path(file))
        with self._guard:
            self._sizes[_name(file)] = file.size
            self._total += file.size
            self._make_room(0)

    def _make_room(self, wanted: int) -> None:
        if self._total + wanted <= self._most:
            return
        for name in [name for name in self._sizes if name not in self._used]:
            if self._total + wanted <= self._most:
                return
            self._total -= self._sizes.pop(name)
            _remove(os.path.join(self._folder, name))


def _name(file: File) -> str:
    return f"{file.hash}-{file.size}"


def _touch(path: str) -> None:
    try:
        os.utime(path)
    except OSError:
        pass


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        pass


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""
