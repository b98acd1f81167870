"""A pool whose machines commands start: its terms, its commands, and how its machines join.

They are told a file, never the token that is in it. The token is the pool's own and outlives this
server: machines that were started before find the next one by it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec.structs import replace

from tailrace.drivers import command
from tailrace.drivers.command import CommandDriver
from tailrace.pools.commands import Commands, Names
from tailrace.pools.terms import Pool
from tailrace.server.people.principals import Kind, Principal
from tailrace.server.people.secretfile import keep
from tailrace.server.people.tokens import Tokens
from tailrace.server.pools.capacity import Capacity
from tailrace.server.pools.local_pool import LocalPool
from tailrace.server.pools.site import Site
from tailrace.server.tables.storename import named
from tailrace.worker import zipped
from tailrace.worker.joining import BadJoin, Join, parse, read

POOLS = "pools"  # below the folder of the runs: a folder for each


class CommandPool(msgspec.Struct, frozen=True):
    terms: Pool
    commands: Commands
    capacity: Capacity = Capacity()

    def driver(self, site: Site) -> CommandDriver:
        told = self._told(site.folder, named(site.store.link), site.port)
        told = replace(told, now=site.now)
        told.join.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        zipped.write(str(told.worker))
        self._write_join(told.join, site)
        return CommandDriver(self.commands, told, site.gone)

    def tool(self, folder: Path, store: str) -> CommandDriver:
        """To look at machines and stop them, without a server."""
        return CommandDriver(self.commands, self._told(folder, store, 0), lambda lease, why: None)

    def _told(self, folder: Path, store: str, port: int) -> command.Site:
        place = folder / POOLS / self.terms.name
        return command.Site(
            self.terms.name, Names(store), place / "worker.join", place / "worker.pyz", place, port,
            self.capacity.arguments(), self.capacity.words(),
        )  # fmt: skip

    def _write_join(self, path: Path, site: Site) -> None:
        url = self.commands.url or site.elsewhere.url
        pin = site.elsewhere.fingerprint if url.startswith("https:") else ""
        keep(path, Join(url.rstrip("/"), self._token(path, site), pin).text())

    def _token(self, path: Path, site: Site) -> str:
        """The one that machines have, as long as it holds. The server's owner starts them, so that
        they are trusted as his terms say."""
        name, trusted = self.terms.name, self.terms.trusted
        tokens, ours = Tokens(site.store), Principal(Kind.POOL, name, trusted)
        now = site.now()
        try:
            before = parse(read(str(path))).token if path.exists() else ""
        except BadJoin:
            before = ""
        if before and tokens.principal(before.encode(), now) == ours:
            return before
        return tokens.add(Kind.POOL, name, now, trusted=trusted)


AnyPool = LocalPool | CommandPool
