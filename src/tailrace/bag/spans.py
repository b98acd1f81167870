"""Places of an axis as spans, each `(first, behind the last)`, in order and apart from each other:
those of a range of a billion values are as short to say as those of ten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Span = tuple[int, int]
Spans = tuple[Span, ...]


def size(spans: Spans) -> int:
    return sum(end - begin for begin, end in spans)


def both(one: Spans, other: Spans) -> Spans:
    """The places of one that are also of the other."""
    found, at = [], 0
    for begin, end in one:
        while at < len(other) and other[at][1] <= begin:
            at += 1
        later = at
        while later < len(other) and other[later][0] < end:
            found.append((max(begin, other[later][0]), min(end, other[later][1])))
            later += 1
    return tuple(found)


def without(one: Spans, other: Spans) -> Spans:
    """The places of one that are not of the other."""
    return both(one, tuple(_gaps(other)))


def _gaps(spans: Spans) -> Iterator[Span]:
    behind = 0
    for begin, end in spans:
        if begin > behind:
            yield behind, begin
        behind = end
    yield behind, 1 << 62


def spans_of(places: Iterable[int]) -> Spans:
    """Of single places, in order."""
    found: list[Span] = []
    for place in places:
        if found and found[-1][1] == place:
            found[-1] = (found[-1][0], place + 1)
        else:
            found.append((place, place + 1))
    return tuple(found)
