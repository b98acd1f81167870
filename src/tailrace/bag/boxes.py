"""Sweeps less what other sweeps have: what is left is sweeps again.

A sweep is a box: on each axis, some values. A box less another is cut along one axis after the
other: of the values they do not share, the whole slice is left; of those they share, what is left
on the axes behind. So ten million tasks are compared with ten million others without a look at one.
"""

from __future__ import annotations

from fractions import Fraction

from tailrace.bag.alike import digests, like
from tailrace.bag.rows import Rows, encode_chunk, in_chunks
from tailrace.bag.spans import Spans, both, size, spans_of, without
from tailrace.bag.sweep import Axis, Column, Sweep, length
from tailrace.bag.values import Listed, Range
from tailrace.errors import BadInput

MOST_COMPARED = 10_000_000
Box = tuple[Spans, ...]  # on each axis, the places


class Cutter:
    """Cuts boxes out of one sweep."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self._digests: dict[int, list[bytes]] = {}
        self.whole: Box = tuple(((0, length(axis)),) for axis in sweep.axes)

    def less(self, boxes: list[Box], other: Sweep) -> list[Box]:
        """What of these boxes the other sweep does not have."""
        shared = [self._shared(number, other) for number in range(len(self.sweep.axes))]
        return [piece for box in boxes for piece in _cut(box, shared)]

    def _shared(self, number: int, other: Sweep) -> Spans:
        """The places of an axis whose values are on the other's axis, too."""
        axis = self.sweep.axes[number]
        theirs = like(axis, other)
        if axis == theirs and not isinstance(axis[0], Rows):
            return self.whole[number]
        if len(axis) == len(theirs) == 1:
            one, two = axis[0], theirs[0]
            if isinstance(one, Range) and isinstance(two, Range) and _in_step(one, two):
                return _overlap(one, two)
        _refuse_many(max(length(axis), length(theirs)))
        known = frozenset(digests(theirs, other))
        mine = self._digests.get(number)
        if mine is None:
            mine = self._digests[number] = digests(axis, self.sweep)
        return spans_of(place for place, digest in enumerate(mine) if digest in known)

    def made(self, box: Box) -> tuple[tuple[Axis, ...], list[bytes]]:
        """The axes of a box, and the chunks of its rows."""
        chunks: list[bytes] = []
        axes = []
        for axis, spans in zip(self.sweep.axes, box, strict=True):
            axes.append(tuple(_restricted(column, spans) for column in axis))
            if isinstance(axis[0], Rows):
                row = self.sweep.reader.row
                rows = (row(place) for begin, end in spans for place in range(begin, end))
                chunks = [encode_chunk(chunk) for chunk in in_chunks(rows)]
        return tuple(axes), chunks


def tasks(box: Box) -> int:
    found = 1
    for spans in box:
        found *= size(spans)
    return found


def _cut(box: Box, shared: list[Spans]) -> list[Box]:
    found = []
    inner = list(box)
    for number, spans in enumerate(shared):
        rest, common = without(box[number], spans), both(box[number], spans)
        if rest:
            found.append((*inner[:number], rest, *box[number + 1 :]))
        if not common:
            return found
        inner[number] = common
    return found


def _refuse_many(values: int) -> None:
    if values > MOST_COMPARED:
        raise BadInput(
            f"{values:,} values would be compared one by one, more than {MOST_COMPARED:,}",
            remedy="Give a range with the steps that the bag's own has.",
        )


def _in_step(one: Range, two: Range) -> bool:
    same = one.whole == two.whole and one.step == two.step != "0"
    return same and (_offset(one, two)).denominator == 1


def _offset(one: Range, two: Range) -> Fraction:
    """How many steps the second begins behind the first."""
    return (Fraction(two.start) - Fraction(one.start)) / Fraction(one.step)


def _overlap(one: Range, two: Range) -> Spans:
    first = int(_offset(one, two))
    begin, end = max(first, 0), min(first + two.count, one.count)
    return ((begin, end),) if begin < end else ()


def _restricted(column: Column, spans: Spans) -> Column:
    if spans == ((0, column.count),):
        return column
    if isinstance(column, Rows):
        return Rows(column.columns, column.kinds, size(spans))
    if isinstance(column, Range) and len(spans) == 1:
        begin, end = spans[0]
        start = Fraction(column.start) + begin * Fraction(column.step)
        return Range(column.name, str(start), column.step, end - begin, column.whole)
    _refuse_many(size(spans))
    at = column.reader()
    values = (at(place) for begin, end in spans for place in range(begin, end))
    return Listed(column.name, tuple(values))
