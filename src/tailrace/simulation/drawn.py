"""What was drawn, as a table that people can read and change, and that a run can take instead.

Each purpose has a name, such as `bag/1/lengths` or `failure/spot/3/here`, and its values have
numbers from 0 on. What a file does not have is drawn, by the same number as ever: a file with the
lengths of tasks alone, or with a failure moved, leaves everything else as it was.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np

from tailrace.bag.tables import near
from tailrace.quantities import SECOND
from tailrace.simulation.draws import (
    Draws,
    HasDraw,
    HasTimes,
    Name,
    Stream,
    microseconds,
)
from tailrace.simulation.laws.law import Floats, Law

T = TypeVar("T", int, float)
Numbered = Callable[[int, int], Floats]  # so many, from that number on
HEAD = ("what", "number", "value")

Values: TypeAlias = "array[float]"
Events = Mapping[str, Values]  # by name; durations and times in seconds
NONE: Values = array("d")
EXPLAINED = 3  # names that nothing was drawn under


class Book:
    """All that is drawn in a run."""

    def __init__(self) -> None:
        self.values: dict[str, Values] = {}

    def write(self, path: Path) -> None:
        with open(path, "w", newline="", encoding="utf-8") as out:
            rows = csv.writer(out, lineterminator="\n")
            rows.writerow(HEAD)
            for name, values in self.values.items():
                rows.writerows((name, number, repr(value)) for number, value in enumerate(values))


def between(events: Events | None, book: Book | None) -> Between | None:
    """Without either, nobody stands between."""
    return None if events is None and book is None else Between(events or {}, book)


class Between:
    def __init__(self, events: Events, book: Book | None) -> None:
        self._events, self._book = events, book
        self._asked: dict[str, None] = {}

    def never_drawn(self) -> dict[str, str]:
        """Names of events that nothing asked for, a few of them with one that may be meant."""
        names = [name for name in self._events if name not in self._asked]
        known = list(self._asked)
        return {name: near(name, known) if n < EXPLAINED else "" for n, name in enumerate(names)}

    def between(self, stream: Stream, names: tuple[Name, ...]) -> Draws:
        name = "/".join(map(str, names))
        self._asked[name] = None
        noted = None if self._book is None else self._book.values.setdefault(name, array("d"))
        return KnownStream(stream, self._events.get(name, NONE), noted)


class KnownStream:
    """First what is known, then what is drawn; all of it noted, if there is a book."""

    __slots__ = ("_known", "_noted", "_stream")

    def __init__(self, stream: Stream, known: Values, noted: Values | None) -> None:
        self._stream, self._known, self._noted = stream, known, noted

    def uniforms(self) -> Callable[[], float]:
        return self._noting(chain(self._known, _all(self._rest().uniforms()))).__next__

    def of(self, law: Law) -> Callable[[], float]:
        return self._noting(chain(self._known, _all(self._rest().of(law)))).__next__

    def durations(self, law: Law) -> Callable[[], int]:
        rest = self._rest().durations(law)
        return self._noting(chain(_microseconds(self._known), _all(rest)), SECOND).__next__

    def times(self, arrivals: HasTimes) -> Iterator[int]:
        """Those to come are not earlier than the last that is known."""
        rest = islice(arrivals.times(self._stream), len(self._known), None)
        every = accumulate(chain(_microseconds(self._known), rest), max)
        return self._noting(every, SECOND)

    def values(self, law: HasDraw, count: int, start: int = 0) -> Floats:
        return self._numbered(partial(self._stream.values, law), count, start)

    def array(self, count: int, start: int = 0) -> Floats:
        return self._numbered(self._stream.array, count, start)

    def _numbered(self, draw: Numbered, count: int, start: int) -> Floats:
        known = np.array(self._known[start : start + count], np.float64)
        rest = draw(count - len(known), start + len(known))
        found: Floats = np.concatenate([known, rest])
        if self._noted is not None:
            self._note(self._noted, draw, found, start)
        return found

    def _note(self, noted: Values, draw: Numbered, found: Floats, start: int) -> None:
        """None twice, and none left out."""
        if start > len(noted):
            self._numbered(draw, start - len(noted), len(noted))
        noted.extend(found[len(noted) - start :].tolist())

    def _rest(self) -> Stream:
        return self._stream.later(len(self._known))

    def _noting(self, values: Iterable[T], unit: int = 1) -> Iterator[T]:
        return iter(values) if self._noted is None else _noted(values, self._noted, unit)


def _all(draw: Callable[[], T]) -> Iterator[T]:
    return iter(draw, None)  # never None: without end


def _noted(values: Iterable[T], noted: Values, unit: int) -> Iterator[T]:
    for value in values:
        noted.append(value / unit)
        yield value


def _microseconds(seconds: Values) -> list[int]:
    found: list[int] = microseconds(np.array(seconds, np.float64)).tolist()
    return found
