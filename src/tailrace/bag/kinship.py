"""Where the tasks of one bag are in another of the same basis: old numbers become new ones.

Axis by axis: a range is compared with a range by arithmetic, anything else by the hashes of its
values; then numbers are taken apart and put together again in mixed radix, all at once. What is
there twice is there twice: the second of equal rows is known by being the second.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

from tailrace.bag.bag import Bag
from tailrace.bag.identity import depends_on_number
from tailrace.bag.rows import CHUNK, Rows
from tailrace.bag.sweep import Axis, Sweep, length, names
from tailrace.bag.values import Range, show

Numbers = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]  # two of 64 bits for each value
_MOST = 1 << 62
_ODD = np.uint64(0x9E3779B97F4A7C15)


def moved(old: Bag, new: Bag, numbers: Numbers) -> Numbers:
    """The number of each of these tasks of `old` in `new`; -1: it has none there."""
    found = np.zeros(len(numbers), np.int64)
    there = numbers < old.sweep.count  # what comes after all others is never taken over
    for axis in new.spec.axes:
        before = _like(axis, old)
        place = _places(before, axis, old, new)[_digit(old.sweep, before, numbers)]
        there &= place >= 0
        found += place * _stride(new.sweep, axis)
    if depends_on_number(new.spec):
        there &= found == numbers
    return np.where(there & (numbers < _MOST), found, -1)


def _like(axis: Axis, bag: Bag) -> Axis:
    """The axis of the same parameters: bags of one basis have each the other's."""
    wanted = _names(axis)
    return next(other for other in bag.spec.axes if _names(other) == wanted)


def _names(axis: Axis) -> list[str]:
    return sorted(name for column in axis for name in names(column))


def _stride(sweep: Sweep, axis: Axis) -> int:
    return next(place.stride for place in sweep.places if place.column is axis[0])


def _digit(sweep: Sweep, axis: Axis, numbers: Numbers) -> Numbers:
    digit: Numbers = numbers // _stride(sweep, axis) % length(axis)
    return digit


def _places(before: Axis, after: Axis, old: Bag, new: Bag) -> Numbers:
    """For each place of one axis, that of the same value on the other; or -1."""
    if len(before) == len(after) == 1:
        one, other = before[0], after[0]
        if isinstance(one, Range) and isinstance(other, Range) and one.whole == other.whole:
            return _shifted(one, other)
    return _matched(_keys(before, old.sweep), _keys(after, new.sweep))


def _shifted(one: Range, other: Range) -> Numbers:
    values = (Fraction(one.start), Fraction(one.step), Fraction(other.start), Fraction(other.step))
    over = lcm(*(value.denominator for value in values))
    start, step, first, pace = (int(value * over) for value in values)
    places = np.arange(one.count, dtype=np.int64)
    if pace == 0 or abs(start - first) + abs(step) * one.count >= _MOST:
        same = one == other
        return places if same else np.full(one.count, -1)
    place, rest = np.divmod(start - first + places * step, pace)
    inside = (rest == 0) & (place >= 0) & (place < other.count)
    return np.where(inside, place, -1)


def _matched(before: Keys, after: Keys) -> Numbers:
    order = np.argsort(after[:, 0], kind="stable")
    sorted_ = after[order]
    at = np.minimum(np.searchsorted(sorted_[:, 0], before[:, 0]), len(after) - 1)
    same = (sorted_[at] == before).all(axis=1)
    return np.where(same, order[at], -1)


def _keys(axis: Axis, sweep: Sweep) -> Keys:
    digests = b"".join(_digests(axis, sweep))
    keys = np.frombuffer(digests, np.uint64).reshape(-1, 2).copy()
    keys[:, 0] += _ODD * _repetition(keys[:, 0])
    return keys


def _repetition(keys: Keys) -> Keys:
    """How many equal ones came before."""
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    begins = np.r_[True, ranked[1:] != ranked[:-1]]
    places = np.arange(len(keys))
    count = places - np.maximum.accumulate(np.where(begins, places, 0))
    found = np.empty(len(keys), np.uint64)
    found[order] = count.astype(np.uint64)
    return found


def _digests(axis: Axis, sweep: Sweep) -> list[bytes]:
    column = axis[0]
    if isinstance(column, Rows) and len(axis) == 1:
        return _of_rows(column, sweep)
    readers = [c.reader() for c in sorted(axis, key=names) if not isinstance(c, Rows)]
    return [_digest([show(at(i)) for at in readers]) for i in range(length(axis))]


def _of_rows(rows: Rows, sweep: Sweep) -> list[bytes]:
    """Cells by the names of their columns, in whichever order the file has them."""
    order = sorted(range(len(rows.columns)), key=rows.columns.__getitem__)
    found: list[bytes] = []
    for chunk in range(-(-rows.count // CHUNK)):
        listed = sweep.reader.chunk(chunk)
        if len(order) == 1:
            found += [_digest(row) for row in listed]
        else:
            found += [_digest([row[i] for i in order]) for row in listed]
    return found


def _digest(cells: list[str]) -> bytes:
    text = "\0".join(cells).encode("utf-8", "surrogateescape")
    return hashlib.blake2b(text, digest_size=16).digest()
