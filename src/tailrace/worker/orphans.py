"""What tasks leave behind: processes that outlive the first one of their attempt.

Being a child subreaper, the keeper becomes the parent of every orphan. To whom it belonged says its
environment (`TAILRACE_ATTEMPT`); if it has thrown that away, it can only belong to an attempt that
was running, or had just ended, when it was first seen. It is killed as soon as none of those runs.
"""

from __future__ import annotations

import signal
import time
from typing import Dict, FrozenSet, Iterable, List, Mapping, Optional, Set

from . import tree
from .attempt import Attempt
from .ring import Slot

MOST_SLOTS = 50  # that wait for a sweep: each has two open files
PATIENCE_S = 5.0  # with a process that does not die of KILL, before the result leaves without it


class Orphans:
    def __init__(self, family: tree.Tree, births: tree.Births) -> None:
        self.spared: Set[int] = set()  # children of the keeper that are nobody's task
        self.due: Optional[float] = None  # when the next sweep is wanted
        self._tree, self._births = family, births
        self._owners: Dict[int, FrozenSet[int]] = {}  # by process: the attempts it may belong to
        self._ending: Dict[int, Attempt] = {}  # ended since the last sweep, or not yet clean
        self._give_up: Dict[int, float] = {}
        self._slots: List[Attempt] = []  # finished, with slots that may still be written to
        self._clean: List[Slot] = []
        self._not_before = 0.0
        self._strangers = True  # somebody has forked since a sweep found nothing

    def of(self, attempt: int) -> List[int]:
        return [pid for pid, owners in self._owners.items() if owners == {attempt}]

    def reaped(self, pid: int) -> None:
        self._owners.pop(pid, None)
        self.spared.discard(pid)
        if self._ending:
            self.due = self.due or 0.0

    def ended(self, attempt: Attempt, leftovers: bool) -> None:
        self._strangers = self._births.others() or self._strangers
        if not (self._strangers or leftovers or attempt.folder is not None):
            return  # nobody forked: it left nobody
        self._ending[attempt.id] = attempt
        self._give_up[attempt.id] = time.monotonic() + PATIENCE_S
        urgent = leftovers or attempt.folder is not None
        self.due = 0.0 if urgent else self._not_before if self.due is None else self.due

    def keep_slot(self, attempt: Attempt) -> None:
        """Until a sweep has shown that nobody writes to it any more."""
        assert attempt.slot is not None
        if attempt.id in self._ending:
            self._slots.append(attempt)
            if len(self._slots) > MOST_SLOTS:
                self.due = 0.0
        else:
            self._clean.append(attempt.slot)

    def clean_slots(self) -> List[Slot]:
        slots, self._clean = self._clean, []
        return slots

    def sweep(self, running: Mapping[int, Attempt]) -> Iterable[Attempt]:
        """The ended attempts of which nothing is left."""
        now = time.monotonic()
        if self.due is None or now < self.due:
            return ()
        parents = self._tree.look()
        self._not_before = now + 10 * self._tree.scan_s
        self._see(parents, running)
        alive = {attempt.id for attempt in running.values()}
        for pid, owners in self._owners.items():
            if not owners & alive:
                for each in tree.below([pid], parents):
                    tree.send(each, signal.SIGKILL)
        clean = [each for each in self._ending.values() if self._is_clean(each, now)]
        for attempt in clean:
            del self._ending[attempt.id], self._give_up[attempt.id]
        self._free_slots(now)
        self._strangers = any(pid not in running for pid in parents)
        self.due = now + 0.02 if self._ending else None
        return clean

    def _see(self, parents: Dict[int, int], running: Mapping[int, Attempt]) -> None:
        root = self._tree.root
        here = [pid for pid, up in parents.items() if up == root and pid not in running]
        here = [pid for pid in here if pid not in self.spared]
        for pid in [pid for pid in self._owners if pid not in parents]:
            del self._owners[pid]
        for pid in here:
            if pid not in self._owners:
                self._owners[pid] = self._owner(pid, running)

    def _owner(self, pid: int, running: Mapping[int, Attempt]) -> FrozenSet[int]:
        said = tree.environment_entry(pid, "TAILRACE_ATTEMPT")
        if said is not None and said.isdigit():
            return frozenset([int(said)])
        return frozenset([*self._ending, *(attempt.id for attempt in running.values())])

    def _is_clean(self, attempt: Attempt, now: float) -> bool:
        if now >= self._give_up[attempt.id]:
            return True
        group = tree.send_group(attempt.pid, signal.SIGKILL)
        return not group and not self.of(attempt.id)

    def _free_slots(self, now: float) -> None:
        """A slot somebody may still write to is closed, and never used again."""
        waiting = []
        for attempt in self._slots:
            assert attempt.slot is not None
            if attempt.id in self._ending:
                waiting.append(attempt)
            elif any(attempt.id in owners for owners in self._owners.values()):
                attempt.slot.close()
            else:
                self._clean.append(attempt.slot)
        self._slots = waiting
