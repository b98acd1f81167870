"""Parameters that a policy looks at, as the scheduler gets them: tasks with the same values are one
group, and a byte for each task says which.

A sweep is not walked through task by task: the groups of an axis are those of its values, and those
of several axes their products. So ten million tasks cost ten megabytes, and a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tailrace.bag.policy import EXPRESSIONS, Samples
from tailrace.bag.rows import Rows
from tailrace.bag.rows import typed as typed_cell
from tailrace.bag.spec import BagSpec
from tailrace.bag.sweep import Axis, Column, Sweep, names
from tailrace.bag.values import Value
from tailrace.errors import BadInput

if TYPE_CHECKING:
    from tailrace.bag.bag import Bag

MOST_GROUPS = 256  # each is asked about for each host; and a byte tells them apart
SAMPLES = 16  # tasks whose values an expression is tried on

Values = tuple[Value, ...]
_Typed = tuple[tuple[type, Value], ...]  # 1, 1.0 and True are equal, and three different things


class Columns(msgspec.Struct, frozen=True, omit_defaults=True):
    names: tuple[str, ...]  # of the parameters
    rows: tuple[Values, ...]  # the values of each group
    groups: bytes  # of each task, by its number

    def values(self, index: int) -> Values:
        return self.rows[self.groups[index]]

    def joined(self, more: Columns) -> Columns:
        """With those of tasks that are added: their rows are these and maybe more."""
        return replace(more, groups=self.groups + more.groups)

    def since(self, first: int) -> Columns:
        return replace(self, groups=self.groups[first:])


def names_of(columns: Columns | None) -> tuple[str, ...]:
    return () if columns is None else columns.names


def with_samples(bag: Bag) -> BagSpec:
    """What the bag says, with some values for a policy that may look at parameters."""
    policy = bag.spec.policy
    own = () if policy is None else (getattr(policy.own, field) for field in EXPRESSIONS.values())
    if policy is None or not any(text and "params" in text.lower() for text in own):
        return bag.spec
    return replace(bag.spec, policy=replace(policy, params=samples(bag)))


def samples(bag: Bag) -> Samples:
    """Some values of each parameter, those of tasks far from each other."""
    if not bag.sweep.names():
        return {}
    count = bag.blocks.count
    tasks = dict.fromkeys([*(count * at // SAMPLES for at in range(SAMPLES)), count - 1])
    found: dict[str, dict[tuple[type, Value], Value]] = {}
    for task in tasks if count else ():
        for name, value in bag.params(task).items():
            found.setdefault(name, {})[type(value), value] = value
    return {name: tuple(values.values()) for name, values in found.items()}


def columns(bag: Bag, wanted: tuple[str, ...]) -> Columns:
    """BadInput: there are too many groups, or texts among numbers."""
    found: dict[_Typed, int] = {}
    groups = bytearray()
    for block in bag.blocks.all:
        rows, codes = _of_sweep(block.sweep, wanted)
        table = bytes(found.setdefault(row, len(found)) % MOST_GROUPS for row in rows)
        if len(found) > MOST_GROUPS:
            raise _too_many(wanted)
        groups += codes.translate(table.ljust(256, b"\0"))
    alike = [_alike(name, [row[at][1] for row in found]) for at, name in enumerate(wanted)]
    return Columns(wanted, tuple(zip(*alike, strict=True)), bytes(groups))


def _of_sweep(sweep: Sweep, wanted: tuple[str, ...]) -> tuple[list[_Typed], bytes]:
    """Different rows of values, and of each task the number of its row."""
    rows: list[dict[str, tuple[type, Value]]] = [{}]
    codes = b"\0"
    for axis in reversed(sweep.axes):
        here, turn = _of_axis(sweep, axis, wanted)
        if len(here) * len(rows) > MOST_GROUPS:
            raise _too_many(wanted)
        codes = _turned(codes, turn, len(rows), len(here))
        rows = [{**outer, **inner} for outer in here for inner in rows]
    return [tuple(row[name] for name in wanted) for row in rows], codes


def _turned(inner: bytes, turn: bytes, size: int, different: int) -> bytes:
    """An axis around those within: for each of its positions, their codes behind those before."""
    if different == 1:
        return inner * len(turn)
    moved = [
        inner.translate(bytes((code + at * size) % 256 for code in range(256)))
        for at in range(different)
    ]
    return b"".join([moved[at] for at in turn])


def _of_axis(
    sweep: Sweep, axis: Axis, wanted: tuple[str, ...]
) -> tuple[list[dict[str, tuple[type, Value]]], bytes]:
    """The different values of its parameters that are wanted, and which each position has."""
    read = [column for column in axis if any(name in wanted for name in names(column))]
    if not read:
        return [{}], bytes(axis[0].count)
    found: dict[tuple[tuple[str, type, Value], ...], int] = {}
    turn = bytearray()
    for values in zip(*(_read(sweep, column, wanted) for column in read), strict=True):
        row = tuple((name, type(value), value) for some in values for name, value in some)
        code = found.setdefault(row, len(found))
        if code == MOST_GROUPS:
            raise _too_many(wanted)
        turn.append(code)
    return [{name: (kind, value) for name, kind, value in row} for row in found], bytes(turn)


def _read(
    sweep: Sweep, column: Column, wanted: tuple[str, ...]
) -> Iterator[tuple[tuple[str, Value], ...]]:
    """By position."""
    if not isinstance(column, Rows):
        reader = column.reader()
        for at in range(column.count):
            yield ((column.name, reader(at)),)
        return
    kinds = zip(column.columns, column.kinds, strict=True)
    cells = [(k, name, kind) for k, (name, kind) in enumerate(kinds) if name in wanted]
    for at in range(column.count):
        row = sweep.reader.row(at)
        yield tuple((name, typed_cell(row[k], kind)) for k, name, kind in cells)


def _alike(name: str, values: list[Value]) -> list[Value]:
    """Of one type: whole numbers among others count as such; all else is refused."""
    types = dict.fromkeys(type(value) for value in values)
    if len(types) < 2:
        return values
    if all(one in (int, float) for one in types):
        return [float(value) for value in values]
    shown = " and ".join(repr(_first(values, one)) for one in types)
    raise BadInput(
        f"Params.{name} has values of different types, such as {shown}",
        remedy="a policy compares numbers with numbers, and texts with texts: write all of them "
        "in one way",
    )


def _first(values: Iterable[Value], kind: type) -> Value:
    return next(value for value in values if type(value) is kind)


def _too_many(wanted: tuple[str, ...]) -> BadInput:
    named = " and ".join(f"Params.{name}" for name in wanted)
    what = "values" if len(wanted) == 1 else "combinations of values"
    return BadInput(
        f"{named}: tasks have more than {MOST_GROUPS} different {what}",
        remedy=f"a policy is asked once for each and for each host, so there may be {MOST_GROUPS}: "
        'give tasks a coarser parameter for it, such as size = ["small", "large"], zipped with '
        "this one or as a column of the CSV",
    )
