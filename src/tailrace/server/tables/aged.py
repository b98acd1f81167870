"""What no bag that is left needs any more: the oldest of the journal, and hosts long silent.

A journal is replayed from a page that carries all rows, as the first of each server does. So it
goes from the front, and up to such a page. A scheduler that has a host in mind is asked before it
goes.
"""

from __future__ import annotations

import msgspec

from tailrace.scheduler.rows import BagRow, LeaseRow
from tailrace.server.tables.link import Link
from tailrace.server.tables.store import Store

# As a page without rows begins, in MessagePack: a map of three, its first key, nothing.
GOES_ON = b"\x83\xa8restored\xc0"
BEGINNINGS = "SELECT n FROM journal WHERE substr(body, 1, 11) <> ? ORDER BY n DESC"
PAGE = "SELECT body FROM journal WHERE n = ?"
BEFORE = "SELECT count(*) FROM journal WHERE n < ?"
DROP = "DELETE FROM journal WHERE n IN (SELECT n FROM journal WHERE n < ? ORDER BY n LIMIT ?)"
SILENT = (
    "SELECT host FROM hosts WHERE last_seen_us < ?"
    " AND NOT EXISTS (SELECT 1 FROM host_work w WHERE w.host = hosts.host)"
    " AND NOT EXISTS (SELECT 1 FROM live_attempts a WHERE a.host = hosts.host)"
    " ORDER BY host"
)
_bag_row = msgspec.json.Decoder(BagRow).decode
_lease_row = msgspec.json.Decoder(LeaseRow).decode


class _Head(msgspec.Struct):
    restored_at: int


_head = msgspec.msgpack.Decoder(_Head).decode


def first_page(link: Link, until_us: int) -> int:
    """That a replay has to begin with: the newest that carries all rows, and is from before every
    bag that is left, and before then. 0: all are needed."""
    bags = (_bag_row(row) for (row,) in link.execute("SELECT row FROM bags").fetchall())
    until_us = min([until_us, *(bag.submitted_us for bag in bags)])
    for (number,) in link.execute(BEGINNINGS, (GOES_ON,)).fetchall():
        if _head(bytes(link.execute(PAGE, (number,)).fetchone()[0])).restored_at <= until_us:
            return int(number)
    return 0


def pages_before(link: Link, number: int) -> int:
    return int(link.execute(BEFORE, (number,)).fetchone()[0])


def drop_pages(store: Store, before: int, most: int) -> bool:
    """Some of them; is there more?"""
    store.write(DROP, before, most)
    return pages_before(store.link, before) > 0


def silent_hosts(link: Link, since_us: int) -> list[str]:
    """Who have no part in any bag that is left."""
    leased = {_lease_row(row).host for (row,) in link.execute("SELECT row FROM leases").fetchall()}
    rows = link.execute(SILENT, (since_us,)).fetchall()
    return [host for (host,) in rows if host not in leased]


def forget_hosts(store: Store, since_us: int) -> int:
    """How many; one that calls again comes as a new one."""
    found = silent_hosts(store.link, since_us)
    for host in found:
        store.write("DELETE FROM hosts WHERE host = ?", host)
    return len(found)
