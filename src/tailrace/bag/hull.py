"""One sweep that has all values of several: what tells its tasks apart tells theirs apart."""

from __future__ import annotations

from tailrace.bag.alike import like
from tailrace.bag.rows import Rows
from tailrace.bag.sweep import Axis, Column, Sweep
from tailrace.bag.values import Listed, Range, Value

MOST_VALUES = 200_000


def hull(sweeps: list[Sweep]) -> Sweep | None:
    """None: it cannot be said shortly."""
    if len(sweeps) == 1:
        return sweeps[0]
    axes = [_union([axis, *(like(axis, other) for other in sweeps[1:])]) for axis in sweeps[0].axes]
    found = tuple(axis for axis in axes if axis is not None)
    return Sweep(found, sweeps[0].read) if len(found) == len(axes) else None


def _union(axes: list[Axis]) -> Axis | None:
    if any(len(axis) > 1 or isinstance(axis[0], Rows) for axis in axes):
        return None
    columns = [axis[0] for axis in axes]
    if all(column == columns[0] for column in columns):
        return axes[0]
    whole = [column for column in columns if isinstance(column, Range) and column.whole]
    if len(whole) == len(columns):
        return (_span(whole),)
    return _listed(columns)


def _span(ranges: list[Range]) -> Range:
    """All whole numbers from the least to the largest."""
    ends = [one.reader()(at) for one in ranges for at in (0, one.count - 1)]
    low, high = min(map(int, ends)), max(map(int, ends))
    return Range(ranges[0].name, str(low), "1", high - low + 1)


def _listed(columns: list[Column]) -> Axis | None:
    if sum(column.count for column in columns) > MOST_VALUES:
        return None
    values: dict[tuple[type, Value], None] = {}
    for column in columns:
        assert not isinstance(column, Rows)
        at = column.reader()
        values.update(dict.fromkeys((type(at(i)), at(i)) for i in range(column.count)))
    name = columns[0].name  # type: ignore[union-attr]
    return (Listed(name, tuple(value for _, value in values)),)
