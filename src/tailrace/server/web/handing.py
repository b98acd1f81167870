"""The routes by which tasks come in: a bag is handed in, or more are added to it.

What of it grows with the bag is an errand (see `errands`), and what is stored of it is laid down in
slices, between which others are answered. The submissions of one user are seen to one by one, in
the order in which they came: so are their bags numbered.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace

from tailrace.bag.additions import Addition
from tailrace.bag.bag import Bag
from tailrace.bag.chunks import Reading
from tailrace.bag.columns import Columns
from tailrace.bag.identity import basis
from tailrace.bag.policy import BagPolicy
from tailrace.bag.spec import FileName
from tailrace.errors import BadInput
from tailrace.policy.parameters import looked_at
from tailrace.scheduler.events import BagChanged, BagSubmitted
from tailrace.server.batch import MoreTasks, New, NewBag
from tailrace.server.enlarging import Enlarged, Enlarging, enlarge
from tailrace.server.errands import little
from tailrace.server.errands.deeds import Adding, Checking, Deed
from tailrace.server.errands.errands import Errands
from tailrace.server.errands.frames import Frames
from tailrace.server.files.blobs import of_user
from tailrace.server.files.sweeping import Sweeper
from tailrace.server.people.principals import Principal, Who
from tailrace.server.people.tokens import Tokens
from tailrace.server.people.trust import trusted_pools, with_trusted
from tailrace.server.records.taking import Taken
from tailrace.server.submission import MOST_BODY, Submission, Submitted, checked
from tailrace.server.tables.store import SLICE, SLICE_BYTES
from tailrace.server.web.apart import apart
from tailrace.server.web.past import Past
from tailrace.server.web.policies import Policies
from tailrace.server.web.repeats import Repeats
from tailrace.server.web.routes import Call, Refused, Route
from tailrace.server.world import World

log = logging.getLogger("tailrace.server")

REST = 2  # times as long as a slice took
END = object()
_read_submission = msgspec.msgpack.Decoder(Submission).decode
_read_told = msgspec.msgpack.Decoder(Enlarged).decode
_read_event = msgspec.msgpack.Decoder(BagChanged).decode
_read_more = msgspec.msgpack.Decoder(
    tuple[int, int, bytes, int, bytes | None, tuple[str, ...]]
).decode
_read_policy = msgspec.msgpack.Decoder(tuple[BagPolicy | None, Columns | None]).decode


class Checked(NamedTuple):
    asked: Submission  # its chunks are the bag's
    bag: Bag
    permutation: bytes | None
    policy: BagPolicy | None  # with some values of the parameters that it looks at
    columns: Columns | None  # these parameters, of all tasks
    laid: bool  # its chunks are too many for one commit


class Handing:
    def __init__(
        self,
        world: World,
        tokens: Tokens,
        sweeper: Sweeper,
        policies: Policies,
        past: Past,
        errands: Errands,
        own: Callable[[Call], int],
        tell: Callable[[BagSubmitted | BagChanged, New | None], Awaitable[None]],
    ) -> None:
        """`own` is the number of the caller's bag; `tell` returns when it is committed."""
        self._world, self._tokens, self._sweeper = world, tokens, sweeper
        self._policies, self._past, self._errands = policies, past, errands
        self._own, self._tell = own, tell
        self._repeats = Repeats(world.store.link)
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        # Of a bag, each is numbered on from the last; a lock lasts as long as somebody has it.
        self._adding: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    def routes(self) -> tuple[Route, ...]:
        people, add = Who.PEOPLE, "/api/v1/bags/{bag}/add"
        return (
            Route("POST", "/api/v1/bags", people, "Hand in a bag.", self._submit, Submitted,
                  Submission, most_body=MOST_BODY, keyed=True, stores=True, grows=True),
            Route("POST", add, people, "Add tasks; those it has already are left out.",
                  self._add, Enlarged, Addition, most_body=MOST_BODY, stores=True, grows=True),
        )  # fmt: skip

    # a bag

    async def _submit(self, call: Call) -> Submitted:
        """Answered when it is committed; made again under the same key, it is the same bag."""
        if call.key is None:
            return await self._hand_in(call)
        sent = call.key.hash
        key = replace(call.key, hash=await asyncio.to_thread(self._vouched, sent))
        return await self._repeats.once(key, sent, lambda: self._hand_in(call._replace(key=key)))

    async def _hand_in(self, call: Call) -> Submitted:
        """While results are taken over, the bags that have them must not go."""
        async with self._turns[str(call.who)]:
            found = await self._checked(call)
            await self._policies.believe(found.policy, call.who)
            if found.asked.taking is None:
                return await self._keep(call, found, None)
            async with self._sweeper.forgetting:
                taken = await self._past.taken(found.bag, found.asked, call.who, call.sent)
                return await self._keep(call, found, taken)

    async def _checked(self, call: Call) -> Checked:
        asked = call.body
        if asked is None or not little.is_little(asked.spec):
            return await self._checked_apart(call)
        bag = checked(asked, call.who, self._world.pools)
        order = await asyncio.to_thread(bag.order)
        policy, columns = await asyncio.to_thread(looked_at, bag.spec.policy, bag)
        permutation = None if order is None else bytes(order)
        return Checked(asked, bag, permutation, policy, columns, laid=False)

    async def _checked_apart(self, call: Call) -> Checked:
        said = Checking(replace(call.who, key=""), self._world.pools)
        found = await self._errands.run(call.who, Deed.CHECK, said, call.sent)
        asked, chunks = _read_submission(found[1]), _behind(found, 4)
        bag, laid = Bag(asked.spec, chunks.__getitem__), len(call.sent) > SLICE_BYTES
        return Checked(asked, bag, found[2] or None, *_read_policy(found[3]), laid=laid)

    async def _keep(self, call: Call, found: Checked, taken: Taken | None) -> Submitted:
        asked, bag = found.asked, found.bag
        terms = with_trusted(bag, self._trusted_pools())
        terms = replace(terms, owner=call.who.name, policy=found.policy)
        number = self._world.new_bag()
        await asyncio.to_thread(self._seal, number, asked)
        if bag.spec.catalogue is not None:
            await self._take_in(number, bag, bag.spec.catalogue, call.who)
        if taken is not None:
            await self._past.hand_on(number, bag, taken)
        spec, chunks = bag.encode()
        size, bits = (taken.size, taken.bits) if taken else (0, None)
        laid = found.laid or size > SLICE
        rows = taken.rows() if taken else ()
        new = NewBag(
            number, bag.spec.name, spec, () if laid else chunks, found.permutation, call.who.name,
            basis(bag.spec), asked.programs, call.key, () if laid else rows, laid=laid,
        )  # fmt: skip
        with self._sweeper.sparing(number):
            if laid:
                await self._lay(self._world.store.lay(number, rows, chunks))
            event = BagSubmitted(
                number, terms, found.permutation, taken=bits, columns=found.columns
            )
            await self._tell(event, new)
        log.info("bag %d (%s, %d tasks) handed in by %s", number, new.name, bag.count, call.who)
        return Submitted(number, bag.spec.name, bag.count, size)

    async def _lay(self, slices: Iterator[None]) -> None:
        """Between two of them others are answered: a busy disk is theirs for most of the time."""
        clock, done = self._world.loop.time, False
        while not done:
            began = clock()
            done = next(slices, END) is END
            await asyncio.sleep(REST * (clock() - began))

    def _seal(self, number: int, asked: Submission) -> None:
        with _on_disk():
            self._world.sealed.keep(number, asked.secrets)

    def _vouched(self, hash_: str) -> str:
        with _on_disk():
            return self._world.sealed.vouched(hash_)

    async def _take_in(self, number: int, bag: Bag, listed: FileName, who: Principal) -> None:
        catalogues = self._world.catalogues
        with _on_disk():
            await asyncio.to_thread(catalogues.take_in, number, listed, of_user(who.name))
            if bag.spec.function is not None:
                await asyncio.to_thread(catalogues.check_parcels, number, listed, bag)

    def _trusted_pools(self) -> list[str]:
        joined = self._tokens.trusted_pools(self._world.clock.now())
        return trusted_pools(self._world.pools, joined)

    # more tasks

    async def _add(self, call: Call) -> Enlarged:
        """Answered when it is committed."""
        number = self._own(call)
        async with self._adding.setdefault(number, asyncio.Lock()):
            found = await self._enlarged(number, call)
            if found.event is not None and found.more is not None:
                async with self._sweeper.forgetting:
                    await self._look_for_files(number)
                    await self._enter(found.event, found.more)
                self._see_added(found.told)
                log.info("%d tasks added to bag %d by %s", found.told.added, number, call.who)
        return found.told

    async def _look_for_files(self, number: int) -> None:
        """Of a bag that ended long ago they may have been collected."""
        listed = self._world.contents.bag(number).spec.catalogue
        if listed is not None:
            await asyncio.to_thread(self._world.catalogues.check_kept, number, listed)

    async def _enter(self, event: BagChanged, more: MoreTasks) -> None:
        if more.laid:
            await self._lay(self._world.store.lay_more(more))
            more = replace(more, chunks=())
        await self._tell(event, more)

    async def _enlarged(self, number: int, call: Call) -> Enlarging:
        asked: Addition | None = call.body
        count, spec = self._world.facts(number, "").count, self._world.contents.bag(number).spec
        few = len(spec.inputs) + len(spec.outputs) <= little.FILES and count <= little.TASKS
        if asked is not None and few and little.tasks(asked.axes) <= little.TASKS:
            return await apart(
                self._world.folder, lambda link: enlarge(link, number, asked, call.who)
            )
        said = Adding(number, replace(call.who, key=""))
        found = await self._errands.run(call.who, Deed.ENLARGE, said, call.sent)
        told = _read_told(found[1])
        if len(found) == 2:
            return Enlarging(told, None, None)
        laid, chunks = len(call.sent) > SLICE_BYTES, _behind(found, 4)
        bag, before, encoded, first, permutation, names = _read_more(found[3])
        more = MoreTasks(bag, before, encoded, chunks, first, permutation, laid, names)
        return Enlarging(told, _read_event(found[2]), more)

    def _see_added(self, told: Enlarged) -> None:
        if self._world.facts(told.bag, "").count < told.count:
            raise BadInput(f"bag {told.bag} was changed meanwhile: nothing is added")


@contextmanager
def _on_disk() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Refused(507, f"the server's disk: {error.strerror}") from None


def _behind(found: Frames, first: int) -> Reading:
    """The chunks that stand behind the other frames."""
    return Reading(lambda k: found[first + k], len(found) - first)
