"""What is to be asked of the driver of one pool, and in which order.

Of one lease, one errand after another, as they were decided. Of several leases, some at once. A
start is slow, and may hang; what ends machines that are paid for must not wait for it, so that each
kind has its own places.
"""

from __future__ import annotations

from collections import deque

import msgspec

from tailrace.server.pools.leasing import Act

MOST = {Act.STOP: 8, Act.RENEW: 4, Act.START: 8}  # at once, and which of them goes first


class Errand(msgspec.Struct, frozen=True):
    act: Act
    lease: int
    ends_us: int = 0
    again: bool = False  # an earlier server may have asked for the same
    for_good: bool = False  # nothing tells of its machine's end but the return of this stop


class Errands:
    """Those that wait, and those under way."""

    def __init__(self) -> None:
        self._lines: dict[int, deque[Errand]] = {}  # that wait, by lease
        self._under_way: dict[int, Errand] = {}
        self._ready: dict[Act, dict[int, None]] = {act: {} for act in MOST}  # leases of idle lines
        self._busy = dict.fromkeys(MOST, 0)

    def __bool__(self) -> bool:
        return bool(self._lines or self._under_way)

    def __contains__(self, lease: int) -> bool:
        return lease in self._lines or lease in self._under_way

    def leases(self) -> list[int]:
        return [*self._lines, *self._under_way]

    def starting(self) -> list[int]:
        """Leases of which a start waits, or is under way."""
        waiting = [one for line in self._lines.values() for one in line]
        found = (*waiting, *self._under_way.values())
        return [one.lease for one in found if one.act is Act.START]

    def add(self, errand: Errand) -> bool:
        """Whether there is anything to do: a machine that was never asked for need not be ended."""
        if errand.act is Act.STOP:
            start = self._take_back(errand.lease)
            if start is not None and not start.again:
                return False
            errand = msgspec.structs.replace(errand, for_good=start is not None)
        self._lines.setdefault(errand.lease, deque()).append(errand)
        self._get_ready(errand.lease)
        return True

    def _take_back(self, lease: int) -> Errand | None:
        """Nobody wants any more what has not begun."""
        line = self._lines.pop(lease, ())
        for ready in self._ready.values():
            ready.pop(lease, None)
        return next((one for one in line if one.act is Act.START), None)

    def drop_starts(self) -> None:
        for lease in list(self._ready[Act.START]):
            self._take_back(lease)

    def _get_ready(self, lease: int) -> None:
        line = self._lines.get(lease)
        if line and lease not in self._under_way:
            self._ready[line[0].act].setdefault(lease)

    def begin(self) -> Errand | None:
        """The next that may."""
        for act, most in MOST.items():
            if self._ready[act] and self._busy[act] < most:
                return self._begin(next(iter(self._ready[act])))
        return None

    def _begin(self, lease: int) -> Errand:
        errand = self._under_way[lease] = self._lines[lease].popleft()
        del self._ready[errand.act][lease]
        self._busy[errand.act] += 1
        if not self._lines[lease]:
            del self._lines[lease]
        return errand

    def end(self, errand: Errand, *, over: bool) -> None:
        """`over`: its machine has gone, and what was to be done with it is not."""
        del self._under_way[errand.lease]
        self._busy[errand.act] -= 1
        if over:
            self._take_back(errand.lease)
        self._get_ready(errand.lease)
