"""How much the processes of an attempt have written to disk, each byte counted once.

The kernel adds what a process wrote to the count of its parent, when that has waited for it. So the
bytes of one that is gone stand in the nearest ancestor that is left, as far as the count of that
one has grown. The rest was handed to nobody (the parent ignores its children, or was gone before),
and is remembered here.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple

from . import tree


class Seen(NamedTuple):
    parent: int
    born: int
    total: int


class Written:
    def __init__(self, first: int) -> None:
        """What the first process has written already, in a call before this one, is not ours."""
        self._seen: Dict[int, Seen] = {}
        self._remembered = -tree.written(first)

    def look(self, family: List[int], parents: Dict[int, int]) -> int:
        """The bytes up to now; the family has parents before their children, so that nobody who is
        waited for meanwhile is counted in his own name too."""
        now = {pid: self._read(pid, parents.get(pid, 0)) for pid in family}
        strayed = [pid for pid in self._seen if pid not in now and self._is_there(pid)]
        now.update((pid, self._read(pid, 0)) for pid in strayed)
        self._remembered += self._handed_to_nobody(now)
        self._seen = now
        return self._remembered + sum(one.total for one in now.values())

    def _read(self, pid: int, parent: int) -> Seen:
        """One that ends in this moment has what it had: its parent was read before."""
        before = self._seen.get(pid)
        count = tree.written(pid) or (before.total if before else 0)
        return Seen(parent, before.born if before else tree.born(pid), count)

    def _is_there(self, pid: int) -> bool:
        """Its parent is gone, and nobody has told yet whose child it is."""
        return tree.born(pid) == self._seen[pid].born

    def _handed_to_nobody(self, now: Dict[int, Seen]) -> int:
        left: Dict[int, int] = {}
        for pid, one in self._seen.items():
            if pid not in now:
                heir = self._heir(pid, now)
                left[heir] = left.get(heir, 0) + one.total
        return sum(max(count - self._growth(heir, now), 0) for heir, count in left.items())

    def _heir(self, pid: int, now: Dict[int, Seen]) -> int:
        while pid in self._seen and pid not in now:
            pid = self._seen[pid].parent
        return pid

    def _growth(self, heir: int, now: Dict[int, Seen]) -> int:
        """Nothing is seen of the keeper's: it is not of the family."""
        return max(now[heir].total - self._seen[heir].total, 0) if heir in now else 0
