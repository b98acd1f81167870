"""Chunks of rows on their way from a file to the store: many of them wait on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator

IN_MEMORY = 16 << 20  # bytes; ten million commands are more


class Chunks:
    """Written once, then read in any order."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - ends with the bag
        self._ends = [0]

    def append(self, chunk: bytes) -> None:
        self._file.write(chunk)
        self._ends.append(self._ends[-1] + len(chunk))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, k: int) -> bytes:
        begin, end = self._ends[k], self._ends[k + 1]
        self._file.seek(begin)
        return self._file.read(end - begin)


class Reading:
    """Chunks by number, each read when its turn comes; may be gone through more than once."""

    def __init__(self, read: Callable[[int], bytes], count: int) -> None:
        self._read = read
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, k: int) -> bytes:
        return self._read(k)

    def __iter__(self) -> Iterator[bytes]:
        return map(self._read, range(self._count))
