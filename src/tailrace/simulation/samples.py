"""Observed values from a column of a CSV file, and which of them are censored.

Of a recorded workflow, the run times of a program's tasks stand for the column.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailrace.bag.tables import near
from tailrace.errors import BadInput
from tailrace.simulation.archived import read_archived
from tailrace.simulation.laws.law import Floats
from tailrace.simulation.wfformat import is_workflow, read_run_times

_YES = ("1", "true", "yes")
_NO = ("0", "false", "no", "")


class Samples(NamedTuple):
    values: Floats
    censored: NDArray[np.bool_]


class Cell(NamedTuple):
    """A cell that knows where it stands, so that a complaint can say so."""

    text: str
    column: str
    file: str
    line: int

    def bad(self, message: str, remedy: str) -> BadInput:
        return BadInput(f"{self.column} {message}", file=self.file, line=self.line, remedy=remedy)

    def number(self) -> float:
        try:
            value = float(self.text)
        except ValueError:
            value = math.nan
        if math.isfinite(value):
            return value
        raise self.bad(f"is {self.text!r}, not a number", "mend the cell or take the row out")


def read_samples(path: Path, shown: str, column: str, censored: str | None = None) -> Samples:
    """`censored` is a column of 0 and 1 (no and yes), or `column=word` for the rows it marks."""
    if is_workflow(path):
        times = np.array(read_run_times(path, shown, column))
        return Samples(times, np.zeros(len(times), bool))
    marked, _, word = (censored or "").partition("=")
    wanted = [column] if not censored else [column, marked.strip()]
    rows = list(read_columns(path, shown, wanted))
    test = _equals(word.strip()) if word else _yes
    marks = [test(row[1]) for row in rows] if censored else [False] * len(rows)
    return Samples(np.array([row[0].number() for row in rows]), np.array(marks, bool))


def read_columns(path: Path, shown: str, wanted: list[str]) -> Iterator[list[Cell]]:
    """These columns of each row."""
    lines = csv.reader(StringIO(read_archived(path, shown), newline=""))
    header = [name.strip() for name in next(lines, [])]
    places = [_place(name, header, shown) for name in wanted]
    found = False
    for row in lines:
        if row:
            found = True
            yield [_cell(row, at, header, shown, lines.line_num) for at in places]
    if not found:
        raise BadInput("there is no row in it", file=shown, remedy="a header line, then rows")


def _place(name: str, header: list[str], shown: str) -> int:
    if name in header:
        return header.index(name)
    remedy = f"its columns are {', '.join(header) or 'none'}{near(name, header)}"
    raise BadInput(f"there is no column {name!r}", file=shown, line=1, remedy=remedy)


def _cell(row: list[str], at: int, header: list[str], shown: str, line: int) -> Cell:
    if at < len(row):
        return Cell(row[at].strip(), header[at], shown, line)
    message = f"this row has {len(row)} cells, the header has {len(header)}"
    raise BadInput(message, file=shown, line=line, remedy="give each row one cell per column")


def _yes(cell: Cell) -> bool:
    if cell.text.lower() in _YES + _NO:
        return cell.text.lower() in _YES
    remedy = f'write 1 where it is censored, or ask for censored = "{cell.column}={cell.text}"'
    raise cell.bad(f"is {cell.text!r}, neither yes nor no", remedy)


def _equals(word: str) -> Callable[[Cell], bool]:
    return lambda cell: cell.text == word
