"""The limits of tasks: time by the clock, memory and disk by looking at the tree now and then.

A look costs a pass over /proc, so there is none unless a running task has such a limit; then one
soon after its start (most programs that ask for too much do so early), later two in a second. What
tasks print is looked at as often, in one call per file, so that endless output is noticed.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Dict, Iterable, List, Optional

from . import container, tree
from .attempt import Attempt
from .family import OrphansOf, family
from .ring import PUNCH_ABOVE
from .staging import bytes_in
from .written import Written

FIRST_LOOKS = (0.05, 0.1, 0.2)
LOOK_EVERY = 0.5
TOLD_AT_MOST = 60  # times, a second apart: an engine on a busy machine takes its time
# A task that prints this fast is looked at again at once.
PRINTS_FAST = 32 << 20


class Limits:
    def __init__(self, family: tree.Tree) -> None:
        self._tree = family
        self.due: Optional[float] = None  # when to look next; early does no harm

    def begin(self, attempt: Attempt) -> None:
        attempt.look_at = time.monotonic() + FIRST_LOOKS[0]
        if attempt.limits.get("disk") and attempt.written is None:
            attempt.written = Written(attempt.pid)
        self._look_by(_next_of(attempt))

    def _look_by(self, when: float) -> None:
        self.due = when if self.due is None else min(self.due, when)

    def look(self, attempts: Iterable[Attempt], orphans_of: OrphansOf) -> None:
        now = time.monotonic()
        if self.due is None or now < self.due:
            return
        self.due = None
        parents: Optional[Dict[int, int]] = None
        for attempt in list(attempts):
            ends = _time_ends(attempt)
            if ends is not None and now >= ends:
                self.end(attempt, "over_limit", "time", attempt.grace_s, _too_long(attempt))
            if attempt.kill_at is not None and now >= attempt.kill_at:
                attempt.kill_at = now + 1.0
                self._signal(attempt, signal.SIGKILL, orphans_of)
            if now >= attempt.look_at:
                self._look_at_output(attempt, now)
                if attempt.outcome is None and _limited(attempt):
                    parents = self._tree.look() if parents is None else parents
                    members = family(attempt, orphans_of, parents)
                    self._look_at_memory(attempt, members)
                    self._look_at_disk(attempt, members, parents)
            self._look_by(_next_of(attempt))

    def end(
        self, attempt: Attempt, outcome: str, limit: Optional[str], grace_s: float, why: str = ""
    ) -> None:
        """TERM now, KILL after the grace; who was first said why it ends."""
        if attempt.outcome is not None:
            return
        attempt.outcome, attempt.limit, attempt.why = outcome, limit, why
        attempt.kill_at = time.monotonic() + grace_s
        self._look_by(attempt.kill_at)
        if grace_s > 0:
            self._signal(attempt, signal.SIGTERM, lambda _: [])

    def _signal(self, attempt: Attempt, number: int, orphans_of: OrphansOf) -> None:
        if attempt.inside is not None and self._tell(attempt, number):
            return
        if not tree.send_group(attempt.pid, number):
            tree.send(attempt.pid, number)  # it has no group of its own yet
        for pid in tree.below([attempt.pid, *orphans_of(attempt.id)], self._tree.look()):
            if pid != attempt.pid and _group(pid) != attempt.pid:
                tree.send(pid, number)

    def _tell(self, attempt: Attempt, number: int) -> bool:
        """It ends its container itself; false when it has had long enough for that."""
        if number == signal.SIGTERM:
            return tree.send(attempt.pid, container.ASKED)
        attempt.told += 1
        return attempt.told <= TOLD_AT_MOST and tree.send(attempt.pid, container.END)

    def _look_at_output(self, attempt: Attempt, now: float) -> None:
        slot = attempt.slot
        assert slot is not None
        before = slot.seen
        if not slot.trim() and attempt.outcome is None:
            why = f"printed {_size(slot.seen)}, all kept on this disk; print less, or to a file"
            self.end(attempt, "over_limit", "disk", 0, why)
        wait = FIRST_LOOKS[attempt.looks] if attempt.looks < len(FIRST_LOOKS) else LOOK_EVERY
        attempt.looks += 1
        if slot.seen - before > PRINTS_FAST and slot.seen > PUNCH_ABOVE:
            wait = 0.02
        attempt.look_at = now + wait

    def _look_at_memory(self, attempt: Attempt, members: List[int]) -> None:
        """Pages shared between its processes are counted once, if the sum would be too much."""
        limit = attempt.limits.get("memory")
        used = sum(map(tree.resident, members))
        if limit and used > limit:
            used = sum(map(tree.proportional, members))
            if used > limit:
                self.end(attempt, "over_limit", "memory", 0, _too_much("memory", used, limit))
        attempt.memory = max(attempt.memory, used)

    def _look_at_disk(self, attempt: Attempt, members: List[int], parents: Dict[int, int]) -> None:
        limit = attempt.limits.get("disk")
        if not limit or attempt.written is None:
            return
        if attempt.folder is not None:
            used = bytes_in(attempt.folder)
        else:
            used = attempt.written.look(members, parents)
        if used > limit:
            self.end(attempt, "over_limit", "disk", 0, _too_much("disk", used, limit))


def _too_much(kind: str, used: int, limit: int) -> str:
    return f"used {_size(used)} of {kind}, its limit is {_size(limit)}; {_raise(kind)}"


def _too_long(attempt: Attempt) -> str:
    return f"ran longer than its limit of {attempt.limits['time_us'] / 1e6:g} s; {_raise('time')}"


def _raise(kind: str) -> str:
    return f"raise `limits.{kind}`, or how far `on_over_limit` lets it grow"


def _size(count: int) -> str:
    mebibytes = count / (1 << 20)
    return f"{mebibytes:,.1f} MiB" if mebibytes >= 1 else f"{count:,} bytes"


def _next_of(attempt: Attempt) -> float:
    times = (_time_ends(attempt), attempt.kill_at, attempt.look_at)
    return min(when for when in times if when is not None)


def _limited(attempt: Attempt) -> bool:
    """Or its memory is known only by looking."""
    if attempt.inside is not None:
        return True
    return bool(attempt.limits.get("memory") or attempt.limits.get("disk"))


def _time_ends(attempt: Attempt) -> Optional[float]:
    limit = attempt.limits.get("time_us")
    if not limit or attempt.outcome is not None:
        return None
    return (attempt.started_us + limit) / 1_000_000


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return 0
