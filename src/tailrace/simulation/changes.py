"""What changes about a machine while it runs: the share that others use of it, and its pace.

load = { lasts = "1h", share = { law = "uniform", from = 0, to = 0.8 } }
load = { file = "load.csv", time = "seconds", column = "cpu" }
pace = { lasts = "1d", factor = { law = "normal", mean = 1, sd = 0.1 } }
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile

import msgspec
import numpy as np

from tailrace.bag.tables import Table
from tailrace.errors import BadInput
from tailrace.quantities import SECOND
from tailrace.simulation.draws import Streams
from tailrace.simulation.keys import read_law_of
from tailrace.simulation.laws import Law
from tailrace.simulation.laws.reading import Place, number
from tailrace.simulation.life import Presence
from tailrace.simulation.load import Step, Steps, drawn
from tailrace.simulation.machine import Machine
from tailrace.simulation.samples import Cell, read_columns


class Drawn(msgspec.Struct, frozen=True):
    """Steps by laws: each machine has its own."""

    lasts: Law
    value: Law

    def steps(self, streams: Streams, now: int) -> Iterator[Step]:
        lasts = streams.stream("lasts").durations(self.lasts)
        value = streams.stream("value").of(self.value)
        return drawn(lambda: (max(lasts(), 1), value()), now)


class Replayed(msgspec.Struct, frozen=True):
    """Steps that were recorded: the same for every machine of the pool."""

    at: tuple[Step, ...]

    def steps(self, streams: Streams, now: int) -> Iterator[Step]:
        return iter(self.at)


Change = Drawn | Replayed
EDGE = 2.0**-53  # the smallest of all uniforms that are drawn
RANGES = {"share": "it is a share between 0 and 1", "factor": "it cannot be negative"}
STILL = {"share": 1.0, "factor": 0.0}  # nothing is left for our work


class Changing:
    """Keeps the speed of one machine up to date with its load and its pace."""

    def __init__(self, machine: Machine, speed: float, on_change: Callable[[], None]) -> None:
        self._machine, self._speed = machine, speed
        self._on_change = on_change
        self._share, self._factor = 0.0, 1.0

    @property
    def speed(self) -> float:
        """What is left for our work."""
        return self._speed * self._factor * (1 - self._share)

    def follow(
        self, presence: Presence, streams: Streams, load: Change | None, pace: Change | None
    ) -> None:
        """As long as the machine may be up again."""
        for name, change, put in (("load", load, self._load), ("pace", pace, self._pace)):
            if change is not None:
                steps = change.steps(streams.below(name), presence.engine.now)
                Steps(presence.engine, put, takewhile(lambda _: not presence.final, steps))

    def _load(self, share: float) -> None:
        self._share = min(max(share, 0.0), 1.0)
        self._apply()

    def _pace(self, factor: float) -> None:
        self._factor = max(factor, 0.0)
        self._apply()

    def _apply(self) -> None:
        speed = self._speed * self._factor
        self._machine.set_speed(speed)
        self._machine.set_background(speed * self._share)
        self._on_change()


def read_change(table: Table, key: str, value: str, place: Place) -> Change | None:
    """`value` names what changes: `share` or `factor`."""
    if key not in table:
        return None
    inner = table.table(key)
    if "file" in inner:
        return _replayed(inner, value, place)
    lasts = read_law_of(inner, "lasts", place, None)
    values = read_law_of(inner, value, place, None, number)
    inner.finish()
    if lasts is None or values is None:
        lacking = "lasts" if lasts is None else value
        remedy = f'write {key} = {{ lasts = "1h", {value} = 0.5 }}, each a law, or a file'
        raise table.bad(key, f"{key} lacks {lacking}", remedy)
    if not lasts.mean() > 0:
        raise inner.bad("lasts", "steps that last no time", "give a law of times above 0")
    _check_range(inner, value, values)
    return Drawn(lasts, values)


def _check_range(table: Table, value: str, law: Law) -> None:
    least, most = law.quantile(np.array([EDGE, 1 - EDGE])).tolist()
    if least < 0 or (value == "share" and most > 1):
        wrong = least if least < 0 else most
        raise table.bad(value, f"{table.label(value)} may be {wrong:g}", RANGES[value])
    if least == most == STILL[value]:
        raise _never(table, value, value)


def _never(table: Table, key: str, value: str) -> BadInput:
    message = f"{table.label(value)} is always {STILL[value]:g}: no task would ever end"
    return table.bad(key, message, "only some of the steps may have that value")


def _within(cell: Cell, value: str) -> float:
    number = cell.number()
    if number < 0 or (value == "share" and number > 1):
        raise cell.bad(f"is {cell.text}", RANGES[value])
    return number


def _replayed(table: Table, value: str, place: Place) -> Change:
    file = str(table.take("file", str))
    columns = [table.take("time", str) or "time", table.take("column", str) or value]
    table.finish()
    steps: list[Step] = []
    with table.origin.at(*table.path, "file"):
        rows = list(read_columns(place.folder / file, file, columns))
    for time, cell in rows:
        at = round(time.number() * SECOND)
        if steps and at <= steps[-1][0]:
            raise BadInput(
                f"{time.column} is {time.text}, not later than the row before",
                file=file, line=time.line, remedy="sort the rows, one for each time",
            )  # fmt: skip
        steps.append((at, _within(cell, value)))
    if all(at_value == STILL[value] for _, at_value in steps):
        raise _never(table, "file", value)
    return Replayed(tuple(steps))
