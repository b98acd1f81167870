"""Arrivals as they stand in a scenario: `{ process = "poisson", every = "3m" }`, or "at once"."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from tailrace.bag.tables import Table, label, listing, meant, near
from tailrace.errors import BadInput
from tailrace.quantities import duration_us, show_duration
from tailrace.simulation.arrivals.lublin import KINDS, lublin
from tailrace.simulation.arrivals.process import (
    Arrivals,
    AtOnce,
    Batches,
    Listed,
    Renewal,
    daily,
    earlier_at,
    poisson,
    uniform,
    with_night,
)
from tailrace.simulation.laws import Constant, Law
from tailrace.simulation.laws.extent import check_extent
from tailrace.simulation.laws.reading import Place, above, number, per_second, read_law, seconds

EXAMPLES = {
    "at once": '"at once"',
    "poisson": '{ process = "poisson", every = "3m" }, or rate = "20/h"',
    "uniform": '{ process = "uniform", from = "1m", to = "5m" }',
    "gaps": '{ process = "gaps", gap = { law = "gamma", mean = "3m", sd = "1m" } }',
    "batches": '{ process = "batches", size = 1000, gap = "12h" }',
    "daily": '{ process = "daily", per_day = 1000, night = 0.2, night_from = 21, night_to = 7 }',
    "lublin": '{ process = "lublin", jobs = "batch", start_hour = 8 }',
    "listed": '{ process = "listed", times = ["0s", "5m"] }, or file = "jobs.swf"',
}


def read_arrivals(value: Any, place: Place) -> Arrivals:
    table = Table(value if isinstance(value, dict) else {"process": value}, *place[:2])
    name = _name(table, place)
    try:
        with place.origin.at(*place.path):
            arrivals = _READERS[name](table, place)
        table.finish()
    except BadInput as fault:
        fault.remedy = fault.remedy or f"write it as in {EXAMPLES[name]}"
        raise
    return arrivals


def _name(table: Table, place: Place) -> str:
    name = table.take("process", str)
    if name in EXAMPLES:
        return str(name)
    known = tuple(EXAMPLES)
    found = (
        f"{label(place.path)} names no process" if name is None else f"there is no process {name!r}"
    )
    raise place.bad(found, f"{meant(str(name), known)}process is {listing(known)}")


def _at_once(table: Table, place: Place) -> Arrivals:
    return AtOnce(table.read("at", duration_us, 0))


def _poisson(table: Table, place: Place) -> Arrivals:
    every = table.read("every", above(seconds), None)
    rate = table.read("rate", per_second, None)
    if (every is None) == (rate is None):
        raise ValueError("a Poisson process takes either every or rate")
    found = poisson(every if every is not None else 1 / float(rate or 0))
    check_extent(found.gaps, times=True)
    return found


def _uniform(table: Table, place: Place) -> Arrivals:
    return uniform(_needed(table, "from", seconds), _needed(table, "to", seconds))


def _gaps(table: Table, place: Place) -> Arrivals:
    return Renewal(_law(table, "gap", place, seconds))


def _batches(table: Table, place: Place) -> Arrivals:
    sizes, gaps = _law(table, "size", place, number), _law(table, "gap", place, seconds)
    if isinstance(sizes, Constant) and sizes.mean() < 1:
        message = f"batches of {sizes.mean():g}, but at least one comes each time"
        raise place.at("size").bad(message, "give a size of 1 or more")
    return Batches(sizes, gaps)


def _law(table: Table, key: str, place: Place, unit: Callable[[Any], float]) -> Law:
    written = table.take(key, dict, str, int, Decimal)
    if written is None:
        raise ValueError(f"it lacks {key}")
    return read_law(written, place.at(key), unit)


def _daily(table: Table, place: Place) -> Arrivals:
    per_day = _needed(table, "per_day", above(number))
    start = table.read("start_hour", _hour, 0.0)
    hours = table.take("hours", list)
    if hours is None:
        return daily(per_day, _night(table), start)
    if len(hours) != 24:
        raise ValueError(f"hours has {len(hours)} weights, but a day has 24 hours")
    with place.origin.at(*place.path, "hours"):
        return daily(per_day, tuple(number(weight) for weight in hours), start)


def _night(table: Table) -> tuple[float, ...]:
    share = _needed(table, "night", number)
    begins = table.read("night_from", _hour, 21.0)
    ends = table.read("night_to", _hour, 7.0)
    return with_night(share, int(begins), int(ends))


def _lublin(table: Table, place: Place) -> Arrivals:
    kind = table.choice("jobs", tuple(KINDS), "batch")
    return lublin(KINDS[kind], table.read("start_hour", _hour, 0.0))


def _listed(table: Table, place: Place) -> Arrivals:
    times, file = table.take("times", list), table.take("file", str)
    if (times is None) == (file is None):
        raise ValueError("listed arrivals take either times or a file")
    if file is not None:
        return _from_file(str(file), place)
    with place.origin.at(*place.path, "times"):
        return Listed(_in_order([duration_us(time) for time in times]))


def _in_order(times: list[int]) -> tuple[int, ...]:
    """The n-th is that of the n-th task, whose length may be listed as well."""
    at = earlier_at(times)
    if at is not None:
        now, before = show_duration(times[at]), show_duration(times[at - 1])
        message = f"time {at + 1} of {len(times)} is {now}, earlier than {before} before it"
        raise BadInput(message, remedy="list the tasks as they come, each length with its time")
    return tuple(times)


def _from_file(file: str, place: Place) -> Arrivals:
    from tailrace.simulation.swf import read_swf

    log = read_swf(place.folder / file, file)
    times = log.submit_us().tolist()
    unknown = [job for job, at in zip(log.jobs(), times, strict=True) if at < 0]
    at = earlier_at(times)
    if unknown:
        remedy = 'give it one, or take the job out; jobs = "…" instead leaves such jobs out'
        raise BadInput(f"job {unknown[0]} has no submit time", file=file, remedy=remedy)
    if at is not None:
        message = f"job {log.jobs()[at]} comes after one that was submitted later"
        remedy = 'sort the lines by their second field, or take jobs = "…", which keeps jobs whole'
        raise BadInput(message, file=file, remedy=remedy)
    return Listed(tuple(times))


def _needed(table: Table, key: str, reads: Callable[[Any], float]) -> float:
    if key not in table:
        raise ValueError(f"it lacks {key}{near(key, [name for name, _ in table.items()])}")
    return table.read(key, reads, 0.0)


def _hour(written: Any) -> float:
    hour = number(written)
    if not 0 <= hour < 24:
        raise ValueError(f"{written} is not an hour of the day, from 0 to 23")
    return hour


_READERS: dict[str, Callable[[Table, Place], Arrivals]] = {
    "at once": _at_once,
    "poisson": _poisson,
    "uniform": _uniform,
    "gaps": _gaps,
    "batches": _batches,
    "daily": _daily,
    "lublin": _lublin,
    "listed": _listed,
}
