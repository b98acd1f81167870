"""Results as a Parquet file, written in row groups; `pyarrow` is loaded only here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from tailrace.errors import BadInput
from tailrace.report.columns import LAST, MIDDLE, Columns, find_columns, readable_twice
from tailrace.report.record import Result
from tailrace.report.results import cell

ROWS = 50_000
#: A row group also ends after about this much text, or long outputs would fill the memory.
CHARACTERS = 64_000_000
_WHOLE_IN_FLOAT = 2**53
_MOST_INT = 2**63


class Kind(Enum):
    """What a column holds; mixed ones become text."""

    NOTHING = "null"
    TRUTH = "bool"
    WHOLE = "int64"
    LARGE = "int64 beyond what a float can hold exactly"
    NUMBER = "float64"
    TEXT = "string"
    JSON = "json"
    MIXED = "mixed"


_KINDS = {bool: Kind.TRUTH, float: Kind.NUMBER, str: Kind.TEXT}
_FIXED = {
    "task": Kind.WHOLE,
    **dict(zip(MIDDLE, [Kind.TEXT, Kind.WHOLE, *[Kind.NUMBER] * 2], strict=False)),
    "attempts": Kind.WHOLE,
    "host": Kind.TEXT,
    "pool": Kind.TEXT,
    **dict.fromkeys(LAST, Kind.TEXT),
}


class ParquetMissing(BadInput):
    """The library that writes Parquet is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "Parquet files need pyarrow, which is not installed",
            remedy="install it with: pip install pyarrow; or use --csv, --json or --jsonl",
        )


def write_parquet(results: Iterable[Result], path: str | os.PathLike[str]) -> list[str]:
    """Write all results; returns a sentence for each column that had to become text."""
    arrow, parquet = _library()
    with readable_twice(results) as rows:
        columns = find_columns(rows)
        kinds = _kinds(rows, columns)
        names = columns.names
        types = [_arrow_type(arrow, kind) for kind in kinds]
        schema = arrow.schema(list(zip(names, types, strict=True)))
        groups = (list(map(_fit, group, kinds)) for group in _groups(rows, columns))
        _write_groups(arrow, parquet, schema, groups, Path(path))
    return [
        f"column {name} mixes kinds of values, so it is written as text"
        for name, kind in zip(names, kinds, strict=True)
        if kind is Kind.MIXED
    ]


def _library() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ParquetMissing from error
    return pyarrow, pyarrow.parquet


def _write_groups(
    arrow: Any, parquet: Any, schema: Any, groups: Iterator[list[Any]], path: Path
) -> None:
    """Beside the final name first: a reader never finds half a file."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with parquet.ParquetWriter(unfinished, schema, compression="zstd") as writer:
            for group in groups:
                arrays = [
                    arrow.array(column, type=field.type)
                    for column, field in zip(group, schema, strict=True)
                ]
                writer.write_table(arrow.table(arrays, schema=schema))
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _groups(rows: Iterable[Result], columns: Columns) -> Iterator[list[tuple[Any, ...]]]:
    """Row groups as lists of columns."""
    group: list[list[Any]] = []
    characters = 0
    for result in rows:
        group.append(columns.row(result))
        characters += len(result.stdout) + len(result.stderr)
        if len(group) >= ROWS or characters >= CHARACTERS:
            yield list(zip(*group, strict=True))
            group, characters = [], 0
    if group:
        yield list(zip(*group, strict=True))


def _fit(column: tuple[Any, ...], kind: Kind) -> tuple[Any, ...] | list[Any]:
    """The column as its type can take it."""
    if kind not in (Kind.MIXED, Kind.JSON, Kind.TEXT):
        return column
    return [x if x is None or isinstance(x, str) else str(cell(x)) for x in column]


def _kinds(rows: Iterable[Result], columns: Columns) -> list[Kind]:
    """One kind per column, over all rows."""
    names = columns.names
    kinds = [_FIXED.get(name, Kind.NOTHING) for name in names]
    free = [i for i, name in enumerate(names) if name not in _FIXED]
    for group in _groups(rows, columns) if free else ():
        for i in free:
            for kind in _kinds_within(group[i]):
                kinds[i] = _both(kinds[i], kind)
    return kinds


def _kinds_within(column: tuple[Any, ...]) -> Iterator[Kind]:
    for found in sorted(set(map(type, column)), key=lambda type_: type_.__name__):
        if found is int:
            yield _whole(max(abs(x) for x in column if type(x) is int))
        elif found is not type(None):
            yield _KINDS.get(found, Kind.JSON)


def _whole(most: int) -> Kind:
    if most <= _WHOLE_IN_FLOAT:
        return Kind.WHOLE
    return Kind.LARGE if most < _MOST_INT else Kind.MIXED


def _both(a: Kind, b: Kind) -> Kind:
    if a is b or a is Kind.NOTHING:
        return b
    pair = {a, b}
    if pair == {Kind.WHOLE, Kind.NUMBER}:
        return Kind.NUMBER
    return Kind.LARGE if pair == {Kind.WHOLE, Kind.LARGE} else Kind.MIXED


def _arrow_type(arrow: Any, kind: Kind) -> Any:
    if kind is Kind.TRUTH:
        return arrow.bool_()
    if kind in (Kind.WHOLE, Kind.LARGE):
        return arrow.int64()
    if kind is Kind.NUMBER:
        return arrow.float64()
    return arrow.null() if kind is Kind.NOTHING else arrow.string()
