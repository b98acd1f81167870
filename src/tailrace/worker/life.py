"""When a worker ends by itself: after long idleness, or at its given end."""

from __future__ import annotations

from typing import Optional

from .line import SECOND


class Life:
    def __init__(self, now: int, idle_after_s: Optional[float], ends_at: Optional[int]) -> None:
        self.ends_at = ends_at
        self._born = now
        self._idle_after = None if idle_after_s is None else int(idle_after_s * SECOND)
        self._idle_since: Optional[int] = now

    def note(self, busy: bool, now: int) -> None:
        """Whether it has anything; called with every input."""
        if busy:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now

    def next_end(self, notice: int) -> Optional[int]:
        """`notice` is what its tasks and its last report take."""
        times = [when for when in (self._idle_end(), self._last_moment(notice)) if when is not None]
        return min(times) if times else None

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
        """Early enough for tasks to end in their grace, but at most a tenth of a short life."""
        if self.ends_at is None:
            return None
        return self.ends_at - min(notice, (self.ends_at - self._born) // 10)
