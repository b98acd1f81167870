"""The routes of earlier results: which bags of the caller have some, and of which tasks."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec

from tailrace.bag.bag import Bag
from tailrace.server.comparing import Compared, Comparison, check_taking, compared, to_take
from tailrace.server.errands import little
from tailrace.server.errands.deeds import Comparing, Deed
from tailrace.server.errands.errands import Errands
from tailrace.server.files.blobs import of_bag
from tailrace.server.people.principals import Principal, Who
from tailrace.server.protocol import decode_result, encode
from tailrace.server.records.taking import Earlier, Taken, earlier
from tailrace.server.submission import MOST_BODY, Submission, Taking
from tailrace.server.tables.link import Link
from tailrace.server.web.apart import apart
from tailrace.server.web.routes import JSON, Call, Plain, Refused, Route
from tailrace.server.world import World
from tailrace.worker.blobs import File

_read_bags = msgspec.msgpack.Decoder(tuple[int, ...]).decode


class Basis(msgspec.Struct, frozen=True):
    basis: Annotated[str, msgspec.Meta(max_length=100)]


class Past:
    def __init__(self, world: World, errands: Errands) -> None:
        self._world = world
        self._errands = errands
        self._comparing = asyncio.Lock()

    def routes(self) -> tuple[Route, ...]:
        people = Who.PEOPLE
        return (
            Route("GET", "/api/v1/earlier", people, "The caller's bags of a basis with results.",
                  self._earlier, list[Earlier], query=Basis),
            Route("POST", "/api/v1/compare", people, "Which tasks have results in these bags.",
                  self._compare, Compared, Comparison, most_body=MOST_BODY, grows=True),
        )  # fmt: skip

    async def taken(self, bag: Bag, asked: Submission, who: Principal, sent: bytes) -> Taken | None:
        """None: nothing. `sent`: the submission as it came; empty: `asked` is all of it."""
        taking = asked.taking
        assert taking is not None
        check_taking(bag, taking)
        if little.is_little(bag.spec) and bag.count <= little.TASKS and self._few(taking.bags):
            taken = await self._taken_here(bag, taking, who)
        else:
            taken = await self._taken_apart(who, sent or encode(asked))
        return taken if taken.size else None

    async def _taken_here(self, bag: Bag, taking: Taking, who: Principal) -> Taken:
        world = self._world
        async with self._comparing:
            return await apart(
                world.folder, lambda link: to_take(link, world.catalogues, bag, taking, who)
            )

    async def _taken_apart(self, who: Principal, sent: bytes) -> Taken:
        import numpy as np

        found = await self._errands.run(who, Deed.TAKE, Comparing(who), sent)
        return Taken(np.frombuffer(found[2], np.int64), _read_bags(found[1]))

    def _few(self, bags: list[int]) -> bool:
        """Whether these have few tasks, as far as they are there."""
        known = [self._world.state.bags.get(number) for number in bags]
        return sum(one.terms.count for one in known if one is not None) <= little.TASKS

    async def hand_on(self, number: int, bag: Bag, taken: Taken) -> None:
        """`then` of a bag whose files travel finds also outputs that were taken over."""
        if bag.spec.catalogue is None or bag.spec.then is None or not bag.spec.outputs:
            return
        try:
            await apart(self._world.folder, lambda link: self._given(link, number, taken))
        except OSError as error:
            raise Refused(507, f"the server's disk: {error.strerror or error}") from None

    def _given(self, link: Link, number: int, taken: Taken) -> None:
        query = "SELECT bag, body FROM attempts WHERE attempt = ?"
        for _, attempt in taken.rows():
            bag, body = link.execute(query, (attempt,)).fetchone()
            for file in decode_result(body).outputs:
                self._world.blobs.give(File(file.hash, file.size), of_bag(bag), of_bag(number))

    async def _earlier(self, call: Call) -> list[Earlier]:
        basis, name = call.query.basis, call.who.name
        return await apart(self._world.folder, lambda link: earlier(link, basis, name))

    async def _compare(self, call: Call) -> Compared | Plain:
        world, asked, who = self._world, call.body, call.who
        few = asked is not None and little.tasks(asked.spec.axes) <= little.TASKS
        if few and little.is_little(asked.spec) and self._few(asked.bags):
            async with self._comparing:
                return await apart(
                    world.folder, lambda link: compared(link, world.catalogues, asked, who)
                )
        found = await self._errands.run(who, Deed.COMPARE, Comparing(who), call.sent)
        return Plain(found[1], JSON)
