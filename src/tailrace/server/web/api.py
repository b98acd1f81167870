"""What the routes do: bags, results, hosts, tokens. A user sees and changes only his own bags."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

import tailrace
from tailrace.errors import BadInput
from tailrace.report.failures import FailureGroup
from tailrace.report.poolwork import PoolWork
from tailrace.scheduler.events import BagChanged, BagSubmitted, Change
from tailrace.scheduler.progress import Halfway
from tailrace.server.batch import New
from tailrace.server.errands import little
from tailrace.server.errands.deeds import Asking, Deed
from tailrace.server.errands.errands import Errands
from tailrace.server.files.sweeping import Sweeper
from tailrace.server.people.neighbours import Neighbours
from tailrace.server.people.principals import Kind, Principal, Who
from tailrace.server.people.tokens import Token, Tokens
from tailrace.server.protocol import PROTOCOL, Count, WorkReply, WorkRequest, encode
from tailrace.server.records import observing, reading
from tailrace.server.records.observing import PAGE as PAGE_SEEN
from tailrace.server.records.observing import Observed
from tailrace.server.records.poolwork import pool_work
from tailrace.server.records.reader import Details, Failed, HostTold, StoreReader, TaskFacts
from tailrace.server.records.reading import BagFacts, FeedItem
from tailrace.server.web.answering import Answered, answered
from tailrace.server.web.apart import T, apart
from tailrace.server.web.handing import Handing
from tailrace.server.web.metrics import metrics
from tailrace.server.web.openapi import description
from tailrace.server.web.pages import PAGE, Pages, Range, ResultTold
from tailrace.server.web.past import Past
from tailrace.server.web.policies import PATH, Policies
from tailrace.server.web.routes import JSON, Call, Plain, Refused, Route, Routes
from tailrace.server.web.storeroom import Storeroom
from tailrace.server.world import World

log = logging.getLogger("tailrace.server")

MOST_WORK = 64 * 1024 * 1024
MOST_WAIT_S = 60.0
BAG = "/api/v1/bags/{bag}"
SUBJECT = r"^(bag [0-9]{1,15}|task [0-9]{1,15}/[0-9]{1,15}|host .+)$"


class ChangeRequest(msgspec.Struct, frozen=True):
    change: Change
    tasks: list[Count] = []
    why: Annotated[str, msgspec.Meta(max_length=1000)] = ""


class Changed(msgspec.Struct, frozen=True):
    bag: int
    change: Change


class TokenRequest(msgspec.Struct, frozen=True):
    kind: Kind
    name: str
    expires_s: Annotated[int, msgspec.Meta(ge=1, le=10**10)] | None = None
    trusted: bool = False  # of a pool: pickled results of its machines are taken


class NewToken(msgspec.Struct, frozen=True):
    token: str  # told this once


class Me(msgspec.Struct, frozen=True):
    kind: Kind
    name: str
    version: str
    protocol: int


class Health(msgspec.Struct, frozen=True):
    ok: bool
    trouble: str = ""


class After(msgspec.Struct, frozen=True):
    after: Count = 0


class Since(msgspec.Struct, frozen=True):
    after: Count = 0
    wait: Annotated[float, msgspec.Meta(ge=0, le=3600)] = 0.0


class SinceWithin(Since, frozen=True):
    skip: Count = 0  # tasks of the item after this one that are told already


class AtMost(msgspec.Struct, frozen=True):
    most: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 100


class Versions(msgspec.Struct, frozen=True):
    """What a worker of another version is told: an older one fetches the file of this hash."""

    error: str
    protocol: int
    worker: str


class Text(msgspec.Struct, frozen=True):
    text: str


class Subject(msgspec.Struct, frozen=True):
    """The form is described, and checked by whoever has better words for what is wrong."""

    subject: Annotated[str, msgspec.Meta(extra_json_schema={"pattern": SUBJECT})]


async def _unused(call: Call) -> Any:
    raise AssertionError("the work call has its own path through the app")


WORK = Route(
    "POST", "/api/v1/work", Who.WORKERS, "A worker tells what it has, and gets what to do.",
    _unused, WorkReply, WorkRequest, most_body=MOST_WORK, clash=Versions,
)  # fmt: skip


class Api:
    def __init__(
        self,
        world: World,
        tokens: Tokens,
        sweeper: Sweeper,
        neighbours: Neighbours | None = None,
        revoked: Callable[[], None] = lambda: None,
    ) -> None:
        """`revoked` is called when a token was."""
        self._world = world
        self._tokens = tokens
        self._revoked = revoked
        self._neighbours = neighbours
        self._look_at_neighbours()
        self._errands = Errands(world.folder)
        self._pages = Pages(world)
        past = Past(world, self._errands)
        policies = Policies(world, self._own, self._tell)
        handing = Handing(
            world, tokens, sweeper, policies, past, self._errands, self._own, self._tell
        )
        blobs = Storeroom(world, sweeper).routes()
        bags = (*self._bags(), *handing.routes(), *policies.routes(), *past.routes())
        self.routes = Routes((*self._open(), WORK, *bags, *blobs, *self._others()))

    def _open(self) -> tuple[Route, ...]:
        get, anyone = "GET", Who.ANYONE
        return (
            Route(get, "/healthz", anyone, "Is it well?", self._health, Health),
            Route(
                get, "/worker.pyz", anyone, "The worker, as one file.", self._worker,
                kind="application/zip",
            ),
            Route(get, "/api/v1/openapi.json", anyone, "This description.", self._openapi, dict),
        )  # fmt: skip

    def _bags(self) -> tuple[Route, ...]:
        get, post, people = "GET", "POST", Who.PEOPLE
        return (
            Route(get, "/api/v1/bags", people, "The caller's bags; an admin's are all.",
                  self._list, list[BagFacts]),
            Route(get, BAG, people, "One bag.", self._bag, BagFacts),
            Route(get, f"{BAG}/details", people,
                  "Its folder, strategies, money, and outputs that wait.", self._details, Details),
            Route(get, f"{BAG}/failures", people, "What went wrong, in groups.", self._failures,
                  list[FailureGroup]),
            Route(get, f"{BAG}/failed", people, "Tasks that failed for good.", self._failed,
                  list[Failed]),
            Route(get, f"{BAG}/results", people,
                  f"Results of up to {PAGE} tasks, or 2 MiB: from one on, or the last.",
                  self._results, list[ResultTold], query=Range),
            Route(get, f"{BAG}/find", people, "The number of a task, by its values.", self._find,
                  int, query=Text),
            Route(get, f"{BAG}/tasks/{{task}}", people, "A task and its attempts.", self._task,
                  TaskFacts),
            Route(get, f"{BAG}/attempts", people,
                  f"What was seen of its attempts, {PAGE_SEEN} at a time: those behind one.",
                  self._attempts, Observed, query=After),
            Route(get, f"{BAG}/events", people, "The feed after an item, waiting for more.",
                  self._feed, list[FeedItem], query=Since, waits=True),
            Route(get, f"{BAG}/answers", people, "What calls have answered since.",
                  self._answers, Answered, query=SinceWithin, waits=True),
            Route(get, f"{BAG}/progress", people, "How far running tasks say they are.",
                  self._progress, list[Halfway], query=AtMost),
            Route(post, f"{BAG}/change", people, "Pause, resume, cancel, or retry tasks.",
                  self._change, Changed, ChangeRequest),
        )  # fmt: skip

    def _others(self) -> tuple[Route, ...]:
        get, post, admins = "GET", "POST", Who.ADMINS
        return (
            Route(get, "/api/v1/me", Who.PEOPLE, "Whom the token names.", self._me, Me),
            Route(get, "/api/v1/hosts", Who.PEOPLE, "Machines, and what they did for the caller.",
                  self._hosts, list[HostTold]),
            Route(get, "/api/v1/pools", Who.PEOPLE,
                  "Machines of each pool, and what they did for the caller.",
                  self._pool_work, list[PoolWork]),
            Route(get, "/api/v1/explain", Who.PEOPLE, "Why a bag, task or host is as it is.",
                  self._explain, list[str], query=Subject),
            Route(get, "/api/v1/tokens", admins, "All tokens, without what is secret.",
                  self._list_tokens, list[Token]),
            Route(post, "/api/v1/tokens", admins, "Make a token; it is told this once.",
                  self._add_token, NewToken, TokenRequest),
            Route(post, "/api/v1/tokens/{token}/revoke", admins, "Revoke a token.",
                  self._revoke_token, Token),
            Route(get, "/metrics", Who.WATCHERS, "For Prometheus.", self._metrics,
                  kind="text/plain"),
        )  # fmt: skip

    # for anyone

    async def _health(self, call: Call) -> Health:
        """What troubles the store is no stranger's business."""
        if self._world.trouble or not self._world.available:
            raise Refused(503, "the store is away")
        return Health(ok=True)

    async def _worker(self, call: Call) -> Plain:
        return self._zipped

    @cached_property
    def _zipped(self) -> Plain:
        from tailrace.worker.zipped import build

        return Plain(build(), "application/zip")

    @cached_property
    def worker_hash(self) -> str:
        return hashlib.sha256(self._zipped.body).hexdigest()

    async def _openapi(self, call: Call) -> Any:
        return self._described

    @cached_property
    def _described(self) -> Plain:
        return Plain(encode(description(self.routes.all)), "application/json")

    # bags

    def _own(self, call: Call) -> int:
        """The bag's number, if the caller may know of it."""
        number = int(call.path["bag"])
        owner = reading.owner(self._world.store.link, number)
        if owner is None or not call.who.owns(owner):
            raise Refused(404, f"there is no bag {number}")
        return number

    async def _list(self, call: Call) -> list[BagFacts]:
        whose = None if call.who.rules else call.who.name
        owned = reading.owned(self._world.store.link, whose)
        return [self._world.facts(number, owner) for number, owner in owned]

    async def _tell(self, event: BagSubmitted | BagChanged, new: New | None = None) -> None:
        """Until it is committed; not while the server ends, for who would see to it?"""
        if self._world.ending:
            raise Refused(503, "the server is ending")
        await self._world.tell(event, new)

    async def _bag(self, call: Call) -> BagFacts:
        return self._facts(self._own(call))

    def _facts(self, number: int) -> BagFacts:
        return self._world.facts(number, reading.owner(self._world.store.link, number) or "")

    async def _details(self, call: Call) -> Details:
        number = self._own(call)
        in_the_way = self._world.porter.in_the_way(number)
        found = await self._read(lambda reader: reader.details(number))
        return replace(found, in_the_way=in_the_way)

    async def _read(self, ask: Callable[[StoreReader], T]) -> T:
        now = self._world.clock.now()
        return await apart(self._world.folder, lambda link: ask(StoreReader(link, now)))

    async def _failures(self, call: Call) -> list[FailureGroup] | Plain:
        number = self._own(call)
        if self._facts(number).count > little.TASKS:
            return await self._sent_for(call, Deed.FAILURES, number)
        return await self._read(lambda reader: reader.failures(number))

    async def _failed(self, call: Call) -> list[Failed] | Plain:
        number = self._own(call)
        if self._facts(number).failed > little.TASKS:
            return await self._sent_for(call, Deed.FAILED, number)
        return await self._read(lambda reader: reader.failed(number))

    async def _sent_for(self, call: Call, deed: Deed, number: int, text: str = "") -> Plain:
        found = await self._errands.run(call.who, deed, Asking(number, text))
        return Plain(await asyncio.to_thread(found.__getitem__, 1), JSON)

    async def _results(self, call: Call) -> Plain:
        return await self._pages.page(self._own(call), call.query)

    async def _find(self, call: Call) -> int | Plain:
        """By a number it is there at once; by values, all rows may be read."""
        number, text = self._own(call), call.query.text
        if self._facts(number).count > little.TASKS and not text.strip().isdecimal():
            return await self._sent_for(call, Deed.FIND, number, text)
        return await self._read(lambda reader: reader.find(number, text))

    async def _task(self, call: Call) -> TaskFacts:
        number, index = self._own(call), call.path["task"]
        if index >= self._facts(number).count:
            raise Refused(404, f"bag {number} has no task {index}")
        return await self._read(lambda reader: reader.task(number, index))

    async def _attempts(self, call: Call) -> Observed:
        number, after, now = self._own(call), call.query.after, self._world.clock.now()
        return await apart(
            self._world.folder, lambda link: observing.page(link, number, after, now)
        )

    async def _feed(self, call: Call) -> list[FeedItem]:
        """News of other bags do not end the wait."""
        number, since, link = self._own(call), call.query, self._world.store.link
        loop = asyncio.get_running_loop()
        until = loop.time() + min(since.wait, MOST_WAIT_S)
        items = reading.feed(link, number, since.after)
        while not items and loop.time() < until and self._world.available:
            await self._world.news(until - loop.time(), number)
            items = reading.feed(link, number, since.after)
        return items

    async def _answers(self, call: Call) -> Answered:
        items, since = await self._feed(call), call.query
        link, number = self._world.store.link, self._own(call)
        return answered(link, number, since.after, items, since.skip)

    async def _progress(self, call: Call) -> list[Halfway]:
        return self._world.halfway(self._own(call), call.query.most)

    async def _change(self, call: Call) -> Changed:
        """Answered when it is committed."""
        number, asked = self._own(call), call.body
        if asked.change is Change.GROW:
            raise BadInput("tasks are added by another call", remedy=f"POST {BAG}/add takes them.")
        if asked.change is Change.POLICY:
            raise BadInput("a policy is set by another call", remedy=f"POST {PATH} takes it.")
        count = self._facts(number).count
        if any(task >= count for task in asked.tasks):
            raise BadInput(f"bag {number} has the tasks 0 to {count - 1}")
        if asked.change is Change.RESUME:
            self._world.porter.hurry(number)
        await self._tell(BagChanged(number, asked.change, tuple(asked.tasks), asked.why))
        return Changed(number, asked.change)

    # the rest

    async def _me(self, call: Call) -> Me:
        return Me(call.who.kind, call.who.name, tailrace.__version__, PROTOCOL)

    async def _hosts(self, call: Call) -> list[HostTold]:
        whose = None if call.who.rules else call.who.name
        found = await self._read(lambda reader: reader.hosts(whose))
        there = set(self._world.present())
        return [replace(one, present=one.host.row.host in there) for one in found]

    async def _pool_work(self, call: Call) -> list[PoolWork]:
        """Machines are everybody's; what others do there is told to who rules them."""
        present, whose = self._world.present(), None if call.who.rules else call.who.name
        return await apart(self._world.folder, lambda link: pool_work(link, present, whose))

    async def _explain(self, call: Call) -> list[str]:
        subject = call.query.subject
        if not call.who.rules:
            self._check_subject(call.who, subject)
        return self._world.explain(subject)

    def _check_subject(self, who: Principal, subject: str) -> None:
        """Of a host, other users' bags would be told."""
        kind, _, name = subject.partition(" ")
        number = name.partition("/")[0]
        if kind == "host":
            raise Refused(403, "only an admin may ask why a host is as it is")
        if not (number.isascii() and number.isdigit() and len(number) < 16):
            raise BadInput(f"{subject!r} is no subject", remedy="Ask for bag 3 or task 3/17.")
        self._own(Call(who, {"bag": int(number)}, None, None))

    async def _list_tokens(self, call: Call) -> list[Token]:
        return self._tokens.list()

    async def _add_token(self, call: Call) -> NewToken:
        asked, now = call.body, self._world.clock.now()
        if asked.kind is Kind.OWNER:
            raise BadInput("there is one owner, whose secret lies in the folder")
        expires = None if asked.expires_s is None else now + asked.expires_s * 1_000_000
        made = self._tokens.add(asked.kind, asked.name, now, expires, trusted=asked.trusted)
        self._look_at_neighbours()
        log.info("token of %s %s made by %s", asked.kind, asked.name, call.who)
        return NewToken(made)

    def _look_at_neighbours(self) -> None:
        if self._neighbours is not None:
            self._neighbours.look(self._world.clock.now())

    async def _revoke_token(self, call: Call) -> Token:
        gone = self._tokens.revoke(call.path["token"], self._world.clock.now())
        self._revoked()
        log.info("token %d revoked by %s", call.path["token"], call.who)
        return gone

    async def _metrics(self, call: Call) -> Plain:
        return Plain(metrics(self._world), "text/plain; version=0.0.4")
