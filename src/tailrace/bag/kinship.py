"""Where the tasks of one bag are in another of the same basis: old numbers become new ones.

Axis by axis: a range is compared with a range by arithmetic, anything else by the hashes of its
values; then numbers are taken apart and put together again in mixed radix, all at once. What is
there twice is there twice: the second of equal rows is known by being the second.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

from tailrace.bag.alike import digests, like
from tailrace.bag.bag import Bag
from tailrace.bag.identity import depends_on_number
from tailrace.bag.sweep import Axis, Sweep, length
from tailrace.bag.values import Range

Numbers = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]  # two of 64 bits for each value
_MOST = 1 << 62
_ODD = np.uint64(0x9E3779B97F4A7C15)


def moved(old: Bag, new: Bag, numbers: Numbers) -> Numbers:
    """The number of each of these tasks of `old` in `new`; -1: it has none there."""
    found = np.full(len(numbers), -1, np.int64)  # what comes after all others is in no block
    for first, before in old.blocks.all:
        mine = (numbers >= first) & (numbers < first + before.count)
        for begin, after in new.blocks.all:
            (looked,) = (mine & (found < 0)).nonzero()
            if len(looked):
                places = _in_sweep(before, after, numbers[looked] - first)
                found[looked] = np.where(places >= 0, places + begin, -1)
    if depends_on_number(new.spec):
        found[found != numbers] = -1
    return found


def _in_sweep(old: Sweep, new: Sweep, numbers: Numbers) -> Numbers:
    found = np.zeros(len(numbers), np.int64)
    there = np.ones(len(numbers), bool)
    for axis in new.axes:
        before = like(axis, old)
        place = _places(before, axis, old, new)[_digit(old, before, numbers)]
        there &= place >= 0
        found += place * _stride(new, axis)
    return np.where(there & (numbers < _MOST), found, -1)


def _stride(sweep: Sweep, axis: Axis) -> int:
    return next(place.stride for place in sweep.places if place.column is axis[0])


def _digit(sweep: Sweep, axis: Axis, numbers: Numbers) -> Numbers:
    digit: Numbers = numbers // _stride(sweep, axis) % length(axis)
    return digit


def _places(before: Axis, after: Axis, old: Sweep, new: Sweep) -> Numbers:
    """For each place of one axis, that of the same value on the other; or -1."""
    if len(before) == len(after) == 1:
        one, other = before[0], after[0]
        if isinstance(one, Range) and isinstance(other, Range) and one.whole == other.whole:
            return _shifted(one, other)
    return _matched(_keys(before, old), _keys(after, new))


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
    keys = np.frombuffer(b"".join(digests(axis, sweep)), np.uint64).reshape(-1, 2).copy()
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
