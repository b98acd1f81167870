"""A bag of calls: one function, and for each task the pickled arguments of one call.

Nothing here unpickles anything: function and items are bytes that only a runner, and the program
that handed them in, can read. Chunk 0 holds what all tasks share, the others the items: a thousand
to a chunk, or fewer when they are large. One that is larger than `LARGE` is a file that travels, as
those of other bags do, and in the chunk stands by which name it is found.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

MOST_ITEMS = 1000  # in a chunk
CHUNK_BYTES = 1 << 20  # an item that is larger has a chunk of its own
KEPT = 4  # decoded chunks in memory
LARGE = 256 * 1024  # bytes: more are no row's


class Parcel(msgspec.Struct, frozen=True, array_like=True):
    """An item that travels as a file."""

    hash: str
    size: int


Item = bytes | Parcel
decode_items = msgspec.msgpack.Decoder(list[Item]).decode
_encode = msgspec.msgpack.Encoder().encode


class Function(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is stored of it in the bag's spec: enough to show it, and to find a Python for it."""

    name: str
    python: str  # "3.11": pickled code is read by the same minor version only
    interpreter: str  # the caller's; a host without it looks for its own of that version
    path: tuple[str, ...] = ()  # the caller's sys.path
    runners: str = ""  # bags of the same name share their runners
    ends: tuple[int, ...] = ()  # of each chunk of items: how many items there are up to it

    @property
    def count(self) -> int:
        return self.ends[-1] if self.ends else 0


class Luggage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What all tasks share; read by the runners."""

    function: bytes = b""  # pickled; empty: each item brings its own
    cloudpickle: bytes = b""  # a zip with the package, for a Python that has none


_decode_luggage = msgspec.msgpack.Decoder(Luggage).decode


def pack(luggage: Luggage) -> bytes:
    return _encode(luggage)


def in_chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    chunk: list[Item] = []
    size = 0
    for item in items:
        length = 0 if isinstance(item, Parcel) else len(item)
        if chunk and (len(chunk) == MOST_ITEMS or size + length > CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(item)
        size += length
    if chunk:
        yield chunk


def encode_items(chunk: list[Item]) -> bytes:
    return _encode(chunk)


class Items:
    """Item by number, with the chunks used last in memory."""

    def __init__(self, function: Function, read: Callable[[int], bytes]) -> None:
        self._function = function
        self._read = read
        self._kept: OrderedDict[int, list[Item]] = OrderedDict()

    def __getitem__(self, index: int) -> Item:
        ends = self._function.ends
        chunk = bisect_right(ends, index)
        begin = ends[chunk - 1] if chunk else 0
        return self._chunk(chunk)[index - begin]

    def _chunk(self, number: int) -> list[Item]:
        items = self._kept.get(number)
        if items is None:
            items = self._kept[number] = decode_items(self._read(number + 1))
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return items

    def shared(self) -> dict[str, Any]:
        """In the words of the work call, where bytes are base64."""
        function, luggage = self._function, _decode_luggage(self._read(0))
        return {
            "name": function.name,
            "python": function.python,
            "interpreter": function.interpreter,
            "path": list(function.path),
            "runners": function.runners,
            "pickled": luggage.function,
            "cloudpickle": luggage.cloudpickle,
        }
