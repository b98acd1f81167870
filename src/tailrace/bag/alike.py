"""Axes of two sweeps beside each other: which is which, and which of their values are equal."""

from __future__ import annotations

import hashlib

from tailrace.bag.rows import CHUNK, Rows
from tailrace.bag.sweep import Axis, Sweep, length, names
from tailrace.bag.values import show


def like(axis: Axis, sweep: Sweep) -> Axis:
    """The axis of the same parameters: bags of one basis have each the other's."""
    wanted = axis_names(axis)
    return next(other for other in sweep.axes if axis_names(other) == wanted)


def axis_names(axis: Axis) -> list[str]:
    return sorted(name for column in axis for name in names(column))


def digests(axis: Axis, sweep: Sweep) -> list[bytes]:
    """One of 16 bytes for each place; equal for equal values."""
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
