"""Observed values from a column of a CSV file, and which of them are censored.

Of a recorded workflow, the run times of a program's tasks stand for the column.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from difflib import SequenceMatcher
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailrace.bag.tables import meant, near
from tailrace.errors import BadInput
from tailrace.simulation.archived import read_archived
from tailrace.simulation.laws.law import Floats
from tailrace.simulation.wfformat import is_workflow, read_run_times

_YES = ("1", "true", "yes")
_NO = ("0", "false", "no", "")
_ALIKE = 0.9  # of 1: stopped and stoped, but not started and restarted
_SHOWN = 8  # words


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
    values = np.array([row[0].number() for row in rows])
    if not censored:
        return Samples(values, np.zeros(len(values), bool))
    cells = [row[1] for row in rows]
    marks = _marked(cells, word.strip()) if word else [_yes(cell) for cell in cells]
    return Samples(values, np.array(marks, bool))


def read_columns(path: Path, shown: str, wanted: list[str]) -> Iterator[list[Cell]]:
    """These columns of each row."""
    lines = csv.reader(StringIO(read_archived(path, shown), newline=""))
    found = False
    try:
        header = [name.strip() for name in next(lines, [])]
        places = [_place(name, header, shown) for name in wanted]
        for row in lines:
            if row:
                found = True
                yield [_cell(row, at, header, shown, lines.line_num) for at in places]
    except csv.Error as fault:
        remedy = "mend the line, or take it out; a quote may be left open"
        told = f"this is not CSV: {fault}"
        raise BadInput(told, file=shown, line=lines.line_num, remedy=remedy) from None
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
    remedy = (
        f"write {', '.join(_YES)} where it is censored, {', '.join(filter(None, _NO))} or nothing "
        f'where it is not; or ask for censored = "{cell.column}={cell.text}"'
    )
    raise cell.bad(f"is {cell.text!r}, neither yes nor no", remedy)


def _marked(cells: list[Cell], word: str) -> list[bool]:
    """Those with the word; a slip in it, here or there, would count as ended what was not."""
    marks = [cell.text == word for cell in cells]
    words = list(dict.fromkeys(cell.text for cell in cells))
    if not any(marks):
        shown = ", ".join(map(repr, words[:_SHOWN])) + (", …" if len(words) > _SHOWN else "")
        remedy = f"{meant(word, words)}there are {shown}; leave censored out if none is"
        raise cells[0].bad(f"is {word!r} in no row", remedy)
    slips = [other for other in words if other != word and _alike(other, word)]
    if slips:
        slip = next(cell for cell in cells if cell.text == slips[0])
        remedy = f"write {word!r} in the cell, or a word less like it if another is meant"
        raise slip.bad(f"is {slip.text!r}, which is nearly {word!r}", remedy)
    return marks


def _alike(word: str, other: str) -> bool:
    one, two = word.lower(), other.lower()
    return one.isalpha() and SequenceMatcher(None, one, two).ratio() > _ALIKE
