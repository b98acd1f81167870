"""How far running attempts are: what the server has not heard yet, and when it will.

It goes with any call that is made anyway; for its own sake a waiting call is abandoned and made
anew only once in a few seconds. What a call carried that was not answered is sent again, unless
there is something newer.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional

from .line import SECOND

EVERY = 5 * SECOND
AT_MOST = 1000  # in one call
Json = Dict[str, Any]


class Tidings:
    def __init__(self) -> None:
        self._untold: Dict[int, Json] = {}
        self._carried: Dict[int, Json] = {}  # by the call in hand
        self._not_before = 0

    def take(self, reports: Iterable[Json]) -> None:
        for report in reports:
            self._untold[report["attempt"]] = report

    def due(self) -> Optional[int]:
        """When a call is made for it."""
        return self._not_before if self._untold else None

    def carry(self, now: int) -> List[Json]:
        """With the call that is made now; one that was in hand is not waited for any more."""
        self.unheard()
        if not self._untold:
            return []
        self._not_before = now + EVERY
        for attempt in list(self._untold)[:AT_MOST]:
            self._carried[attempt] = self._untold.pop(attempt)
        return list(self._carried.values())

    def heard(self) -> None:
        self._carried.clear()

    def unheard(self) -> None:
        if self._carried:
            self._untold = {**self._carried, **self._untold}
            self._carried.clear()

    def forget(self, attempt: int) -> None:
        self._untold.pop(attempt, None)
        self._carried.pop(attempt, None)
