"""The network of a running world: its sites, links and storage, and who stands where."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, inf
from typing import Any

from tailrace.quantities import SECOND
from tailrace.simulation.engine import Engine
from tailrace.simulation.flow import Transfer
from tailrace.simulation.network import Link, Reach, Traffic
from tailrace.simulation.sites import LinkTerms, Network
from tailrace.simulation.storage import Storage
from tailrace.simulation.topology import Topology

STORAGE = "storage"


class Transport:
    def __init__(self, engine: Engine, network: Network) -> None:
        self.storage = Storage(network.storage.capacity if network.storage else None)
        self._traffic = Traffic(engine)
        self._topology = topology = Topology()
        for site in network.sites:
            topology.add_site(site.name, _link(f"{site.name} lan", site.lan))
        for site_name, other, terms in network.wide():
            name = f"{site_name}-{other}"
            wide = Link(name, terms.bytes_per_s, terms.latency_us, Reach.WIDE)
            topology.join(site_name, other, wide)
        if (storage := network.storage) is not None:
            topology.place(STORAGE, storage.site, _link(f"{STORAGE} link", storage.link))

    def place(self, name: str, site: str, own: LinkTerms | None) -> None:
        """A machine, when it comes into being."""
        self._topology.place(name, site, _link(f"{name} link", own, is_private=True))

    def bring(self, size: float, host: str, then: Callable[[Any], object]) -> Transfer:
        return self._traffic.send(size, self._topology.route(STORAGE, host), then)

    def fetch(self, size: float, host: str, then: Callable[[Any], object]) -> Transfer:
        return self._traffic.send(size, self._topology.route(host, STORAGE), then)

    def least_us(self, size: float, host: str) -> int:
        """So long a transfer takes that has the links to itself."""
        route = self._topology.route(host, STORAGE)
        slowest = min((link.bytes_per_s for link in route.links), default=inf)
        return route.latency_us + ceil(size / slowest * SECOND)

    def cancel(self, transfer: Transfer) -> None:
        self._traffic.cancel(transfer)

    def links(self) -> list[Link]:
        return self._topology.links()


def _link(name: str, terms: LinkTerms | None, *, is_private: bool = False) -> Link | None:
    if terms is None:
        return None
    return Link(name, terms.bytes_per_s, terms.latency_us, is_private=is_private)
