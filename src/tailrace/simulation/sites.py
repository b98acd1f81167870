"""Where machines stand and what joins them, as a scenario says it (thesis 2.2).

[sites.ghent]
lan = { rate = "1 Gbit/s", latency = "1ms" }
up = { law = "exponential", mean = "30d" }            # until a failure of the whole site
down = "2h"
share = 0.8                                           # of its machines are hit each time

[network]
wan = { rate = "5 Mbit/s", latency = "20ms" }         # between any two sites
links = [{ between = ["ghent", "delft"], rate = "100 Mbit/s" }]
storage = { site = "ghent", capacity = "10 TB" }
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec

from tailrace.bag.tables import Table, near
from tailrace.quantities import duration_us, size_bytes
from tailrace.simulation.keys import read_law_of, read_share
from tailrace.simulation.laws import Law
from tailrace.simulation.laws.reading import Place
from tailrace.simulation.turns import check_turns

_RATE = re.compile(r"\s*([\d._]+)\s*([kMGT]?)bit/s\s*")
_BITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
LINK = 'such as { rate = "1 Gbit/s", latency = "1ms" }'


class LinkTerms(msgspec.Struct, frozen=True):
    bytes_per_s: float
    latency_us: int = 0


class SiteOutages(msgspec.Struct, frozen=True):
    """Failures of a whole site, beside those of its machines."""

    between: Law
    repair: Law
    share: float = 1.0  # of the machines that are hit each time


class Site(msgspec.Struct, frozen=True):
    name: str
    lan: LinkTerms | None = None  # None: as fast as its machines' own links
    outages: SiteOutages | None = None


class Store(msgspec.Struct, frozen=True):
    """Where inputs come from, and outputs and checkpoints go."""

    site: str
    capacity: int | None = None  # bytes, for what comes; None: without limit
    link: LinkTerms | None = None


class Network(msgspec.Struct, frozen=True):
    sites: tuple[Site, ...] = ()
    wan: LinkTerms | None = None  # between any two sites
    links: tuple[tuple[str, str, LinkTerms], ...] = ()  # between these two instead
    storage: Store | None = None

    def wide(self) -> Iterator[tuple[str, str, LinkTerms]]:
        """Every two sites that are joined, once."""
        own = {frozenset(pair): link for *pair, link in self.links}
        names = [site.name for site in self.sites]
        for at, site in enumerate(names):
            for other in names[at + 1 :]:
                link = own.get(frozenset((site, other)), self.wan)
                if link is not None:
                    yield site, other, link

    def joins(self, site: str, other: str) -> bool:
        if site == other or self.wan is not None:
            return True
        return any({site, other} == {a, b} for a, b, _ in self.links)


def bytes_per_s(written: Any) -> float:
    """`"5 Mbit/s"`, `"100 MB/s"`; a number is bytes a second."""
    if isinstance(written, (int, float, Decimal)):
        found = float(written)
    elif bits := _RATE.fullmatch(str(written)):
        found = float(bits[1]) * _BITS[bits[2]] / 8
    else:
        size, _, per = str(written).rpartition("/")
        if per.strip() != "s":
            raise ValueError(f"{written!r} is not a rate such as 5 Mbit/s or 100 MB/s")
        found = float(size_bytes(size))
    if not found > 0:
        raise ValueError(f"{written} is no rate above 0")
    return found


def read_network(table: Table, place: Place) -> Network:
    sites = tuple(
        _site(Table(value, table.origin, ("sites", name)), name, place)
        for name, value in _named(table.table("sites"))
    )
    inner = table.table("network")
    names = [site.name for site in sites]
    wan, links = read_link(inner, "wan"), _links(inner, names)
    storage = _storage(inner, names)
    inner.finish()
    if wan is not None and len(sites) < 2:
        remedy = "leave wan out; or add [sites.NAME], and say of the pools where they stand"
        there = "one site" if sites else "no site"
        raise inner.bad("wan", f"network.wan would have no effect: there is {there}", remedy)
    return Network(sites, wan, links, storage)


def _named(tables: Table) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, value in tables.items():
        if not isinstance(value, dict):
            raise tables.bad(name, f"sites.{name} is not a table", f"write [sites.{name}]")
        yield name, value


def _site(table: Table, name: str, place: Place) -> Site:
    lan = read_link(table, "lan")
    up, down = (read_law_of(table, key, place, None) for key in ("up", "down"))
    shared, share = "share" in table, read_share(table, "share")
    table.finish()
    if (up is None) != (down is None):
        given, lacking = ("down", "up") if up is None else ("up", "down")
        raise table.bad(given, f"{given} without {lacking}", f"give {lacking}, too")
    if up is None:
        if shared:
            remedy = "leave share out; or say when the site fails: up and down"
            raise table.bad("share", f"{table.label('share')} would have no effect: "
                            "the site never fails", remedy)  # fmt: skip
        return Site(name, lan)
    check_turns(table, "up", "down", up, down)
    return Site(name, lan, SiteOutages(up, down, share))


def read_link(table: Table, key: str) -> LinkTerms | None:
    if key not in table:
        return None
    inner = table.table(key)
    link = _link(inner)
    inner.finish()
    return link


def _link(table: Table) -> LinkTerms:
    rate = table.read("rate", bytes_per_s, 0.0, example='"1 Gbit/s"')
    if not rate:
        raise table.origin.bad(table.path, "the link has no rate", f"a link is {LINK}")
    return LinkTerms(rate, table.read("latency", duration_us, 0))


def _links(table: Table, sites: list[str]) -> tuple[tuple[str, str, LinkTerms], ...]:
    found = []
    for position, value in enumerate(table.take("links", list) or []):
        if not isinstance(value, dict):
            raise table.bad("links", "links holds what is no link", f"a link is {LINK}")
        inner = Table(value, table.origin, (*table.path, "links", position))
        ends = inner.take("between", list)
        if not isinstance(ends, list) or len(ends) != 2 or ends[0] == ends[1]:
            remedy = 'write between = ["ghent", "delft"]'
            raise table.bad("links", "a link does not say which two sites it joins", remedy)
        for end in ends:
            known_site(inner, "between", end, sites)
        found.append((*ends, _link(inner)))
        inner.finish()
    return tuple(found)


def _storage(table: Table, sites: list[str]) -> Store | None:
    if "storage" not in table:
        return None
    inner = table.table("storage")
    site = inner.take("site", str)
    if site is None:
        raise table.bad("storage", "storage is at no site", 'write storage = { site = "…" }')
    known_site(inner, "site", site, sites)
    store = Store(site, inner.read("capacity", size_bytes, None), read_link(inner, "link"))
    inner.finish()
    return store


def read_sites(table: Table) -> tuple[str, ...]:
    """`site = "ghent"`, or several among which the machines are dealt out in turn."""
    given = table.take("site", str, list)
    if given is None or isinstance(given, str):
        return () if given is None else (given,)
    if not given or not all(isinstance(site, str) for site in given):
        raise table.bad("site", "site is no list of names", 'write site = ["ghent", "delft"]')
    return tuple(given)


def known_site(table: Table, key: str, site: Any, sites: list[str]) -> None:
    if site not in sites:
        there = ", ".join(sites) or "none: add [sites.NAME]"
        remedy = f"the sites are {there}{near(str(site), sites)}"
        raise table.bad(key, f"there is no site {site!r}", remedy)
