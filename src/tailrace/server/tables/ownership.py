"""One process owns a store in PostgreSQL: a lock that ends with its connection, however that ends.

The connection does nothing else. Its name in `pg_stat_activity` tells a second server, and people,
where the first can be reached.
"""

from __future__ import annotations

import secrets
import select
import time
from typing import TYPE_CHECKING, Any, LiteralString, NamedTuple

from tailrace.errors import StoreBusy, StoreError
from tailrace.server.tables.link import Trouble
from tailrace.server.tables.pgconnect import HURRIED_S, PATIENT_S, connect, driver, told
from tailrace.server.tables.storeurl import StoreUrl

if TYPE_CHECKING:
    from tailrace.server.tables.pgdriver import Connection

TRIES, TRY_AGAIN_S = 10, 0.1  # of one that was just killed, the server may not know yet
KIND = 0x7461696C  # "tail": among other programs' locks in the database
TAKE = f"SELECT pg_try_advisory_lock(({KIND}::bigint << 32) | to_regnamespace(%s)::oid::bigint)"
HOLDER = f"""
SELECT pid, coalesce(application_name, '')
FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND granted AND objsubid = 1
  AND classid = {KIND} AND objid = to_regnamespace(%s)::oid
  AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


class Holder(NamedTuple):
    pid: int
    name: str

    @property
    def where(self) -> str:
        address = self.name.partition(" ")[2].partition(" ")[2]
        return f" at {address}" if address else ""


class Ownership:
    def __init__(self, url: StoreUrl) -> None:
        self._url = url
        self._errors = driver(url).Error
        self._mark = f"tailrace-owner {secrets.token_hex(3)}"
        self._address = ""
        self._link: Connection | None = None

    @property
    def _name(self) -> str:
        return f"{self._mark} {self._address}".strip()

    def take(self) -> None:
        """Raises StoreBusy if another has it."""
        link = connect(self._url, self._name, patience_s=HURRIED_S if self._link else PATIENT_S)
        link.hurried = True  # its questions take no time
        try:
            self._lock(link)
        except BaseException:
            link.close()
            raise
        self._link = link

    def _lock(self, link: Connection) -> None:
        for _ in range(TRIES):
            if self._locked(link):
                return
            holder = self._holder(link)
            if holder is not None and holder.name.startswith(self._mark):
                self._end(link, holder)  # our own, which the server does not know to be cut
            time.sleep(TRY_AGAIN_S)
        raise self._busy(holder)

    def _locked(self, link: Connection) -> bool:
        return bool(self._ask(link, TAKE, self._url.schema)[0])

    def _holder(self, link: Connection) -> Holder | None:
        found = self._ask(link, HOLDER, self._url.schema)
        return None if found is None else Holder(*found)

    def _end(self, link: Connection, holder: Holder) -> None:
        self._ask(link, "SELECT pg_terminate_backend(%s::int)", holder.pid)

    def _ask(self, link: Connection, query: LiteralString, value: str | int) -> Any:
        try:
            return link.execute(query, (value,)).fetchone()
        except self._errors as error:
            raise told(self._url, error) from error

    def _busy(self, holder: Holder | None) -> StoreBusy:
        where = holder.where if holder else ""
        return StoreBusy(
            f"{self._url}: a server{where} already runs on this store.",
            remedy="Use that one, wait for its end, or name another schema: ?schema=NAME.",
        )

    def retake(self) -> None:
        """Raises StoreError if another has it by now."""
        if self._alive():
            return
        try:
            self.take()
        except StoreBusy as busy:
            raise StoreError(f"{busy.message} It has taken over the store.") from busy

    def look(self) -> None:
        """Without a question to the server: as long as nothing was said, nothing has happened."""
        assert self._link is not None
        poll = select.poll()
        if not self._link.closed:
            poll.register(self._link.fileno(), select.POLLIN)
            if not poll.poll(0) or self._alive():
                return
        raise Trouble(f"{self._url}: the lock of the store was lost with its connection")

    def _alive(self) -> bool:
        if self._link is None or self._link.closed:
            return False
        try:
            self._link.execute("SELECT 1")
        except self._errors:
            self._link.close()
            return False
        return True

    def announce(self, address: str) -> None:
        """Also for the next connection."""
        self._address = address
        assert self._link is not None
        self._ask(self._link, "SELECT set_config('application_name', %s, false)", self._name)

    def free(self) -> None:
        if self._link is not None:
            self._link.close()
