"""Recorded lives of machines: failure traces, lifetimes with censoring, pools that grow and shrink.

The data stay where they are; these functions read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from tailrace.errors import BadInput
from tailrace.quantities import SECOND
from tailrace.simulation.archived import read_archived
from tailrace.simulation.engine import NEVER
from tailrace.simulation.laws import Empirical, Law
from tailrace.simulation.samples import Samples, read_samples

_FTA_FIELDS = 9


class Interval(NamedTuple):
    """A time in which a node was up, or down; seconds as the trace counts them."""

    start_s: float
    stop_s: float
    up: bool

    @property
    def length_s(self) -> float:
        return self.stop_s - self.start_s


class Change(Enum):
    ADD = "add"
    REMOVE = "remove"


class PoolEvent(NamedTuple):
    at_us: int
    change: Change
    node: str


class PoolTrace(msgspec.Struct, frozen=True):
    """Machines that came and went, in the order of time."""

    events: tuple[PoolEvent, ...]

    def lifetimes(self) -> Samples:
        """From coming to going; a node still there at the end is censored."""
        since: dict[str, int] = {}
        lives: list[tuple[int, bool]] = []
        for event in self.events:
            if event.change is Change.ADD:
                since[event.node] = event.at_us
            else:
                lives.append((event.at_us - since.pop(event.node), False))
        end = self.events[-1].at_us
        lives += [(end - start, True) for start in since.values()]
        return _samples(lives)

    def lives(self) -> dict[str, list[tuple[int, int]]]:
        """When each node was there; one whose last record is `add` stays for ever."""
        found: dict[str, list[tuple[int, int]]] = {}
        since: dict[str, int] = {}
        for event in self.events:
            if event.change is Change.ADD:
                since[event.node] = event.at_us
                found.setdefault(event.node, [])
            else:
                found[event.node].append((since.pop(event.node), event.at_us))
        for node, start in since.items():
            found[node].append((start, NEVER))
        return found

    def sizes(self) -> list[tuple[int, int]]:
        """How many machines there were, from each time on at which that changed."""
        found: dict[int, int] = {}
        count = 0
        for event in self.events:
            count += 1 if event.change is Change.ADD else -1
            found[event.at_us] = count
        return list(found.items())


def read_fta(path: Path, shown: str) -> dict[str, list[Interval]]:
    """Failure Trace Archive, tabbed format: the intervals of each node, in the order of time."""
    nodes: dict[str, list[Interval]] = {}
    for line, cells in _cells(path, shown, None):
        if len(cells) < _FTA_FIELDS - 1:
            remedy = "an event has 9 fields: event_id component_id node_id … event_end_reason"
            raise _bad(f"this line has {len(cells)} fields", shown, line, remedy)
        nodes.setdefault(cells[2], []).append(_interval(cells, shown, line))
    if not nodes:
        raise BadInput("there is no event in it", file=shown, remedy="is it an event_trace.tab?")
    return {node: sorted(intervals) for node, intervals in nodes.items()}


def lengths_s(nodes: Iterable[list[Interval]], *, up: bool) -> list[float]:
    """Of all times up, or down; those of no length say nothing and are left out."""
    every = (interval for intervals in nodes for interval in intervals)
    return [one.length_s for one in every if one.up is up and one.length_s > 0]


def availability(intervals: list[Interval]) -> float:
    """The share of the time recorded in which a node was up."""
    known = sum(interval.length_s for interval in intervals)
    return sum(interval.length_s for interval in intervals if interval.up) / known if known else 0.0


def read_lifetimes(
    path: Path, shown: str, column: str = "lifetime_s", censored: str | None = "end_kind=stopped"
) -> Samples:
    """Lifetimes in seconds from a CSV file; by default one of preemptible machines, of which those
    that their user stopped are censored."""
    return read_samples(path, shown, column, censored)


def lifetime_law(samples: Samples) -> Law:
    return Empirical.of(samples.values, samples.censored.tolist())


def read_pool_trace(path: Path, shown: str) -> PoolTrace:
    """Lines of `milliseconds,add|remove,node` without a header."""
    there: dict[str, None] = {}
    events: list[PoolEvent] = []
    for line, cells in _cells(path, shown, ","):
        event = _pool_event(cells, shown, line)
        _step(event, there, shown, line)
        if events and event.at_us < events[-1].at_us:
            raise _bad("this event is earlier than the one before", shown, line, "sort the lines")
        events.append(event)
    if not events:
        raise BadInput("there is no event in it", file=shown, remedy="write 0,add,node1")
    return PoolTrace(tuple(events))


def _cells(path: Path, shown: str, separator: str | None) -> Iterator[tuple[int, list[str]]]:
    """The lines that are neither empty nor comments, with their numbers."""
    for line, text in enumerate(read_archived(path, shown).splitlines(), 1):
        if text.strip() and not text.lstrip().startswith("#"):
            yield line, [cell.strip() for cell in text.split(separator)]


def _interval(cells: list[str], shown: str, line: int) -> Interval:
    kind = cells[5]
    if kind not in ("0", "1"):
        remedy = "1 is available, 0 is unavailable"
        raise _bad(f"event_type is {kind!r}", shown, line, remedy)
    start, stop = (_number(cells[at], shown, line) for at in (6, 7))
    if stop < start:
        raise _bad(f"the event ends at {stop:g}, before it began", shown, line, "mend its times")
    return Interval(start, stop, kind == "1")


def _pool_event(cells: list[str], shown: str, line: int) -> PoolEvent:
    remedy = "write milliseconds,add,node or milliseconds,remove,node"
    if len(cells) != 3:
        raise _bad(f"this line has {len(cells)} fields", shown, line, remedy)
    time, change, node = cells
    if change not in ("add", "remove"):
        raise _bad(f"{change!r} is neither add nor remove", shown, line, remedy)
    return PoolEvent(round(_number(time, shown, line) * SECOND / 1000), Change(change), node)


def _step(event: PoolEvent, there: dict[str, None], shown: str, line: int) -> None:
    """Keeps who is there; a node can neither come twice nor go unseen."""
    if (event.node in there) is (event.change is Change.ADD):
        state = "there already" if event.node in there else "not there"
        raise _bad(f"{event.node} is {state}", shown, line, "take the line out")
    if event.change is Change.ADD:
        there[event.node] = None
    else:
        del there[event.node]


def _number(cell: str, shown: str, line: int) -> float:
    try:
        return float(cell)
    except ValueError:
        raise _bad(f"{cell!r} is not a time", shown, line, "write a number") from None


def _samples(lives: list[tuple[int, bool]]) -> Samples:
    values = np.array([life for life, _ in lives]) / SECOND
    return Samples(values, np.array([mark for _, mark in lives], bool))


def _bad(message: str, shown: str, line: int, remedy: str) -> BadInput:
    return BadInput(message, file=shown, line=line, remedy=remedy)
