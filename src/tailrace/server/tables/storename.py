"""The name of a store, its own among all: machines elsewhere are called by it."""

from __future__ import annotations

import secrets

from tailrace.server.tables.link import Link

QUERY = "SELECT value FROM meta WHERE key = 'name'"


def name_of(link: Link) -> str | None:
    """None: nobody has asked for one yet, so that no machine has it."""
    found = link.execute(QUERY).fetchone()
    return None if found is None else f"{found[0]:010x}"


def named(link: Link) -> str:
    """Made up when it is first asked for."""
    name = name_of(link)
    if name is None:
        link.execute("INSERT INTO meta VALUES ('name', ?)", (secrets.randbits(40),))
        name = name_of(link)
    assert name is not None
    return name
