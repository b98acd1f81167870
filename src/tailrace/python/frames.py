"""Stored results for Python: records, or a DataFrame."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.cli.bags.choosing import choose
from tailrace.cli.servers.reached import of, reached
from tailrace.cli.stored import stored
from tailrace.errors import BadInput
from tailrace.python.failures import read
from tailrace.report.columns import find_columns
from tailrace.report.record import Result
from tailrace.server.records.reader import Reader
from tailrace.server.records.reading import BagFacts


def records(
    bag: int | str | None = None,
    folder: str | Path | None = None,
    *,
    server: str | None = None,
    unpickle: bool | None = None,
) -> list[dict[str, Any]]:
    """One dict per task, in their order: `task`, the parameters, `value`, `outcome`, and the rest
    of a result. The values of calls are unpickled, which runs whatever their maker put in: by
    default those of your own bags, not those that others handed in to a server of yours."""
    with _reached(folder, server) as here:
        facts = choose(here, None if bag is None else str(bag))
        return [_record(result) for result in _results(here, facts, unpickle)]


def _record(result: Result) -> dict[str, Any]:
    """The value as it was returned: to be a record it need not be fit for JSON."""
    found: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(result, value=None))
    outcome = None if result.outcome is None else str(result.outcome)
    return {**found, "value": result.value, "outcome": outcome}


def results(
    bag: int | str | None = None,
    folder: str | Path | None = None,
    *,
    server: str | None = None,
    unpickle: bool | None = None,
) -> Any:
    """The same as a pandas DataFrame, with a column for each parameter and each key of the values,
    named as by `tailrace results --csv`. `bag` is a number or a name; default: the newest."""
    pandas = _library()
    with _reached(folder, server) as here:
        facts = choose(here, None if bag is None else str(bag))
        rows = list(_results(here, facts, unpickle))
    columns = find_columns(rows)
    return pandas.DataFrame([columns.row(row) for row in rows], columns=columns.names)


@contextmanager
def _reached(folder: str | Path | None, server: str | None) -> Iterator[Reader]:
    """As commands find it, unless a folder or a server is named."""
    if folder is not None and server is not None:
        raise BadInput("a folder and a server are named at once", remedy="Name one of them.")
    if server is not None:
        from tailrace.cli.servers.remote import Remote

        yield Remote(of(server, "server"))
    elif folder is not None:
        with stored(Path(folder)) as here:
            yield here
    else:
        with reached(None) as found:
            yield found


def _library() -> Any:
    try:
        import pandas
    except ImportError:
        remedy = "Install it with: pip install pandas; tailrace.records() needs nothing."
        raise BadInput("a DataFrame needs pandas, which is not installed", remedy=remedy) from None
    return pandas


def _results(here: Reader, facts: BagFacts, unpickle: bool | None) -> Iterable[Result]:
    found = here.results(facts.bag)
    wanted = facts.owner == here.me() if unpickle is None else unpickle
    if not wanted or not here.details(facts.bag).calls:
        return found
    return _unpickled(here, facts.bag, list(found))


def _unpickled(here: Reader, number: int, found: list[Result]) -> Iterator[Result]:
    done = [result.task for result in found if result.outcome is Outcome.SUCCEEDED]
    values = {task: pickle.loads(read(body).pickled) for task, body in here.reports(number, done)}
    for result in found:
        value = values.get(result.task)
        yield msgspec.structs.replace(result, value=value) if result.task in values else result
