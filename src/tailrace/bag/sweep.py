"""A sweep: the parameters of task `i`, computed from `i`.

The axes are the digits of a number in mixed radix. The first axis turns slowest, as the outermost
of nested loops; the last turns fastest. Parameters that are zipped share one axis. Nothing is
stored per task, so a sweep of a billion tasks is as quick to submit as one of ten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod

import msgspec

from tailrace.bag.rows import Kind, ReadChunk, RowReader, Rows, typed
from tailrace.bag.values import Listed, LogSpaced, Range, Value

Column = Listed | Range | LogSpaced | Rows
Axis = tuple[Column, ...]  # one column, or several of one length, zipped
Raw = dict[str, Value]


class Place(msgspec.Struct, frozen=True):
    """Which digit of a task's number a column reads."""

    column: Column
    axis: int  # columns that are zipped have the same
    stride: int
    count: int


def length(axis: Axis) -> int:
    return axis[0].count


def size(axes: Iterable[Axis]) -> int:
    return prod(length(axis) for axis in axes)


def places(axes: tuple[Axis, ...]) -> list[Place]:
    found, stride = [], size(axes)
    for number, axis in enumerate(axes):
        stride //= max(length(axis), 1)
        found += [Place(column, number, stride, length(axis)) for column in axis]
    return found


def names(column: Column) -> tuple[str, ...]:
    return column.columns if isinstance(column, Rows) else (column.name,)


class Sweep:
    def __init__(self, axes: tuple[Axis, ...], read: ReadChunk) -> None:
        self.axes = axes
        self.read = read
        self.count = size(axes)
        self.places = places(axes)
        self.reader = RowReader(read)
        self._single = [
            _single(place) for place in self.places if not isinstance(place.column, Rows)
        ]
        self._listed = [
            (p.column.columns, p.stride, p.count) for p in self.places if isinstance(p.column, Rows)
        ]
        self.kinds = _kinds(self.places)

    def raw(self, index: int) -> Raw:
        """Values as they stand in a command: cells of a CSV as they were written."""
        found: Raw = {}
        for columns, stride, count in self._listed:
            found.update(zip(columns, self.reader.row(index // stride % count), strict=True))
        for name, at, stride, count in self._single:
            found[name] = at(index // stride % count)
        return found

    def typed(self, raw: Raw) -> Raw:
        """The same with numbers for the CSV columns that hold nothing else."""
        if not self.kinds:
            return raw
        kinds = self.kinds
        return {n: typed(v, kinds[n]) if n in kinds else v for n, v in raw.items()}  # type: ignore[arg-type]

    def params(self, index: int) -> Raw:
        return self.typed(self.raw(index))

    def place_of(self, name: str) -> Place | None:
        return next((place for place in self.places if name in names(place.column)), None)

    def names(self) -> list[str]:
        return [name for place in self.places for name in names(place.column)]


def _single(place: Place) -> tuple[str, Callable[[int], Value], int, int]:
    column = place.column
    assert not isinstance(column, Rows)
    return column.name, column.reader(), place.stride, place.count


def _kinds(places: list[Place]) -> dict[str, Kind]:
    return {
        name: kind
        for place in places
        if isinstance(place.column, Rows)
        for name, kind in zip(place.column.columns, place.column.kinds, strict=True)
        if kind != "text"
    }
