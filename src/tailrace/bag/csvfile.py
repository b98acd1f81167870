"""A CSV file as an axis: its columns are parameters, its rows are taken as they stand."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.bag.rows import Row, Rows, encode_chunk, in_chunks, kind_of
from tailrace.bag.template import BUILT_IN, NAME
from tailrace.bag.textfile import read_text
from tailrace.errors import BadInput

if TYPE_CHECKING:
    from _csv import Reader as CsvReader


def read_csv(path: Path, shown: str) -> tuple[Rows, list[bytes]]:
    """The axis, and its rows in chunks. Tabs separate the columns of a `.tsv`."""
    text = read_text(path, shown)
    if not text.strip():
        raise BadInput(
            "the file is empty", file=shown, line=1, remedy="a header line with names, then rows"
        )
    lines = csv.reader(
        StringIO(text, newline=""), delimiter="\t" if path.suffix == ".tsv" else ",", strict=True
    )
    columns = _header(next(_rows(lines, shown)), shown)
    rows = list(_same_width(lines, columns, shown))
    if not rows:
        raise BadInput(
            "there is a header but no row", file=shown, line=1, remedy="an empty sweep has no task"
        )
    kinds = tuple(kind_of(row[i] for row in rows) for i in range(len(columns)))
    return Rows(columns, kinds, len(rows)), [encode_chunk(chunk) for chunk in in_chunks(rows)]


def _rows(lines: CsvReader, shown: str) -> Iterator[Row]:
    try:
        for row in lines:
            if row:
                yield row
    except csv.Error as fault:
        raise BadInput(f"not valid CSV: {fault}", file=shown, line=lines.line_num) from None


def _header(cells: Row, shown: str) -> tuple[str, ...]:
    names = tuple(cell.strip() for cell in cells)
    for position, name in enumerate(names, 1):
        if not NAME.fullmatch(name) or name in BUILT_IN:
            found = f"{name!r} cannot be the name of a parameter" if name else "has no name"
            remedy = (
                f"names begin with a letter, have no braces, and are not {' or '.join(BUILT_IN)}"
            )
            raise BadInput(f"column {position} {found}", file=shown, line=1, remedy=remedy)
        if name in names[: position - 1]:
            raise BadInput(
                f"two columns are named {name!r}", file=shown, line=1, remedy="rename one of them"
            )
    return names


def _same_width(lines: CsvReader, columns: tuple[str, ...], shown: str) -> Iterator[Row]:
    for row in _rows(lines, shown):
        if len(row) != len(columns):
            raise BadInput(
                f"this row has {len(row)} cells, the header has {len(columns)}",
                file=shown,
                line=lines.line_num,
                remedy="give each row one cell per column; a cell with a comma needs double quotes",
            )
        yield row
