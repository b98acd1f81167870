"""Sites and what joins them: which links lie between two places (thesis 2.2, 4.3.4).

Inside a site a tree of two levels: each place may have a link of its own, and all meet in the
site's local network. Between any two sites there is one wide link.
"""

from __future__ import annotations

from tailrace.simulation.network import Link, Route


class Topology:
    def __init__(self) -> None:
        self._local: dict[str, Link | None] = {}  # by site
        self._wide: dict[tuple[str, str], Link] = {}
        self._places: dict[str, tuple[str, Link | None]] = {}
        self._routes: dict[tuple[str, str], Route] = {}

    def add_site(self, site: str, local: Link | None = None) -> None:
        """Without a local link, its places are joined by their own links alone: a star."""
        self._local[site] = local

    def join(self, site: str, other: str, wide: Link) -> None:
        self._wide[site, other] = self._wide[other, site] = wide

    def place(self, name: str, site: str, own: Link | None = None) -> None:
        """A machine, a storage, the scheduler: anything that sends or receives."""
        if site not in self._local:
            raise ValueError(f"{name!r} is placed at {site!r}, which is no site of this network")
        self._places[name] = site, own

    def route(self, sender: str, receiver: str) -> Route:
        """Kept: the links between two places do not change."""
        found = self._routes.get((sender, receiver))
        if found is None:
            found = self._routes[sender, receiver] = Route(self._links(sender, receiver))
        return found

    def _links(self, sender: str, receiver: str) -> list[Link]:
        if sender == receiver:
            return []
        (site, own), (other, others) = self._places[sender], self._places[receiver]
        path = [own, self._local[site]]
        if site != other:
            path += [self._between(site, other), self._local[other]]
        return [link for link in (*path, others) if link is not None]

    def _between(self, site: str, other: str) -> Link:
        if (site, other) not in self._wide:
            raise ValueError(f"no wide link joins the sites {site!r} and {other!r}")
        return self._wide[site, other]

    def links(self) -> list[Link]:
        """Each once, for their counts."""
        own = (link for _, link in self._places.values())
        every = dict.fromkeys((*self._local.values(), *self._wide.values(), *own))
        return [link for link in every if link is not None]
