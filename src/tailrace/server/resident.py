"""A server inside a program, for its calls: with one worker that stays as long as it does."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tailrace.bag.bag import Bag
from tailrace.pools.terms import Pool
from tailrace.scheduler.events import BagSubmitted
from tailrace.server.batch import NewBag
from tailrace.server.files.blobs import of_user
from tailrace.server.pools.local_pool import PLAIN, Capacity, LocalPool
from tailrace.server.serving import Serving
from tailrace.server.standing import Standing
from tailrace.server.web.door import Door
from tailrace.server.world import Parts


class Resident(Serving):
    """Use as an async context; then `add` bags, which run beside each other."""

    def __init__(
        self, folder: Path, capacity: Capacity, *, journal: bool, parts: Parts | None = None
    ) -> None:
        lends_nothing = LocalPool(Pool(PLAIN, max=0))
        super().__init__(folder, (lends_nothing,), Door(), journal=journal, parts=parts)
        place = folder / "workers" / "standing"
        self._standing = Standing(place, PLAIN, self.here.text(), self._token, capacity)

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._standing.start()
        return self

    async def __aexit__(self, *how: object) -> None:
        await asyncio.to_thread(self._standing.stop, now=self._kill)
        await super().__aexit__(*how)

    def put(self, blobs: Mapping[str, memoryview]) -> str:
        """From any thread: what a bag brings along; who holds it until the bag does."""
        holder = of_user(f".{secrets.token_hex(8)}")
        for name, data in blobs.items():
            self.world.blobs.put(holder, name, bytes(data))
        return holder

    async def take_over(self, bag: Bag, giver: str) -> int:
        """The number of a bag that is to come, which holds now what it brings along."""
        number = self.world.new_bag()
        await asyncio.to_thread(self._take_over, number, bag, giver)
        return number

    def _take_over(self, number: int, bag: Bag, giver: str) -> None:
        assert bag.spec.catalogue is not None
        self.world.catalogues.take_in(number, bag.spec.catalogue, giver)
        self.world.blobs.drop(giver)

    def add(self, bag: Bag, number: int | None = None) -> tuple[int, asyncio.Future[None]]:
        """Its number, and a future that is done when it is committed."""
        number = self.world.new_bag() if number is None else number
        spec, chunks = bag.encode()
        new = NewBag(number, bag.spec.name, spec, chunks)
        return number, self.world.tell(BagSubmitted(number, bag.terms()), new)
