"""Stored results for Python: records, or a DataFrame."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.cli.bags.choosing import choose
from tailrace.cli.stored import Stored, stored
from tailrace.errors import BadInput
from tailrace.python.failures import read
from tailrace.report.columns import find_columns
from tailrace.report.record import Result
from tailrace.server.records import reading
from tailrace.server.records.reading import BagFacts

AT_ONCE = 1000  # pickled values read by one query


def records(
    bag: int | str | None = None, folder: str | Path | None = None, *, unpickle: bool | None = None
) -> list[dict[str, Any]]:
    """One dict per task, in their order: `task`, the parameters, `value`, `outcome`, and the rest
    of a result. The values of calls are unpickled, which runs whatever their maker put in: by
    default those of your own bags, not those that others handed in to a server of yours."""
    with stored(None if folder is None else Path(folder)) as here:
        facts = choose(here, None if bag is None else str(bag))
        found = [msgspec.to_builtins(result) for result in _results(here, facts, unpickle)]
    for record in found:
        record["outcome"] = None if record["outcome"] is None else str(record["outcome"])
    return found


def results(
    bag: int | str | None = None, folder: str | Path | None = None, *, unpickle: bool | None = None
) -> Any:
    """The same as a pandas DataFrame, with a column for each parameter and each key of the values,
    named as by `tailrace results --csv`. `bag` is a number or a name; default: the newest."""
    pandas = _library()
    with stored(None if folder is None else Path(folder)) as here:
        facts = choose(here, None if bag is None else str(bag))
        rows = list(_results(here, facts, unpickle))
    columns = find_columns(rows)
    return pandas.DataFrame([columns.row(row) for row in rows], columns=columns.names)


def _library() -> Any:
    try:
        import pandas
    except ImportError:
        remedy = "Install it with: pip install pandas; tailrace.records() needs nothing."
        raise BadInput("a DataFrame needs pandas, which is not installed", remedy=remedy) from None
    return pandas


def _results(here: Stored, facts: BagFacts, unpickle: bool | None) -> Iterable[Result]:
    found = reading.results(here.link, facts.bag)
    wanted = not facts.owner if unpickle is None else unpickle
    if not wanted or reading.content(here.link, facts.bag).spec.function is None:
        return found
    return _unpickled(here, facts.bag, list(found))


def _unpickled(here: Stored, number: int, found: list[Result]) -> Iterator[Result]:
    done = [result for result in found if result.outcome is Outcome.SUCCEEDED]
    values: dict[int, Any] = {}
    for at in range(0, len(done), AT_ONCE):
        indices = [result.task for result in done[at : at + AT_ONCE]]
        for index, _, body in reading.reports(here.link, number, indices):
            values[index] = pickle.loads(read(body or b"{}").pickled)
    for result in found:
        value = values.get(result.task)
        yield msgspec.structs.replace(result, value=value) if result.task in values else result
