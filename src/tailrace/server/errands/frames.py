"""Texts of bytes, one behind the other in a file: of many megabytes each is read when it is asked
for, and none in one piece with the others."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Iterator
from typing import IO

_HEAD = 8  # bytes that say how many follow


class Frames:
    """As somebody else has written them; the file goes with the last who knows of it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        weakref.finalize(self, file.close)
        self._places = list(_places(file.fileno()))

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, k: int) -> bytes:
        at, size = self._places[k]
        return _read(self._file.fileno(), at, size)


def write(file: IO[bytes], frames: Iterable[bytes]) -> None:
    for frame in frames:
        file.write(len(frame).to_bytes(_HEAD, "little"))
        file.write(frame)
    file.flush()


def _places(file: int) -> Iterator[tuple[int, int]]:
    at = 0
    while head := _read(file, at, _HEAD):
        size = int.from_bytes(head, "little")
        yield at + _HEAD, size
        at += _HEAD + size


def _read(file: int, at: int, size: int) -> bytes:
    """All of it, or nothing where the file ends."""
    parts: list[bytes] = []
    while size and (part := os.pread(file, size, at)):
        parts.append(part)
        at, size = at + len(part), size - len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
