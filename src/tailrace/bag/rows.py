"""Rows that are listed one by one (commands, CSV): kept in chunks, each read when it is needed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Literal

import msgspec

from tailrace.bag.values import Value, number

CHUNK = 1000  # rows in a stored chunk
KEPT = 8  # decoded chunks in memory

Row = list[str]
Kind = Literal["text", "int", "number"]
ReadChunk = Callable[[int], bytes]

_decoder = msgspec.msgpack.Decoder(list[Row])
_encoder = msgspec.msgpack.Encoder()


class Rows(msgspec.Struct, frozen=True, tag="rows", omit_defaults=True):
    """An axis of several parameters. A cell is kept as it was written: `007` stays `007`."""

    columns: tuple[str, ...]
    kinds: tuple[Kind, ...]
    count: int


class RowReader:
    """Row by number, with the chunks used last in memory."""

    def __init__(self, read: ReadChunk) -> None:
        self._read = read
        self._kept: OrderedDict[int, list[Row]] = OrderedDict()
        self._number = -1
        self._rows: list[Row] = []

    def row(self, index: int) -> Row:
        number, offset = divmod(index, CHUNK)
        if number != self._number:
            self._rows = self.chunk(number)
            self._number = number
        return self._rows[offset]

    def chunk(self, number: int) -> list[Row]:
        rows = self._kept.pop(number, None)
        if rows is None:
            rows = _decoder.decode(self._read(number))
        self._kept[number] = rows
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return rows


def in_chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    rows = iter(rows)
    while chunk := list(islice(rows, CHUNK)):
        yield chunk


def encode_chunk(rows: list[Row]) -> bytes:
    return _encoder.encode(rows)


def kind_of(cells: Iterable[str]) -> Kind:
    """What every cell of a column is. `007` and `+1` are text: as numbers they would change."""
    kind: Kind = "int"
    for cell in cells:
        if not _numeric(cell):
            return "text"
        if kind == "int" and not cell.lstrip("-").isdecimal():
            kind = "number"
    return kind


def misfit(cells: Iterable[str], kind: Kind) -> str | None:
    """The first cell that is not of the kind, if one is not."""
    if kind == "text":
        return None
    whole = kind == "int"
    return next((cell for cell in cells if not _is_number(cell, whole)), None)


def _is_number(cell: str, whole: bool) -> bool:
    return _numeric(cell) and not (whole and not cell.lstrip("-").isdecimal())


def typed(cell: str, kind: Kind) -> Value:
    return cell if kind == "text" else number(cell)


def _numeric(cell: str) -> bool:
    digits = cell.lstrip("-")
    if not digits or not digits.isascii() or not (digits[0].isdigit() or digits[0] == "."):
        return False
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        return False
    try:
        return abs(number(cell)) < 2**63
    except ValueError:
        return False
