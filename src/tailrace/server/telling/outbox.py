"""Notices that are still to be told, in the store: each once for every target, until it is taken.

So a server that ends before a hook answers again leaves them to the next one. What nobody has taken
for a day is no news any more, and of too many the oldest go.
"""

from __future__ import annotations

import hashlib
import logging

import msgspec

from tailrace.server.tables.store import Store
from tailrace.server.telling.notices import Notice

log = logging.getLogger("tailrace.server")
KEPT_US = 24 * 3600 * 1_000_000
MOST = 1000  # of all targets

KEEP = "INSERT INTO notices (notice, target, made_us, body) VALUES (?, ?, ?, ?)"
DROP = "DELETE FROM notices WHERE notice = ?"
ALL = "SELECT notice, target, made_us, body FROM notices ORDER BY notice"


class Kept(msgspec.Struct, frozen=True):
    number: int
    target: str
    made_us: int
    notice: Notice


class Outbox:
    def __init__(self, store: Store, targets: tuple[str, ...]) -> None:
        self._store = store
        self._named = {name_of(target): target for target in targets}
        self._there: dict[int, None] = {}  # numbers, the oldest first
        self._last = 0

    def left(self, now_us: int) -> list[Kept]:
        """By an earlier server. Targets that the settings do not name any more are told nothing."""
        found = []
        for number, name, made_us, body in self._store.link.execute(ALL).fetchall():
            self._last = max(self._last, number)
            if name not in self._named or now_us - made_us > KEPT_US:
                self._store.write(DROP, number)
                continue
            self._there[number] = None
            notice = msgspec.json.decode(bytes(body), type=Notice)
            found.append(Kept(number, self._named[name], made_us, notice))
        return found

    def keep(self, notice: Notice, target: str, now_us: int) -> Kept:
        """It is in the store when this returns."""
        while len(self._there) >= MOST:
            log.warning("notify: more than %d wait to be told; the oldest is given up", MOST)
            self.drop(next(iter(self._there)))
        number = self._last + 1
        self._store.write(KEEP, number, name_of(target), now_us, msgspec.json.encode(notice))
        self._last = number
        self._there[number] = None
        return Kept(number, target, now_us, notice)

    def drop(self, number: int) -> None:
        """It is told, or given up."""
        self._store.write(DROP, number)
        self._there.pop(number, None)


def name_of(target: str) -> str:
    return hashlib.sha256(target.encode()).hexdigest()
