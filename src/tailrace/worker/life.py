"""When a worker ends by itself: after long idleness, at the end of its machine, or of its lease.

The end of the machine is fixed: a batch system's limit, or a lifetime that was given. That of the
lease moves with each renewal, of which the server tells; without a word from it the worker ends
then, so that nobody pays for a machine whose server is gone.
"""

from __future__ import annotations

from typing import Optional

from .line import SECOND

SAME = SECOND  # ends told this near to each other are one: the line takes its time
LEASE_NOTICE = 20  # a part of what is left: a lease is renewed when a tenth of it is left


class Life:
    def __init__(
        self,
        now: int,
        idle_after_s: Optional[float],
        ends_at: Optional[int],
        lease_ends_at: Optional[int] = None,
    ) -> None:
        self.machine_ends_at = ends_at
        self._lease_ends_at = lease_ends_at
        self._lease_heard = now
        self._born = now
        self._idle_after = None if idle_after_s is None else int(idle_after_s * SECOND)
        self._idle_since: Optional[int] = now

    @property
    def ends_at(self) -> Optional[int]:
        return first(self.machine_ends_at, self._lease_ends_at)

    def lease_ends(self, at: int, now: int) -> bool:
        """Of a lease whose end it keeps; is that news?"""
        if self._lease_ends_at is None or abs(at - self._lease_ends_at) <= SAME:
            return False
        self._lease_ends_at, self._lease_heard = at, now
        return True

    def note(self, busy: bool, now: int) -> None:
        """Whether it has anything; called with every input."""
        if busy:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now

    def next_end(self, notice: int) -> Optional[int]:
        """`notice` is what its tasks and its last report take."""
        return first(self._idle_end(), self._last_moment(notice))

    def over(self, notice: int, now: int) -> str:
        """Why it is time to leave; empty when it is not."""
        last, idle = self._last_moment(notice), self._idle_end()
        if last is not None and now >= last:
            return "end of life"
        return "idle" if idle is not None and now >= idle else ""

    def _idle_end(self) -> Optional[int]:
        if self._idle_after is None or self._idle_since is None:
            return None
        return self._idle_since + self._idle_after

    def _last_moment(self, notice: int) -> Optional[int]:
        """Early enough for tasks to end in their grace, but at most a tenth of a short life, and
        not before a renewal could have come."""
        machine, lease = self.machine_ends_at, self._lease_ends_at
        if machine is not None:
            machine -= min(notice, (machine - self._born) // 10)
        if lease is not None:
            lease -= min(notice, max(lease - self._lease_heard, 0) // LEASE_NOTICE)
        return first(machine, lease)


def first(one: Optional[int], other: Optional[int]) -> Optional[int]:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
