"""A file on disk, filled chunk by chunk: what is whole already is not asked for again."""

from __future__ import annotations

import os
from typing import Any, Callable

from .blobs import CHUNK, Broken, File, Read, chunks, digest, lengths

# A chunk in one piece costs up to eight times as much: the kernel then looks for large pages.
PIECE = 1 << 16
GoOn = Callable[[], object]  # asked before each chunk; raises when nobody wants the file any more


def fill(path: str, file: File, read: Read, go_on: GoOn, mode: int) -> None:
    """`read` gives blobs that are what their names say, each good until the next is read."""
    names = chunks(file, lambda name: bytes(read(name)))
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        before = os.fstat(descriptor).st_size
        if before > file.size:
            os.ftruncate(descriptor, file.size)
        for at, (name, size) in enumerate(zip(names, lengths(file.size))):
            go_on()
            place = at * CHUNK
            if place + size > before or digest(os.pread(descriptor, size, place)) != name:
                _write(descriptor, _checked(read(name), size), place)
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def _checked(data: Any, size: int) -> Any:
    if len(data) != size:
        raise Broken(f"a chunk has {len(data):,} bytes, not {size:,}")
    return data


def _write(descriptor: int, data: Any, at: int) -> None:
    view = memoryview(data)
    while view:
        done = os.pwrite(descriptor, view[:PIECE], at)
        view, at = view[done:], at + done
