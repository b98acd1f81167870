"""Where tasks write: a ring of reused files, read after the task has ended.

A task's stdout and stderr are files without a name in the worker's folder, emptied and used again
by the next task: fresh files for each task cost more than the task when it is short. They are
opened for appending, as tasks' children share them. What a task prints beyond `PUNCH_ABOVE` is
given back to the disk while it runs (a hole between the head and the tail that are kept), so that
endless output costs neither memory nor disk; where the file system cannot do that, the task is
ended as over its disk limit.

Each slot also has a path for `$TAILRACE_RESULT`, looked for with one call after the task, and a
piece of shared memory by which a forked child says why it could not become the task.
"""

from __future__ import annotations

import mmap
import os
from typing import Any, Dict, List, NamedTuple, Optional

from .linux import punch_hole
from .results import encoded_bytes

PUNCH_ABOVE = 64 << 20
_KEEP_TAIL = 8 << 20  # of a punched file; what is read of it is less
_BLOCK = 1 << 16
_NOTE = 1024
_ESCAPED = 6  # a byte is no more than this in JSON
_OPEN = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC


class Printed(NamedTuple):
    size: int
    text: str  # head and tail


class Slot:
    """One task's place at a time."""

    __slots__ = (
        "_own", "begins", "err", "note", "number", "out", "punched", "result_path", "seen",
        "together",
    )  # fmt: skip

    def __init__(self, folder: str, number: int) -> None:
        self.number = number
        self.out = _nameless(os.path.join(folder, f"{number}.out"))
        self.err = _nameless(os.path.join(folder, f"{number}.err"))
        self.result_path = os.path.join(folder, f"{number}.result")
        self.note: Any = mmap.mmap(-1, _NOTE)
        self.punched = {self.out: 0, self.err: 0}
        self.seen = 0
        self._own = (self.out, self.err)
        self.begins: Dict[int, int] = {}  # of files that are lent: what stood there before
        self.together = False  # stdout and stderr go to one file

    def lend(self, out: Optional[int], err: Optional[int], together: bool) -> None:
        """The next task writes into these files; None: into its own as ever."""
        self.out = self._own[0] if out is None else out
        self.err = self._own[1] if err is None else err
        self.together = together
        self.begins = {fd: os.fstat(fd).st_size for fd in (out, err) if fd is not None}

    def give_back_lent(self) -> None:
        for fd in self.begins:
            os.close(fd)
        self.out, self.err = self._own
        self.begins, self.together = {}, False

    def printed(self, fd: int, keep: int, encoded: int) -> Printed:
        return read_between(fd, self.begins.get(fd, 0), os.fstat(fd).st_size, keep, encoded)

    def clear(self, out_size: int, err_size: int) -> None:
        if self.begins:
            self.give_back_lent()
        if out_size:
            os.ftruncate(self.out, 0)
        if err_size:
            os.ftruncate(self.err, 0)
        if self.seen > PUNCH_ABOVE:
            self.punched = {self.out: 0, self.err: 0}
        self.seen = 0
        if self.note[0]:
            self.note[:] = bytes(_NOTE)

    def close(self) -> None:
        self.give_back_lent()
        os.close(self.out)
        os.close(self.err)
        self.note.close()

    def trim(self) -> bool:
        """Give back what nobody will read; false when the file system cannot. Files that are lent
        are their owner's."""
        own = [fd for fd in (self.out, self.err) if fd not in self.begins]
        sizes = [(fd, os.fstat(fd).st_size) for fd in own]
        self.seen = sum(size for _, size in sizes)
        return all(self._trim(fd, size) for fd, size in sizes if size > PUNCH_ABOVE)

    def _trim(self, fd: int, size: int) -> bool:
        start = max(self.punched[fd], _KEEP_TAIL)
        end = (size - _KEEP_TAIL) // _BLOCK * _BLOCK
        if end <= start:
            return True
        self.punched[fd] = end
        return punch_hole(fd, start, end - start)


class Ring:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._free: List[Slot] = []
        self._made = 0
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(folder):  # of an earlier worker
            remove(os.path.join(folder, name))

    def take(self) -> Slot:
        if self._free:
            return self._free.pop()
        self._made += 1
        return Slot(self._folder, self._made)

    def give_back(self, slot: Slot) -> None:
        self._free.append(slot)


def remove(path: str) -> None:
    try:
        os.unlink(path)
    except IsADirectoryError:
        import shutil

        shutil.rmtree(path, ignore_errors=True)
    except OSError:
        pass


def _nameless(path: str) -> int:
    fd = os.open(path, _OPEN, 0o600)
    os.unlink(path)
    return fd


def read_between(fd: int, begin: int, end: int, keep: int, encoded: int) -> Printed:
    """The first quarter and the last three quarters of what may be kept of this part of the file:
    at most `keep` bytes, and so few that they are no more than `encoded` bytes as JSON."""
    size = end - begin
    if size <= 0:
        return Printed(0, "")
    keep = min(keep, size)
    while True:
        text = _head_and_tail(fd, begin, size, keep)
        if keep * _ESCAPED <= encoded - 100:
            return Printed(size, text)
        needed = encoded_bytes(text)
        if needed <= encoded:
            return Printed(size, text)
        keep = keep * encoded // needed * 7 // 8


def _head_and_tail(fd: int, begin: int, size: int, keep: int) -> str:
    if size == keep:
        return _decode(os.pread(fd, size, begin))
    first = keep // 4
    last = keep - first
    head, tail = os.pread(fd, first, begin), os.pread(fd, last, begin + size - last)
    between = f"\n[... {size - keep} bytes left out ...]\n"
    return _decode(head) + between + _decode(tail)


def read_tail(fd: int, size: int, limit: int) -> str:
    start = max(0, size - limit)
    return _decode(os.pread(fd, size - start, start))


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")
