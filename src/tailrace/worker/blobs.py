"""A file as blobs: chunks of 1 MiB, each named by its hash, and the list of their hashes.

The list of a long file is cut into chunks as a file is, and so is the list of those, until one is
left: its hash is the file's. So no blob is larger than a chunk, every blob can be checked by its
name, and a file is known by the hash at its top and its size.
"""

from __future__ import annotations

import hashlib
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, NamedTuple, Tuple

CHUNK = 1 << 20
DIGEST = 32
MOST = 1 << 40  # of one file: the names of its chunks must fit into memory
HEX = frozenset("0123456789abcdef")


class File(NamedTuple):
    """The bytes of a file, wherever they are."""

    hash: str
    size: int


Read = Callable[[str], Any]  # the bytes of a blob, by its name


class Broken(Exception):
    """What stands under a name is not what the name says."""


def digest(data: Any) -> str:
    return hashlib.sha256(data).hexdigest()


def is_digest(text: str) -> bool:
    return len(text) == 2 * DIGEST and HEX.issuperset(text)


def is_file(name: str, size: int) -> bool:
    """As far as can be seen without its blobs."""
    return is_digest(name) and 0 <= size <= MOST


def lengths(size: int) -> List[int]:
    """Of the chunks of a file; an empty one has one."""
    full, rest = divmod(size, CHUNK)
    return [CHUNK] * full + ([rest] if rest or not full else [])


def list_of(file: File) -> File:
    """The list of its chunks is a file of the same name."""
    return File(file.hash, -(-file.size // CHUNK) * DIGEST)


def chunks(file: File, read: Read) -> List[str]:
    """The names of its chunks, in order; `read` is asked for the lists alone."""
    if file.size <= CHUNK:
        return [file.hash]
    text = content(list_of(file), read)
    return [text[at : at + DIGEST].hex() for at in range(0, len(text), DIGEST)]


def content(file: File, read: Read) -> bytes:
    """All its bytes, for one that fits into memory."""
    found = [read(name) for name in chunks(file, read)]
    if [len(data) for data in found] != lengths(file.size):
        raise Broken(f"the chunks of {file.hash} are not {file.size:,} bytes")
    return b"".join(found)


def blobs_of(file: File, read: Read) -> Iterator[Tuple[str, int]]:
    """Name and length of every blob of it, lists and chunks."""
    if file.size > CHUNK:
        yield from blobs_of(list_of(file), read)
    yield from zip(chunks(file, read), lengths(file.size))


class Described(NamedTuple):
    file: File
    chunks: List[str]
    lists: Dict[str, bytes]


def describe(stream: BinaryIO) -> Described:
    """Reads it once, to its end."""
    found: List[bytes] = []
    size = 0
    while True:
        data = stream.read(CHUNK)
        if data or not found:
            found.append(hashlib.sha256(data).digest())
            size += len(data)
        if len(data) < CHUNK:
            break
    top, lists = _above(found)
    return Described(File(top, size), [each.hex() for each in found], lists)


def _above(found: List[bytes]) -> Tuple[str, Dict[str, bytes]]:
    if len(found) == 1:
        return found[0].hex(), {}
    text = b"".join(found)
    cut = [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]
    top, lists = _above([hashlib.sha256(part).digest() for part in cut])
    lists.update((digest(part), part) for part in cut)
    return top, lists
