"""The first and last of many results, which is what a table shows of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice

import msgspec

from tailrace.report.record import Result

FIRST_ROWS, LAST_ROWS = 20, 10


class Ends(msgspec.Struct, frozen=True):
    top: list[Result]
    bottom: list[Result] = []
    hidden: int = 0  # between them

    @property
    def shown(self) -> list[Result]:
        return self.top + self.bottom


def ends_of(results: Iterable[Result], first: int = FIRST_ROWS, last: int = LAST_ROWS) -> Ends:
    """Of results that can only be gone through; few are in memory."""
    source = iter(results)
    top = list(islice(source, first))
    bottom: deque[Result] = deque(maxlen=last)
    hidden = 0
    for result in source:
        hidden += last == len(bottom)
        bottom.append(result)
    return Ends(top, list(bottom), hidden)
