"""A server in this process: store, desk, HTTP at its door, and workers of this machine."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tailrace.server.files.retention import Retention
from tailrace.server.files.sweeping import Sweeper
from tailrace.server.people.secretfile import keep
from tailrace.server.pools.command_pool import AnyPool
from tailrace.server.pools.local_pool import LocalPool
from tailrace.server.pools.site import Site
from tailrace.server.records.reading import UNREADABLE, damaged
from tailrace.server.tables.lock import Owner
from tailrace.server.web.app import App
from tailrace.server.web.door import Door
from tailrace.server.web.http import http_server
from tailrace.server.web.renewing import Loaded, Renewing
from tailrace.server.web.tls import context
from tailrace.server.world import Parts, World
from tailrace.worker.joining import BESIDE

if TYPE_CHECKING:
    from tailrace.server.telling.notifying import Notifying


class Serving:
    """Use as an async context. Its own secret is made anew each time, and lies in the folder."""

    stays = True  # for others' bags, too

    def __init__(
        self,
        folder: Path,
        pools: tuple[AnyPool, ...],
        door: Door,
        *,
        journal: bool = True,
        check: bool = False,
        store: str = "",
        parts: Parts | None = None,
        notify: tuple[str, ...] = (),
        retention: Retention | None = None,
        inherits: bool = True,
        quota: int | None = None,
    ) -> None:
        """`inherits`: tasks have all of this process's environment, which is for one's own.
        `quota`: bytes that one user may have on the disk."""
        self._sock = door.listen()
        self._door = door
        self._pools = pools
        terms = tuple(pool.terms for pool in pools)
        try:
            self.world = World(
                folder, terms, check=check, journal=journal, store=store, parts=parts
            )
        except BaseException as error:
            self._sock.close()
            if isinstance(error, UNREADABLE):
                raise damaged(folder, error) from error
            raise
        port, shown = self._sock.getsockname()[1], door.certificate
        renewed = shown is not None and not shown.own  # its own is pinned, and stays
        self._renewing = Renewing(shown, self._show) if shown and renewed else None
        self.here, self.elsewhere = door.here(port), door.elsewhere(port)
        self.address = self.here.url
        self._token = secrets.token_urlsafe(32)
        self._inherits = inherits
        self._quota = quota
        self._sweeper = Sweeper(self.world, retention or Retention())
        self._kill = False
        self._notify = notify
        self._notifying: Notifying | None = None

    async def __aenter__(self) -> Self:
        world = self.world
        for pool in self._pools:
            world.machines.drivers[pool.terms.name] = pool.driver(self._site())
        world.announce(self._owner())
        shown = self._door.certificate
        self._http = http_server(self._app(), None if shown is None else context(shown))
        self._serving = asyncio.create_task(self._http.serve(sockets=[self._sock]))
        world.begin()
        if self._renewing is not None:
            self._renewing.begin()
        if self.stays:
            self._sweeper.begin()
        if self._notify:
            from tailrace.server.telling.notifying import Notifying

            self._notifying = Notifying(world, self._notify)
        return self

    def _app(self) -> App:
        local = any(isinstance(pool, LocalPool) for pool in self._pools)
        shares_account = local and self.stays
        return App(
            self.world, self._token, shares_account=shares_account, sweeper=self._sweeper,
            quota=self._quota,
        )  # fmt: skip

    def _site(self) -> Site:
        world, port = self.world, self._sock.getsockname()[1]
        return Site(
            world.folder, self.here, self.elsewhere, port, self._token, world.store,
            world.clock.now, world.machines.gone, self._inherits, self._join_file(),
        )  # fmt: skip

    def _join_file(self) -> Path | None:
        """For workers of this machine, which pin a certificate that will be another one day."""
        if self._renewing is None:
            return None
        path = self.world.folder / "workers" / BESIDE
        path.parent.mkdir(exist_ok=True)
        keep(path, self.here._replace(token=self._token).text())
        return path

    def _show(self, renewed: Loaded) -> None:
        """Commands and workers of this machine are told before they can meet it."""
        self.here = self.here._replace(fingerprint=renewed.fingerprint)
        self.world.lock.announce(self._owner())
        self._join_file()
        self._http.show(renewed.context)

    def look_at_certificate(self) -> None:
        """Now, not when its minute is over."""
        if self._renewing is not None:
            self._looks = asyncio.create_task(self._renewing.look())

    def _owner(self) -> Owner:
        shown = self._door.certificate
        pin = shown.key_pin() if shown is not None and shown.own else ""
        return Owner(
            address=self.here.url,
            token=self._token,
            fingerprint=self.here.fingerprint,
            elsewhere=self.elsewhere.text(),
            key_pin=pin,
            stays=self.stays,
        )

    async def __aexit__(self, *_: object) -> None:
        """Workers first: their last results still find somebody to take them."""
        self.world.ending = True
        await asyncio.to_thread(self.world.stop_machines, now=self._kill)
        self.world.refuse_all()
        await self._sweeper.end()
        if self._renewing is not None:
            await self._renewing.end()
        self._http.should_exit = True
        await self._serving
        if self._notifying is not None:
            await self._notifying.end()
        self.world.close()
        self._sock.close()

    def kill(self) -> None:
        """Workers of this machine are not waited for."""
        self._kill = True
        self.world.stir()
