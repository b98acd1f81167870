"""Standard Workload Format: the archives' files of jobs, 18 numbers a line, −1 where unknown.

Lines of the header begin with `;`. Numbers are whole, but for the average
CPU time, and files with fractions elsewhere exist; so all are kept as floats.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from tailrace.errors import BadInput
from tailrace.quantities import SECOND
from tailrace.simulation.archived import read_archived
from tailrace.simulation.laws import Floats
from tailrace.simulation.laws.extent import LONGEST_S

FIELDS = (
    "job",
    "submit",
    "wait",
    "run",
    "processors",
    "cpu",
    "memory",
    "asked_processors",
    "asked_time",
    "asked_memory",
    "status",
    "user",
    "group",
    "program",
    "queue",
    "partition",
    "after",
    "think",
)
_COLUMN = {name: number for number, name in enumerate(FIELDS)}
_TIMES = ("submit", "run")
_MOST = 1e15  # beyond it a float no longer counts in ones


class Swf(msgspec.Struct, frozen=True, eq=False):
    rows: Floats  # a row per job, a column per field

    def column(self, name: str) -> Floats:
        return self.rows[:, _COLUMN[name]]

    def jobs(self) -> list[int]:
        """The numbers that the log gives them."""
        return [int(job) for job in self.column("job")]

    def submit_us(self) -> NDArray[np.int64]:
        """Submit times from the log's beginning."""
        return np.rint(self.column("submit") * SECOND).astype(np.int64)

    def run_s(self) -> Floats:
        """Run times; −1 where unknown."""
        return self.column("run")

    def processors(self) -> NDArray[np.int64]:
        """Those a job had, else those it asked for; −1 where neither is known."""
        had, asked = self.column("processors"), self.column("asked_processors")
        return np.where(had > 0, had, asked).astype(np.int64)

    def complete(self) -> Swf:
        """The jobs whose submit and run time are known, in the order of submission."""
        known = (self.column("submit") >= 0) & (self.column("run") >= 0)
        rows = self.rows[known]
        order = np.argsort(rows[:, _COLUMN["submit"]], kind="stable")
        return Swf(rows[order])


def read_swf(path: Path, shown: str) -> Swf:
    lines = read_archived(path, shown).splitlines()
    rows = list(_rows(lines, shown))
    if not rows:
        raise BadInput("there is no job in it", file=shown, remedy="a job is a line of 18 numbers")
    return Swf(np.array(rows))


def _rows(lines: list[str], shown: str) -> Iterator[list[float]]:
    for number, line in enumerate(lines, 1):
        cells = line.split(";", 1)[0].split()
        if cells:
            yield _row(cells, shown, number)


def _row(cells: list[str], shown: str, line: int) -> list[float]:
    if len(cells) != len(FIELDS):
        remedy = f"a job has {len(FIELDS)} numbers, -1 for those not known; comments begin with ;"
        raise BadInput(f"this line has {len(cells)} fields", file=shown, line=line, remedy=remedy)
    try:
        row = [float(cell) for cell in cells]
    except ValueError:
        raise _not_a_number(cells, shown, line) from None
    if not all(-_MOST < value < _MOST for value in row):
        raise _not_a_number(cells, shown, line)
    for name in _TIMES:
        if row[_COLUMN[name]] > LONGEST_S:
            message = f"{name} is {cells[_COLUMN[name]]}, beyond all time (146,000 years)"
            raise BadInput(message, file=shown, line=line, remedy="it is in seconds; mend the line")
    return row


def _not_a_number(cells: list[str], shown: str, line: int) -> BadInput:
    at = next(position for position, cell in enumerate(cells) if not _is_number(cell))
    message = f"field {at + 1} ({FIELDS[at]}) is {cells[at]!r}, not a number"
    return BadInput(message, file=shown, line=line, remedy="write -1 for what is not known")


def _is_number(cell: str) -> bool:
    try:
        return abs(float(cell)) < _MOST
    except ValueError:
        return False
