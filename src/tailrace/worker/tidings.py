"""How far running attempts are: what the server has not heard yet, and when it will.

It goes with any call that is made anyway; for its own sake a waiting call is abandoned and made
anew only once in a few seconds. After a call that failed all is told again, since the server may be
another one, which knows nothing of it.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Tuple

from .line import SECOND

EVERY = 5 * SECOND
AT_MOST = 1000  # in one call
Json = Dict[str, Any]


class Tidings:
    def __init__(self) -> None:
        self._known: Dict[int, Tuple[Json, int]] = {}  # the newest of each attempt, and since when
        self._untold: Dict[int, None] = {}
        self._carried: Dict[int, None] = {}  # by the call in hand
        self._not_before = 0

    def take(self, reports: Iterable[Json], now: int) -> None:
        for report in reports:
            self._known[report["attempt"]] = report, now
            self._untold[report["attempt"]] = None

    def due(self) -> Optional[int]:
        """When a call is made for it."""
        return self._not_before if self._untold else None

    def carry(self, now: int) -> List[Json]:
        """With the call that is made now; one that was in hand is not waited for any more."""
        self._untold.update(self._carried)
        self._carried = dict.fromkeys(list(self._untold)[:AT_MOST])
        for attempt in self._carried:
            del self._untold[attempt]
        if self._carried:
            self._not_before = now + EVERY
        return [self._told(attempt, now) for attempt in self._carried]

    def _told(self, attempt: int, now: int) -> Json:
        report, since = self._known[attempt]
        return {**report, "ago_us": now - since}

    def heard(self) -> None:
        self._carried = {}

    def unheard(self) -> None:
        self._carried = {}
        self._untold = dict.fromkeys(self._known)

    def refused(self) -> None:
        """The server cannot read the call, perhaps because of this: nothing is lost by it."""
        for attempt in list(self._carried):
            self.forget(attempt)

    def forget(self, attempt: int) -> None:
        for each in (self._known, self._untold, self._carried):
            each.pop(attempt, None)
