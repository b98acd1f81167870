"""When machines are there, as a scenario says it beside laws: hours of owners, recorded lives.

owner_hours = { from = 9, to = 17, days = ["mon", "tue", "wed", "thu", "fri"] }
trace = "event_trace.tab"                      # a failure trace: machine i lives as its i-th node
trace = { file = "spot.csv", format = "pool", begin = "2h", clock = "node" }
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from typing import Any, NamedTuple

import msgspec

from tailrace.bag.tables import Table, listing, near
from tailrace.quantities import SECOND, duration_us
from tailrace.simulation.engine import NEVER
from tailrace.simulation.hours import Interval, gaps, joined, working_hours
from tailrace.simulation.keys import place_of
from tailrace.simulation.laws.reading import Place, number
from tailrace.simulation.traces import read_fta, read_pool_trace

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class Hours(msgspec.Struct, frozen=True):
    """In which owners want their machines. Time 0 is the midnight before a Monday."""

    begins_h: float = 9.0
    ends_h: float = 17.0  # beyond 24: on the day after
    weekdays: tuple[int, ...] = (0, 1, 2, 3, 4)

    @property
    def longest_free_us(self) -> int:
        """Between two times in which they do; a week is like the other."""
        wanted = islice(self.outages(0), len(DAYS) + 1)
        return max(begins - ends for (_, ends), (begins, _) in pairwise(wanted))

    def outages(self, since_us: int) -> Iterator[Interval]:
        return joined(working_hours(self.begins_h, self.ends_h, self.weekdays, since_us))


class Recorded(msgspec.Struct, frozen=True):
    """The lives of real machines: when each was away."""

    away: tuple[tuple[Interval, ...], ...]

    def outages(self, machine: int) -> Iterator[Interval]:
        return iter(self.away[machine % len(self.away)])


class Recording(NamedTuple):
    begins_us: int
    ends_us: int
    up: bool


class Node(NamedTuple):
    first_us: int  # recorded
    away: list[Interval]


# hours of owners


def read_hours(table: Table, place: Place) -> Hours | None:
    if "owner_hours" not in table:
        return None
    inner = table.table("owner_hours")
    begins = inner.read("from", _hour, 9.0, example="9")
    ends = inner.read("to", _hour, 17.0, example="17")
    days = _days(inner)
    inner.finish()
    if begins % 24 == ends % 24 and (begins, ends) != (0, 24):
        message = f"from = {begins:g} and to = {ends:g} leave open whether it is a day or no time"
        remedy = "for whole days write from = 0, to = 24, and days for which"
        raise table.bad("owner_hours", message, remedy)
    if ends <= begins:
        ends += 24
    if ends - begins >= 24 and len(days) == len(DAYS):
        raise table.bad("owner_hours", "its owner never lets go of it", "leave some hours free")
    return Hours(begins, ends, days)


def _hour(written: Any) -> float:
    hour = number(written)
    if not 0 <= hour <= 24:
        raise ValueError(f"{written} is not an hour of the day, from 0 to 24")
    return hour


def _days(table: Table) -> tuple[int, ...]:
    given = table.take("days", list)
    if given is None:
        return Hours().weekdays
    for day in given:
        if day not in DAYS:
            remedy = f"days are {listing(DAYS)}{near(str(day), DAYS)}"
            raise table.bad("days", f"{day!r} is no day", remedy)
    if not given:
        raise table.bad("days", "days is empty", "leave owner_hours out, or name a day")
    return tuple(sorted({DAYS.index(day) for day in given}))


# recorded lives


def read_trace(table: Table, place: Place) -> Recorded | None:
    value = table.take("trace", str, dict)
    if value is None:
        return None
    here = place_of(table, "trace", place)
    inner = Table(value if isinstance(value, dict) else {"file": value}, here.origin, here.path)
    file = inner.take("file", str)
    if file is None:
        raise here.bad("trace names no file", 'write trace = "event_trace.tab"')
    pool = file.removesuffix(".gz").endswith(".csv")
    form = inner.choice("format", ("fta", "pool"), "pool" if pool else "fta")
    rest = inner.choice("unrecorded", ("up", "away"), "away" if form == "pool" else "up")
    clock = inner.choice("clock", ("trace", "node"), "trace")
    begin_us = inner.read("begin", duration_us, 0)
    inner.finish()
    read = _of_pool if form == "pool" else _of_nodes
    with here.origin.at(*here.path):
        nodes = [_node(life, rest) for life in read(here, file)]
    return Recorded(_shifted(nodes, begin_us, own_clocks=clock == "node"))


def _of_nodes(place: Place, file: str) -> Iterable[list[Recording]]:
    nodes = read_fta(place.folder / file, file).values()
    return ([Recording(_us(i.start_s), _us(i.stop_s), i.up) for i in node] for node in nodes)


def _us(time_s: float) -> int:
    return round(time_s * SECOND)


def _of_pool(place: Place, file: str) -> Iterable[list[Recording]]:
    lives = read_pool_trace(place.folder / file, file).lives().values()
    return (list(_stays(life)) for life in lives)


def _stays(life: list[Interval]) -> Iterator[Recording]:
    """What was removed is away until it is added again, or for good."""
    later = [begins for begins, _ in life[1:]]
    for (begins, ends), comes in zip(life, [*later, NEVER], strict=True):
        yield Recording(begins, ends, True)
        yield Recording(ends, comes, False)


def _node(life: list[Recording], unrecorded: str) -> Node:
    """Archives of failures often know a node from its first failure to its last alone."""
    if unrecorded == "up":
        away = joined((one.begins_us, one.ends_us) for one in life if not one.up)
    else:
        away = gaps(((one.begins_us, one.ends_us) for one in life if one.up), NEVER)
    return Node(life[0].begins_us, list(away))


def _shifted(
    nodes: list[Node], begin_us: int, *, own_clocks: bool
) -> tuple[tuple[Interval, ...], ...]:
    """Time 0 is `begin_us` after the trace's first record, or after each node's own."""
    first = min(node.first_us for node in nodes)
    zeros = [(node.first_us if own_clocks else first) + begin_us for node in nodes]
    return tuple(
        tuple((max(a - zero, 0), b - zero if b < NEVER else b) for a, b in node.away if b > zero)
        for node, zero in zip(nodes, zeros, strict=True)
    )
