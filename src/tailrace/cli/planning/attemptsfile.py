"""A CSV of attempts: `sent_s,turnaround_s,pool,outcome`, in any order, with `run_s` if it is known.

A file with `turnaround_s` alone lists successful attempts. Without a turnaround, nothing ever came
back; with one and an outcome that is no success, that is when the failure was known.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tailrace.bag.outcome import Outcome
from tailrace.bag.tables import meant
from tailrace.bag.textfile import read_text
from tailrace.errors import BadInput
from tailrace.knowledge.sendings import Fate, Sending, Sendings, gathered

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

TURNAROUND = "turnaround_s"
COLUMNS = (TURNAROUND, "sent_s", "pool", "outcome", "run_s")
MOST_BYTES = 256 << 20  # some ten million attempts
LONGEST_S = 1e10  # three hundred years
UNKNOWN = (Outcome.CANCELLED,)  # it was not wanted any more
OUTCOMES = tuple(str(outcome) for outcome in Outcome)
HEADER = f"The first line names the columns: {', '.join(COLUMNS[:4])}; {TURNAROUND} alone will do."


class Row(NamedTuple):
    file: str
    line: int
    cells: dict[str, str]

    def refuse(self, found: str, remedy: str) -> BadInput:
        return BadInput(found, file=self.file, line=self.line, remedy=remedy)


def read_attempts(path: Path) -> Sendings:
    """Times since the first was sent; without `sent_s` all were sent at once."""
    shown = str(path)
    text = read_text(path, shown, MOST_BYTES)
    rows = _rows(text, shown, "\t" if path.suffix == ".tsv" else ",")
    found = list(map(_sending, rows))
    if not found:
        raise BadInput("there is a header but no attempt", file=shown, line=1,
                       remedy="Give each attempt a line.")  # fmt: skip
    if not any(one.fate is Fate.RETURNED for one in found):
        raise BadInput(
            f"none of {len(found):,} attempts succeeded: how long one takes is not known",
            file=shown, remedy="Add attempts that returned a result, or take another run.",
        )  # fmt: skip
    first_s = min(one.sent_s for one in found)
    return gathered(one._replace(sent_s=one.sent_s - first_s) for one in found)


def _rows(text: str, shown: str, between: str) -> Iterator[Row]:
    lines = csv.reader(StringIO(text, newline=""), delimiter=between, strict=True)
    told = _told(lines, shown)
    first = next(told, None)
    if first is None:
        raise BadInput("the file is empty", file=shown, line=1, remedy=HEADER)
    names = _header([cell.strip() for cell in first[1]], shown, first[0])
    return (_row(names, cells, shown, line) for line, cells in told)


def _told(lines: CsvReader, shown: str) -> Iterator[tuple[int, list[str]]]:
    try:
        for cells in lines:
            if any(map(str.strip, cells)) or len(cells) > 1:
                yield lines.line_num, cells
    except csv.Error as fault:
        raise BadInput(f"not valid CSV: {fault}", file=shown, line=lines.line_num) from None


def _header(names: list[str], shown: str, line: int) -> list[str]:
    if TURNAROUND not in names:
        near = next(filter(None, (meant(TURNAROUND, [name]) for name in names)), "")
        raise BadInput(f"there is no column {TURNAROUND}; there are: {_some(names)}",
                       file=shown, line=line, remedy=near + HEADER)  # fmt: skip
    for name in COLUMNS:
        if names.count(name) > 1:
            raise BadInput(f"two columns are named {name}", file=shown, line=line,
                           remedy="Rename one of them.")  # fmt: skip
    return names


def _some(names: list[str]) -> str:
    shown = [repr(name[:30]) for name in names[:8]]
    return ", ".join(chain(shown, ["…"] if len(names) > len(shown) else []))


def _row(names: list[str], cells: list[str], shown: str, line: int) -> Row:
    if len(cells) != len(names):
        raise BadInput(
            f"this row has {len(cells)} cells, the header has {len(names)}", file=shown, line=line,
            remedy="Give each row one cell per column; a cell with a comma needs double quotes.",
        )  # fmt: skip
    return Row(shown, line, {name: cell.strip() for name, cell in zip(names, cells, strict=True)})


def _sending(row: Row) -> Sending:
    took_s = _seconds(row, TURNAROUND)
    sent_s = _number(row, "sent_s") if "sent_s" in row.cells else 0.0
    if sent_s is None:
        raise row.refuse("sent_s is empty", "When was it sent? Or leave out the whole column.")
    fate = _fate(row, took_s)
    run_s = _seconds(row, "run_s")
    return Sending(
        row.cells.get("pool", ""),
        sent_s,
        (0.0 if fate is Fate.OUT else math.inf) if took_s is None else took_s,
        fate,
        math.nan if run_s is None else run_s,
    )


def _fate(row: Row, took_s: float | None) -> Fate:
    outcome = row.cells.get("outcome", "")
    if not outcome:
        return Fate.EXPIRED if took_s is None else Fate.RETURNED
    if outcome not in OUTCOMES:
        remedy = f"{meant(outcome, OUTCOMES)}It is one of: {', '.join(OUTCOMES)}; or empty."
        raise row.refuse(f"outcome is {outcome[:60]!r}", remedy)
    if outcome in UNKNOWN:
        return Fate.OUT
    if outcome != Outcome.SUCCEEDED:
        silent = took_s is None or outcome == Outcome.EXPIRED
        return Fate.EXPIRED if silent else Fate.FAILED
    if took_s is None:
        raise row.refuse(f"it succeeded, and {TURNAROUND} is empty", "How long did it take?")
    return Fate.RETURNED


def _seconds(row: Row, column: str) -> float | None:
    """A duration."""
    value = _number(row, column)
    if value is not None and not 0 <= value <= LONGEST_S:
        what = "below 0" if value < 0 else "beyond three hundred years"
        raise row.refuse(f"{column} is {row.cells[column][:60]}, {what}", "Give seconds.")
    return value


def _number(row: Row, column: str) -> float | None:
    text = row.cells.get(column, "")
    if not text:
        return None
    try:
        value = math.nan if "_" in text else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        remedy = "Give seconds, such as 2066.5"
        none = "; leave it empty where none came back." if column == TURNAROUND else "."
        raise row.refuse(f"{column} is {text[:60]!r}, not a number", remedy + none)
    return value
