"""The `[parameters]` of a bag file, `zip`, `csv` and `repeat`: the axes of its sweep.

* `alpha = [0.1, 0.2, 0.5]`: these values. `model = "small"`: one value.
* `seed = {from = 1, to = 100}`: whole numbers, both ends included.
* `beta = {from = 0, to = 1, step = 0.1}`: 0, 0.1, … 1; the end is included when a step meets it.
* `gamma = {from = 0, to = 1, count = 11}`: so many values, evenly spaced, both ends included.
* `delta = {from = 0.001, to = 1000, count = 7, scale = "log"}`: at equal ratios, both ends
  included.
* `run = {from = 0, count = 50}`: so many values from there, by `step` (1 unless given).
* `zip = [["alpha", "beta"]]`: these go side by side instead of being crossed.
* `csv = "cases.csv"`: each column is a parameter, each row one combination.
* `repeat = 20`: each combination so often; the parameter `repeat` counts from 1.

The axes are crossed: rows of the CSV turn slowest, then the parameters as listed, then `repeat`.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from tailrace.bag.csvfile import read_csv
from tailrace.bag.rows import Rows
from tailrace.bag.spec import MOST_TASKS
from tailrace.bag.sweep import Axis, Column, size
from tailrace.bag.tables import Origin, Table, near, said
from tailrace.bag.template import BUILT_IN, NAME
from tailrace.bag.values import Listed, LogSpaced, Range, Value
from tailrace.errors import BadInput

Read = tuple[tuple[Axis, ...], list[bytes]]


def read_axes(table: Table, folder: Path) -> Callable[[], Read]:
    """Takes its keys from the table; the files are read by what is returned."""
    parameters = table.table("parameters")
    csv = table.take("csv", str)
    zipped = table.take("zip", list) or []
    repeat = table.take("repeat", int)
    return lambda: _axes(table.origin, parameters, zipped, csv, repeat, folder)


def _axes(
    origin: Origin,
    table: Table,
    zipped: list[Any],
    csv: str | None,
    repeat: int | None,
    folder: Path,
) -> Read:
    columns: dict[str, Column] = {
        name: _column(name, given, table) for name, given in table.items()
    }
    axes: list[Axis] = []
    chunks: list[bytes] = []
    if csv is not None:
        rows, chunks = _csv(origin, csv, folder, columns)
        axes.append((rows,))
    axes += _crossed(columns, _groups(origin, zipped, columns))
    if repeat is not None:
        axes.append((_repeat(origin, repeat, columns, axes),))
    _check_size(origin, axes)
    return tuple(axes), chunks


def _column(name: str, given: Any, table: Table) -> Column:
    if not NAME.fullmatch(name) or name in BUILT_IN:
        raise table.bad(
            name,
            f"{name!r} cannot be the name of a parameter",
            f"names begin with a letter, have no braces, and are not {' or '.join(BUILT_IN)}",
        )
    if isinstance(given, dict):
        return _range(name, Table(given, table.origin, (*table.path, name)), table)
    values = given if isinstance(given, list) else [given]
    if not values:
        raise table.bad(
            name, f"{name} has no values, so there would be no task", "give it one or more"
        )
    return Listed(name, tuple(_value(name, i, value, table) for i, value in enumerate(values)))


def _value(name: str, position: int, value: Any, table: Table) -> Value:
    with table.origin.at(*table.path, name, position):
        return checked_value(value)


def checked_value(value: Any) -> Value:
    if isinstance(value, (Decimal, float)):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(f"{value} does not fit into 64 bits; write it as a text in quotes")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, str) and "\0" in value:
        raise ValueError("a NUL byte cannot be part of a command")
    if isinstance(value, (list, dict)):
        raise ValueError(
            f"{said(value)} inside a list is not a value; use a text, a number, true or false"
        )
    return value  # type: ignore[no-any-return]


def _range(name: str, table: Table, parent: Table) -> Column:
    first, last = _number(table, "from"), _number(table, "to")
    step, count = _number(table, "step"), table.take("count", int)
    scale = table.choice("scale", ("linear", "log"), "linear")
    table.finish()
    if first is None or (last is None and count is None):
        remedy = "write {from = 1, to = 100}, with step or count if you like"
        raise parent.bad(name, f"the range {name} needs from, and to or count", remedy)
    if count is not None and not 1 <= count <= MOST_TASKS:
        raise table.bad(
            "count", f"{name} would have {count} values", f"count is from 1 to {MOST_TASKS:,}"
        )
    if None not in (last, step, count):
        raise table.bad(
            "step", f"{name} has to, step and count", "leave out step or count: one follows"
        )
    if scale == "log":
        return _log(name, table, first, last, count, step)
    return _linear(name, table, first, last, step, count)


def _linear(
    name: str,
    table: Table,
    first: Decimal,
    last: Decimal | None,
    step: Decimal | None,
    count: int | None,
) -> Range:
    start = Fraction(first)
    pace = Fraction(1 if step is None else step)
    if last is not None and count is not None:
        pace = (Fraction(last) - start) / max(count - 1, 1)
    elif last is not None:
        count = _steps(name, table, Fraction(last) - start, pace)
    assert count is not None
    written = [
        number for number in (first, step, last if step is None else None) if number is not None
    ]
    whole = all(_is_whole(number) for number in written) and pace.denominator == 1
    _fits(name, table, start)
    _fits(name, table, start + pace * (count - 1))
    return Range(name, str(start), str(pace), count, whole)


def _steps(name: str, table: Table, span: Fraction, pace: Fraction) -> int:
    if pace == 0:
        raise table.bad(
            "step", f"the step of {name} is 0", "give it a step that leads from `from` to `to`"
        )
    count = math.floor(span / pace) + 1
    if count < 1:
        remedy = "swap from and to, or turn the sign of step"
        raise table.bad("to", f"the range {name} is empty: its steps lead away from `to`", remedy)
    return count


def _log(
    name: str,
    table: Table,
    first: Decimal,
    last: Decimal | None,
    count: int | None,
    step: Decimal | None,
) -> Column:
    if last is None or count is None or step is not None:
        raise table.bad(
            "scale", f"the log range {name} needs from, to and count", "leave out step, give count"
        )
    if first <= 0 or last <= 0:
        raise table.bad(
            "from",
            f"the log range {name} must lie above 0",
            'use scale = "linear" for other values',
        )
    if first == last or count == 1:
        return Listed(name, (float(first),) * count)
    return LogSpaced(name, float(first), float(last), count)


def _number(table: Table, key: str) -> Any:
    value = table.take(key, Decimal)
    if value is None:
        return None
    number = value if isinstance(value, Decimal) else Decimal(str(value))
    if not number.is_finite():
        raise table.bad(
            key, f"{table.label(key)} is {float(value)}", "a range needs finite numbers"
        )
    if math.isinf(float(number)) or (number != 0 and float(number) == 0):
        remedy = "a range needs numbers between 1e-300 and 1e300"
        raise table.bad(key, f"{table.label(key)} is {number}", remedy)
    return number


def _is_whole(number: Decimal) -> bool:
    """Written as a whole number: 1 is, 1.0 is a float, as in TOML."""
    return number.as_tuple().exponent == 0


def _fits(name: str, table: Table, end: Fraction) -> None:
    if abs(end) >= 2**63:
        raise table.bad("from", f"the range {name} goes beyond 64 bits", "choose smaller numbers")


def _csv(
    origin: Origin, csv: str, folder: Path, columns: dict[str, Column]
) -> tuple[Rows, list[bytes]]:
    with origin.at("csv"):
        rows, chunks = read_csv(folder / csv, csv)
    for name in rows.columns:
        if name in columns:
            raise origin.bad(
                ("parameters", name),
                f"{name} is a parameter here and a column of {csv}",
                "rename or remove one",
            )
    return rows, chunks


def _groups(
    origin: Origin, zipped: list[Any], columns: dict[str, Column]
) -> dict[str, tuple[str, ...]]:
    """Each zipped name, and all that it is zipped with."""
    found: dict[str, tuple[str, ...]] = {}
    for position, group in enumerate(zipped):
        with origin.at("zip", position):
            names = _group(group, columns)
            again = next((name for name in names if name in found or names.count(name) > 1), None)
            if again is not None:
                raise BadInput(
                    f"{again} is zipped twice", remedy="name each parameter in one group, once"
                )
            found.update(dict.fromkeys(names, names))
    return found


def _group(group: Any, columns: dict[str, Column]) -> tuple[str, ...]:
    if not isinstance(group, list) or not all(isinstance(name, str) for name in group):
        raise BadInput("zip is a list of lists of names", remedy='write zip = [["alpha", "beta"]]')
    for name in group:
        if name not in columns:
            remedy = f"parameters are {', '.join(columns) or 'none'}{near(name, list(columns))}"
            raise BadInput(f"zip names {name}, which is not in [parameters]", remedy=remedy)
    lengths = {name: columns[name].count for name in group}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} has {count}" for name, count in lengths.items())
        raise BadInput(
            f"zipped parameters differ in length: {said}", remedy="make them equally long"
        )
    return tuple(group)


def _crossed(columns: dict[str, Column], groups: dict[str, tuple[str, ...]]) -> list[Axis]:
    axes: list[Axis] = []
    for name, column in columns.items():
        group = groups.get(name, (name,))
        if group == (name,):
            axes.append((column,))
        elif name == next(other for other in columns if other in group):
            axes.append(tuple(columns[other] for other in group))
    return axes


def _repeat(origin: Origin, repeat: int, columns: dict[str, Column], axes: list[Axis]) -> Range:
    taken = set(columns) | {
        name for axis in axes for c in axis if isinstance(c, Rows) for name in c.columns
    }
    if "repeat" in taken:
        raise origin.bad(("repeat",), "repeat is also a parameter", "rename the parameter")
    if not 1 <= repeat <= MOST_TASKS:
        raise origin.bad(("repeat",), f"repeat is {repeat}", "it is a whole number from 1")
    return Range("repeat", "1", "1", repeat)


def _check_size(origin: Origin, axes: list[Axis]) -> None:
    if size(axes) > MOST_TASKS:
        raise origin.bad(
            ("parameters",),
            f"the sweep has {size(axes):,} tasks, more than {MOST_TASKS:,}",
            "cross fewer parameters, zip some, or split the bag",
        )
