"""Of the attempts that are sent to a pool, the share that ever comes back; it may change.

returns = 0.9
returns = { from = ["0s", "2h"], share = [0.95, 0.6] }
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec

from tailrace.bag.tables import Table
from tailrace.quantities import duration_us
from tailrace.simulation.keys import read_share
from tailrace.simulation.laws.reading import number

EXAMPLE = '{ from = ["0s", "2h"], share = [0.95, 0.6] }'


class Returning(msgspec.Struct, frozen=True):
    """From each time on, what share of what is sent then; the first time is 0."""

    share: tuple[float, ...] = (1.0,)
    from_us: tuple[int, ...] = (0,)

    @property
    def always(self) -> bool:
        return min(self.share) == 1

    def at(self, now: int) -> float:
        return self.share[bisect_right(self.from_us, now) - 1]


ALL_RETURN = Returning()


def read_returning(table: Table) -> Returning:
    if not isinstance(table.peek("returns"), dict):
        return Returning((read_share(table, "returns"),))
    inner = table.table("returns", EXAMPLE)
    from_us = tuple(_each(inner, "from", duration_us))
    share = _checked(inner, "share", tuple(_each(inner, "share", number)))
    inner.finish()
    if len(from_us) != len(share) or not from_us or from_us[0] or _turns_back(from_us):
        message = f"{table.label('returns')} has {len(from_us)} times and {len(share)} shares"
        remedy = f"as many of both, with rising times of which the first is 0: {EXAMPLE}"
        raise table.bad("returns", message, remedy)
    return Returning(share, from_us)


def _each(table: Table, key: str, reader: Callable[[Any], Any]) -> list[Any]:
    values = table.take(key, list, example=EXAMPLE) or []
    with table.origin.at(*table.path, key, remedy=f"write it as in {EXAMPLE}"):
        return [reader(value) for value in values]


def _turns_back(times: tuple[int, ...]) -> bool:
    return any(later <= sooner for sooner, later in pairwise(times))


def _checked(table: Table, key: str, share: tuple[float, ...]) -> tuple[float, ...]:
    for value in share:
        if not 0 <= value <= 1:
            message = f"{table.label(key)} is {value:g}"
            raise table.bad(key, message, "it is a share between 0 and 1")
    return share
