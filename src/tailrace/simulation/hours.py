"""Intervals in which a machine is away: the gaps of a trace, the hours of its owner."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

HOUR_US = 3600 * 1_000_000
DAY_US = 24 * HOUR_US

Interval = tuple[int, int]


def gaps(up: Iterable[Interval], until_us: int) -> Iterator[Interval]:
    """The outages between the given intervals of being up, from 0 to `until_us`."""
    at = 0
    for begins, ends in up:
        if begins > at:
            yield at, min(begins, until_us)
        at = max(at, ends)
    if at < until_us:
        yield at, until_us


def joined(intervals: Iterable[Interval]) -> Iterator[Interval]:
    """Those that touch become one: nobody comes back for no time at all."""
    begins, ends = 0, -1
    for begin, end in intervals:
        if begin > ends:
            if ends > begins:
                yield begins, ends
            begins = begin
        ends = max(ends, end)
    if ends > begins:
        yield begins, ends


def working_hours(
    begins_h: float = 9.0,
    ends_h: float = 17.0,
    weekdays: Collection[int] = range(5),
    since_us: int = 0,
) -> Iterator[Interval]:
    """Without end: those hours of each working day. Time 0 is the midnight before a Monday (0).
    Hours beyond 24 reach into the day after, so that the first may have begun the day before."""
    day = since_us // DAY_US - (ends_h > 24)
    while weekdays:
        if day % 7 in weekdays:
            midnight = day * DAY_US
            yield midnight + int(begins_h * HOUR_US), midnight + int(ends_h * HOUR_US)
        day += 1
