"""The tasks of a bag as they stand in a scenario: by a law, one by one, or from a log of jobs.

length = { law = "exponential", mean = "10m" }          # with tasks = 1000
lengths = ["6s", "5s", "4s"]                            # task i has the i-th
lengths = { file = "runs.csv", column = "seconds" }     # with length: a law of those without one
jobs = "log.swf"                                        # run times and submit times
jobs = { file = "log.swf", processors = "needs" }       # and cores; a bag for each number of them
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from tailrace.bag.tables import Table
from tailrace.errors import BadInput
from tailrace.simulation.arrivals import Arrivals, Listed
from tailrace.simulation.keys import MOST_TASKS, place_of, read_count, read_law_of
from tailrace.simulation.laws import Law
from tailrace.simulation.laws.extent import LONGEST_S
from tailrace.simulation.laws.reading import Place, seconds
from tailrace.simulation.samples import Cell, read_columns, read_samples
from tailrace.simulation.swf import Swf, read_swf
from tailrace.simulation.wfformat import is_workflow
from tailrace.simulation.workload import Given

WAYS = ("length", "lengths", "jobs")


class Lot(msgspec.Struct, frozen=True):
    """Tasks with the same needs."""

    count: int
    lengths: Law | Given
    arrivals: Arrivals | None = None  # as their log has them
    cores: int | None = None  # of each, as their log has it


def read_lots(table: Table, place: Place) -> list[Lot]:
    way = _way(table)
    count = read_count(table, "tasks", None, least=1, most=MOST_TASKS)
    if way == "jobs":
        return _logged(table, place, count)
    if way == "lengths":
        return [_listed(table, place, count, read_law_of(table, "length", place, None))]
    if count is None:
        raise table.origin.bad(table.path, f"bag {table.path[-1]} has no tasks", "add tasks = 1000")
    return [Lot(count, read_law_of(table, "length", place, None))]


def _way(table: Table) -> str:
    given = [key for key in WAYS if key in table]
    if given == ["length", "lengths"]:
        return "lengths"
    if len(given) > 1:
        raise table.bad(given[1], f"{given[0]} and {given[1]} are both given", "keep one of them")
    if given:
        return given[0]
    wrote = next((said for key in WAYS if (said := table.instead_of(key))), "")
    raise table.origin.bad(
        table.path, f"bag {table.path[-1]} has no length",
        f'{wrote}add length = "10m" or a law, or lengths = [...], or jobs = "log.swf"',
    )  # fmt: skip


# one by one


def _listed(table: Table, place: Place, count: int | None, others: Law | None) -> Lot:
    """`others` is the law of those that are not listed, or without a value."""
    value = table.take("lengths", list, dict)
    here, gaps = place_of(table, "lengths", place), others is not None
    given = _column(value, here, gaps=gaps) if isinstance(value, dict) else _values(value, here)
    some = count if gaps and count is not None else _at_most(table, count, len(given))
    return Lot(some, Given(given, others))


def _values(values: list[Any], place: Place) -> tuple[float, ...]:
    if not values:
        raise place.bad("lengths is empty", 'write lengths = ["6s", "5s"], or tasks and length')
    found = []
    for position, value in enumerate(values):
        with place.origin.at(*place.path, position):
            found.append(seconds(value))
    return tuple(found)


def _column(value: dict[str, Any], place: Place, *, gaps: bool) -> tuple[float, ...]:
    table = Table(value, place.origin, place.path)
    file, column = table.take("file", str), table.take("column", str)
    table.finish()
    if file is None or column is None:
        lacking = "file" if file is None else "column"
        remedy = 'write lengths = { file = "runs.csv", column = "seconds" }'
        raise place.bad(f"lengths lacks {lacking}", remedy)
    with place.origin.at(*place.path, "file"):
        if is_workflow(place.folder / file):
            return tuple(read_samples(place.folder / file, file, column).values.tolist())
        cells = [row[0] for row in read_columns(place.folder / file, file, [column])]
    return tuple(math.nan if gaps and not cell.text else _length(cell) for cell in cells)


def _length(cell: Cell) -> float:
    if not cell.text:
        raise cell.bad("is empty", "give it a length, or the bag a law for such tasks: length = …")
    length = cell.number()
    if length < 0:
        raise cell.bad(f"is {cell.text}", "a task cannot be shorter than nothing")
    if length > LONGEST_S:
        raise cell.bad(f"is {cell.text}", "a task takes no longer than 146,000 years, in seconds")
    return length


def _at_most(table: Table, count: int | None, given: int) -> int:
    """`tasks` may ask for the first of them alone."""
    if count is not None and count > given:
        remedy = "lower tasks, or leave it out"
        raise table.bad("tasks", f"there are lengths of {given} tasks, not of {count}", remedy)
    return given if count is None else count


# logs of jobs


def _logged(table: Table, place: Place, count: int | None) -> list[Lot]:
    value = table.take("jobs", str, dict)
    here = place_of(table, "jobs", place)
    inner = Table(value if isinstance(value, dict) else {"file": value}, here.origin, here.path)
    file = inner.take("file", str)
    processors = inner.choice("processors", ("ignored", "needs"), "ignored")
    inner.finish()
    if file is None:
        raise here.bad("jobs names no file", 'write jobs = "log.swf"')
    if "arrivals" in table:
        raise table.bad("arrivals", "arrivals beside jobs", "the log says when its jobs come")
    with here.origin.at(*here.path):
        log = read_swf(here.folder / file, file).complete()
    if not len(log.rows):
        remedy = "its submit times and run times are all unknown (-1): take another log"
        raise BadInput("no job of it can be used", file=file, remedy=remedy)
    log = Swf(log.rows[: _at_most(table, count, len(log.rows))])
    return _by_cores(log, file) if processors == "needs" else [_lot(log, None)]


def _by_cores(log: Swf, file: str) -> list[Lot]:
    """In the order in which each number of processors first comes."""
    cores = log.processors()
    if (cores < 1).any():
        message = f"job {int(log.column('job')[int(np.argmin(cores))])} has no number of processors"
        raise BadInput(message, file=file, remedy='leave processors = "needs" out, or mend the log')
    kinds = dict.fromkeys(cores.tolist())
    return [_lot(Swf(log.rows[cores == kind]), kind) for kind in kinds]


def _lot(log: Swf, cores: int | None) -> Lot:
    arrivals = Listed(tuple(log.submit_us().tolist()))
    return Lot(len(log.rows), Given(tuple(log.run_s().tolist())), arrivals, cores)
