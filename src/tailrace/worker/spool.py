"""Results on disk until the server has acknowledged them: one file, one JSON line each.

Nothing is forced to the disk (no fsync). The spool is there for a worker that dies: what was
written is then with the kernel, and the next worker finds it. If the whole machine loses power,
results not yet acknowledged may be lost with it, exactly like the tasks that were running: the
server sends those tasks again. An acknowledged result is the server's, and no longer needed here.
A line torn by a crash or a full disk is skipped. A spool that cannot be written is not fatal
either: results are still in memory and are still sent.
"""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Dict, Iterable, List

Json = Dict[str, Any]
REWRITE_ABOVE = 1 << 20


class Spool:
    def __init__(self, path: str, log: Callable[[str], None]) -> None:
        self._path, self._log = path, log
        self.lines: Dict[int, bytes] = {}  # of results not yet acknowledged
        self._size = 0
        self._torn = False
        self.results: List[Json] = self._load()
        self._fd = -1
        self._rewrite()

    def _load(self) -> List[Json]:
        found: Dict[int, Json] = {}
        try:
            with open(self._path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return []
        for line in data.split(b"\n"):
            entry = _parse(line)
            if entry is None:
                continue
            for attempt in entry.get("forget", ()):
                found.pop(attempt, None)
                self.lines.pop(attempt, None)
            if "attempt" in entry:
                found[entry["attempt"]] = entry
                self.lines[entry["attempt"]] = line
        return list(found.values())

    def _rewrite(self) -> None:
        """Afresh with what is still needed, beside the old file and then in its place."""
        fresh = self._path + ".new"
        data = b"".join(line + b"\n" for line in self.lines.values())
        fd = -1
        try:
            fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
            _write_all(fd, data)
            os.replace(fresh, self._path)
        except OSError as error:
            if fd >= 0:
                os.close(fd)
            self._complain(error)
            return
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._size, self._torn = fd, len(data), False

    def keep(self, entries: Dict[int, bytes]) -> None:
        self.lines.update(entries)
        self._append(b"".join(line + b"\n" for line in entries.values()))

    def forget(self, attempts: Iterable[int]) -> None:
        gone = [attempt for attempt in attempts if self.lines.pop(attempt, None) is not None]
        if not self.lines and self._empty():
            return
        if gone:
            self._append(json.dumps({"forget": gone}).encode() + b"\n")
            needed = sum(map(len, self.lines.values()))
            if self._size > REWRITE_ABOVE and self._size > 2 * needed:
                self._rewrite()

    def _empty(self) -> bool:
        if self._size and self._fd >= 0:
            try:
                os.ftruncate(self._fd, 0)
            except OSError as error:
                self._complain(error)
                return False
            self._size, self._torn = 0, False
        return True

    def _append(self, data: bytes) -> None:
        if self._fd < 0:
            self._rewrite()
            return
        try:
            _write_all(self._fd, b"\n" + data if self._torn else data)
            self._torn = False
            self._size += len(data)
        except OSError as error:
            self._torn = True
            self._complain(error)

    def _complain(self, error: OSError) -> None:
        self._log(f"results cannot be kept on disk ({error.strerror}); they are kept in memory")


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _parse(line: bytes) -> Any:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None
