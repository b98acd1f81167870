"""The few things of Linux that Python does not offer; each degrades quietly elsewhere."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Optional

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_FALLOC_KEEP_SIZE_AND_PUNCH_HOLE = 0x01 | 0x02
_KILL = 9


def _load() -> Optional[Any]:
    try:
        libc = ctypes.CDLL(None, use_errno=True)
    except OSError:
        return None
    return libc if hasattr(libc, "prctl") else None


_libc = _load()


def become_subreaper() -> bool:
    """Orphaned descendants become children of this process, also those that called setsid."""
    return _libc is not None and _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def die_with(parent: int) -> None:
    """Be killed by the kernel when the parent dies; called between fork and exec."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, _KILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the call above
        os._exit(_KILL)


def take_name(name: str) -> None:
    """In place of its command line, for all who look for processes by name."""
    if _libc is None:
        return
    _libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
    try:
        with open("/proc/self/stat", "rb") as file:
            start, end = map(int, file.read().rpartition(b")")[2].split()[45:47])
    except (OSError, ValueError):
        return
    room = end - start  # of the words of the command, where the kernel reads them
    if start and room > len(name):
        ctypes.memmove(start, name.encode().ljust(room, b"\0"), room)


def punch_hole(fd: int, start: int, length: int) -> bool:
    """Give the middle of a file back to the disk; its size stays."""
    if _libc is None or not hasattr(_libc, "fallocate"):
        return False
    where, size = ctypes.c_int64(start), ctypes.c_int64(length)
    return bool(_libc.fallocate(fd, _FALLOC_KEEP_SIZE_AND_PUNCH_HOLE, where, size) == 0)
