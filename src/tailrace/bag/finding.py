"""A task by its number or by the values of its parameters, as people name it."""

from __future__ import annotations

import re
from difflib import get_close_matches
from itertools import islice, product
from typing import TYPE_CHECKING

from tailrace.bag import then
from tailrace.bag.rows import CHUNK, Rows
from tailrace.bag.sweep import Place, Sweep
from tailrace.bag.tables import near
from tailrace.bag.values import show
from tailrace.errors import BadInput

if TYPE_CHECKING:
    from tailrace.bag.bag import Bag

_SHOWN = 3
_FEW = 10


def find(bag: Bag, text: str) -> int:
    text = text.strip()
    if text == then.NAME and bag.last is not None:
        return bag.last
    if re.fullmatch(r"-?\d+", text):
        return _by_number(bag, int(text))
    return _only(bag, _by_values(bag, _wanted(bag, text)), text)


def _by_number(bag: Bag, index: int) -> int:
    if 0 <= index < bag.count:
        return index
    raise BadInput(
        f"there is no task {index}", remedy=f"tasks are numbered from 0 to {bag.count - 1}"
    )


def _wanted(bag: Bag, text: str) -> dict[str, str]:
    """`alpha=0.1,seed=3`; a comma inside a value is one unless a parameter's name and = follow."""
    names = bag.sweep.names()
    split = "|".join(re.escape(name) for name in names)
    found: dict[str, str] = {}
    for part in re.split(rf",(?=\s*(?:{split})\s*=)" if names else ",", text):
        name, equals, value = part.partition("=")
        name = name.strip()
        if not equals or name not in names:
            known = f"parameters are {', '.join(names) or 'none'}{near(name, names)}"
            remedy = f"write a number, or values such as {_example(bag)}; {known}"
            raise BadInput(f"{part.strip()!r} names no task", remedy=remedy)
        found[name] = value.strip()
    return found


def _by_values(bag: Bag, wanted: dict[str, str]) -> list[int]:
    """The first few tasks with these values. What one block lacks another may have."""
    found: list[int] = []
    missing: list[BadInput] = []
    for first, sweep in bag.blocks.all:
        try:
            found += [first + index for index in _in_sweep(sweep, wanted)]
        except BadInput as error:
            missing.append(error)
    if not found and missing:
        raise missing[0]
    return found


def _in_sweep(sweep: Sweep, wanted: dict[str, str]) -> list[int]:
    offsets: dict[int, list[int]] = {}
    for place in sweep.places:
        positions = _positions(sweep, place, wanted)
        if positions is not None:
            found = [position * place.stride for position in positions]
            before = offsets.get(place.axis)
            offsets[place.axis] = found if before is None else [o for o in found if o in before]
    for place in sweep.places:  # two positions of an axis not spoken of show that it is open
        offsets.setdefault(place.axis, [i * place.stride for i in range(min(place.count, 2))])
    return sorted(islice((sum(parts) for parts in product(*offsets.values())), 2 * _SHOWN))


def _positions(sweep: Sweep, place: Place, wanted: dict[str, str]) -> list[int] | None:
    column = place.column
    if isinstance(column, Rows):
        mine = {i: wanted[name] for i, name in enumerate(column.columns) if name in wanted}
        return _rows(sweep, place, mine) if mine else None
    if column.name not in wanted:
        return None
    found = column.positions(wanted[column.name])
    if not found:
        raise BadInput(
            f"no task has {column.name}={wanted[column.name]}",
            remedy=_offer(place, wanted[column.name]),
        )
    return found


def _rows(sweep: Sweep, place: Place, wanted: dict[int, str]) -> list[int]:
    found: list[int] = []
    meant = [(i, text, _number(text)) for i, text in wanted.items()]
    for k in range(-(-place.count // CHUNK)):
        rows = sweep.reader.chunk(k)
        left = list(range(len(rows)))
        for i, text, value in meant:
            left = [at for at in left if rows[at][i] == text or _is(rows[at][i], value)]
        found += [k * CHUNK + at for at in left]
        if len(found) > _SHOWN:
            break
    return found[: _SHOWN + 1]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is(cell: str, value: float | None) -> bool:
    """`0.10` means 0.1. A million cells are asked: most are numbers, or no number is looked for."""
    return value is not None and _number(cell) == value


def _offer(place: Place, text: str) -> str:
    assert not isinstance(place.column, Rows)
    reader = place.column.reader()
    if place.count > 1000:
        return f"its values go from {show(reader(0))} to {show(reader(place.count - 1))}"
    shown = [show(reader(i)) for i in range(place.count)]
    if place.count <= _FEW:
        return f"its values are {', '.join(shown)}"
    close = get_close_matches(text, shown, n=3) or shown[:_SHOWN]
    return f"its values are, for instance, {', '.join(close)}"


def _only(bag: Bag, found: list[int], text: str) -> int:
    if len(found) == 1:
        return found[0]
    if not found:
        raise BadInput(f"no task has {text}", remedy=f"values look like {_example(bag)}")
    few = "; ".join(f"{index}: {_values(bag, index)}" for index in found[:_SHOWN])
    raise BadInput(
        f"{text} fits more than one task", remedy=f"say more, or give a number. Some are {few}"
    )


def _example(bag: Bag) -> str:
    return _values(bag, 0)


def _values(bag: Bag, index: int) -> str:
    return ",".join(f"{name}={show(value)}" for name, value in bag.raw(index).items())
