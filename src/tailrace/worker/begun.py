"""Which attempts the keeper has begun: in a file, which can still be read when the keeper is dead.

An attempt that was not begun may be handed back as if it had never been sent; one that was may be
what killed the keeper. Each slot of the ring has its place in the file, so that noting one costs a
single short write: no message, and nobody is woken.
"""

from __future__ import annotations

import os
from typing import FrozenSet

_SIZE = 8


class Begun:
    """The keeper's side."""

    def __init__(self, path: str) -> None:
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:  # a full disk: then nothing is known to have begun
            self._fd = -1

    def note(self, slot: int, attempt: int) -> None:
        if self._fd < 0:
            return
        try:
            os.pwrite(self._fd, attempt.to_bytes(_SIZE, "little"), slot * _SIZE)
        except OSError:
            pass


def read(path: str) -> FrozenSet[int]:
    """The newest attempt of each slot; some of them may have ended."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return frozenset()
    places = range(0, len(data), _SIZE)
    return frozenset(int.from_bytes(data[at : at + _SIZE], "little") for at in places)


def forget(path: str) -> None:
    """A new keeper has begun nothing."""
    try:
        os.unlink(path)
    except OSError:
        pass
