"""Kinds of keys that many tables of a scenario have: laws, counts, times, arrivals."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tailrace.bag.needs import BYTES, ONE_CORE, THOUSANDTHS
from tailrace.bag.tables import Table
from tailrace.quantities import duration_us
from tailrace.simulation.arrivals import Arrivals, AtOnce, Listed, read_arrivals
from tailrace.simulation.laws import Law
from tailrace.simulation.laws.reading import Place, number, read_law, seconds

MOST = 10**9
MOST_TASKS = 10**8  # in a scenario: of each some numbers are kept
MOST_MACHINES = 10**6
MOST_LINE = 256  # characters: a longer text is UNDEFINED to a policy
_LAW = (dict, str, int, Decimal)


def read_law_of(table: Table, key: str, place: Place, default: Any, unit: Any = seconds) -> Any:
    value = table.take(key, *_LAW, wanted="a law", example='"10m", or { law = …, … }')
    if value is None:
        return default
    law: Law = read_law(value, place_of(table, key, place), unit)
    return law


def read_arrivals_of(table: Table, place: Place) -> Arrivals:
    value = table.take("arrivals", dict, str)
    if value is None:
        return AtOnce()
    return read_arrivals(value, place_of(table, "arrivals", place))


def check_arrivals(table: Table, arrivals: Arrivals, wanted: int) -> None:
    """A list has an end."""
    if isinstance(arrivals, Listed) and len(arrivals.at_us) < wanted:
        message = f"{wanted} are to arrive, but only {len(arrivals.at_us)} come"
        raise table.bad("arrivals", message, "list more times, or ask for fewer")


def read_count(table: Table, key: str, default: Any, *, least: int = 0, most: int = MOST) -> Any:
    value = table.take(key, int)
    if value is not None and not least <= value <= most:
        remedy = f"it is a whole number from {least} to {most:,}"
        raise table.bad(key, f"{table.label(key)} is {value:,}", remedy)
    return default if value is None else value


def read_own(table: Table) -> dict[str, int]:
    """`has = { licences = 2 }`: thousandths of what machines have under names of one's own."""
    inner, found = table.table("has", "{ licences = 2 }"), {}
    for name, value in inner.items():
        if name in (*ONE_CORE, *BYTES, "gpus"):
            remedy = f"write {name} = … beside has, not in it"
            raise inner.bad(name, f"{name} is no name of your own", remedy)
        with inner.origin.at(*inner.path, name):
            found[name] = round(number(value) * THOUSANDTHS)
        if found[name] <= 0:
            remedy = f"leave {name} out, or give a number above 0"
            raise inner.bad(name, f"{inner.label(name)} is {value}", remedy)
    return found


def read_share(table: Table, key: str, default: float = 1.0) -> float:
    value = table.read(key, number, default, example="0.5")
    if not 0 <= value <= 1:
        raise table.bad(key, f"{table.label(key)} is {value:g}", "it is a share between 0 and 1")
    return value


def some_time(written: Any) -> int:
    found = duration_us(written)
    if not found:
        raise ValueError(f"{written} is no time at all")
    return found


def place_of(table: Table, key: str, place: Place) -> Place:
    return Place(place.origin, (*table.path, key), place.folder)


def read_line(table: Table, key: str, example: str) -> str:
    """What a machine says of itself: printed, and looked at by policies."""
    written: str | None = table.take(key, str, example=example)
    if written is None:
        return ""
    if not 0 < len(written) <= MOST_LINE or not written.isprintable():
        what = f"{table.label(key)} is one line of 1 to {MOST_LINE} characters"
        raise table.bad(key, what, f"write {key} = {example}, or leave it out")
    return written
