"""Whether a run still gets anywhere, where nothing but its tasks would end it.

Machines may fail and be mended, tasks be sent and lost, without end. So now and then the run is
asked what it came to since a task last had its result.
"""

from __future__ import annotations

from collections.abc import Sequence

from tailrace.simulation.record import Record

LOOK = 10_000  # events
SENDINGS, FOR_EACH = 100_000, 10  # so many in vain, and for each task
IDLE, IDLE_DAYS = 10, 60  # looks, and the days that go by, with nothing sent or done
YEARS = 100
DAY_US = 86_400_000_000
YEAR_US = 365 * DAY_US
END_OF_TIME = "time came to its end: what they wait for would take longer than 146,000 years"


class Patience:
    def __init__(self, records: Sequence[Record], *, saves: bool) -> None:
        """`saves`: tasks have checkpoints, so that a sending in vain may bring them further."""
        self._records, self._saves = records, saves
        tasks = sum(len(record.done) for record in records)
        self._most = SENDINGS + FOR_EACH * tasks
        self._settled, self._sent, self._since_us = -1, 0, 0
        self._idle, self._idle_us, self._idle_sent = 0, 0, 0  # looks; since when; sent by then

    def lost(self, now: int, rests: bool) -> str:
        """Why it is; empty: it is not. `rests`: nothing that is out will end, or be given up."""
        return self._stands_still(now, rests) or self._gets_nowhere(now)

    def _stands_still(self, now: int, rests: bool) -> str:
        """Machines may come and go without end of which none takes what waits."""
        sent = sum(record.attempts for record in self._records)
        if not rests or sent != self._idle_sent or not self._all_came():
            self._idle, self._idle_us, self._idle_sent = 0, now, sent
            return ""
        self._idle += 1
        if self._idle < IDLE or now - self._idle_us < IDLE_DAYS * DAY_US:
            return ""
        return f"nothing was sent in {IDLE_DAYS} days, and nothing is out that would come back"

    def _gets_nowhere(self, now: int) -> str:
        settled = sum(record.settled for record in self._records)
        sent = sum(record.attempts for record in self._records)
        if settled != self._settled:
            self._settled, self._sent, self._since_us = settled, sent, now
        elif not self._saves and sent - self._sent > self._most:
            return f"{sent - self._sent:,} sendings in a row brought no result"
        elif now - self._since_us > YEARS * YEAR_US and self._all_came():
            return f"no task ended in {YEARS} years"
        return ""

    def _all_came(self) -> bool:
        return all(record.submitted == len(record.done) for record in self._records)
