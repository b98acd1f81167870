"""The permutation of tasks by the values of one parameter: of a sweep, or of several blocks."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from tailrace.bag.rows import Rows
from tailrace.bag.sweep import Place, Sweep
from tailrace.bag.values import Range, Value, number

if TYPE_CHECKING:
    from tailrace.bag.bag import Bag


def by_parameter(sweep: Sweep, order: str) -> array[int]:
    """`"alpha"` ascends, `"-alpha"` descends; tasks with equal values stay as listed."""
    name = order.removeprefix("-")
    place = sweep.place_of(name)
    if place is None:
        raise KeyError(name)
    down = order.startswith("-")
    found = array("I")
    if isinstance(place.column, Range) and place.column.step != "0":
        rising = not place.column.step.startswith("-")
        for position in range(place.count)[:: 1 if rising != down else -1]:
            _extend(found, [position], place, sweep.count)
        return found
    keys = _keys(sweep, place, name)
    ranked = sorted(range(place.count), key=keys.__getitem__, reverse=down)
    for _, equal in groupby(ranked, key=keys.__getitem__):
        _extend(found, sorted(equal), place, sweep.count)
    return found


def by_parameter_of(bag: Bag, tasks: Iterable[int]) -> array[int]:
    """These tasks, whichever blocks they are of."""
    name = bag.spec.order.removeprefix("-")
    numbers = list(tasks)
    keys = dict(zip(numbers, _ranked([bag.raw(task)[name] for task in numbers]), strict=True))
    return array("I", sorted(numbers, key=keys.__getitem__, reverse=bag.spec.order[0] == "-"))


def _extend(found: array[int], positions: list[int], place: Place, count: int) -> None:
    """All tasks whose digit is one of these, in the order of their numbers."""
    if place.stride == 1 and len(positions) == 1:
        found.extend(range(positions[0], count, place.count))
        return
    for outer in range(0, count, place.stride * place.count):
        for position in positions:
            start = outer + position * place.stride
            found.extend(range(start, start + place.stride))


def _keys(sweep: Sweep, place: Place, name: str) -> list[tuple[bool, Value]]:
    return _ranked(_values(sweep, place, name))


def _ranked(values: list[Value]) -> list[tuple[bool, Value]]:
    try:
        return [(False, number(v) if isinstance(v, str) else v) for v in values]
    except ValueError:
        return [(isinstance(v, str), v) for v in values]  # numbers before texts


def _values(sweep: Sweep, place: Place, name: str) -> list[Value]:
    if isinstance(place.column, Rows):
        at = place.column.columns.index(name)
        return [sweep.reader.row(i)[at] for i in range(place.count)]
    reader = place.column.reader()
    return [reader(i) for i in range(place.count)]
