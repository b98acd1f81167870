"""What the other process does, and what it is told with each errand. It only reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tailrace.bag.additions import Addition
from tailrace.bag.bag import Bag
from tailrace.knowledge.inquiry import Inquiry
from tailrace.policy.parameters import looked_at
from tailrace.pools.terms import Pool
from tailrace.server.catalogues import Catalogues
from tailrace.server.comparing import Comparison, compared, to_take
from tailrace.server.enlarging import enlarge
from tailrace.server.files.blobs import Blobs
from tailrace.server.people.principals import Principal
from tailrace.server.protocol import encode
from tailrace.server.records import reading
from tailrace.server.records.reader import StoreReader
from tailrace.server.submission import Submission, checked
from tailrace.server.tables.link import Link

pack = msgspec.msgpack.encode


class Deed(StrEnum):
    CHECK = "check"  # a bag that is handed in
    TAKE = "take"  # find results of earlier bags for it
    COMPARE = "compare"  # count them
    ENLARGE = "enlarge"
    FIND = "find"  # a task by its values
    FAILED = "failed"
    FAILURES = "failures"
    PLAN = "plan"  # the tail of a bag


class Checking(msgspec.Struct, frozen=True):
    who: Principal
    pools: tuple[Pool, ...]


class Comparing(msgspec.Struct, frozen=True):
    who: Principal


class Asking(msgspec.Struct, frozen=True):
    bag: int
    text: str = ""


class Adding(msgspec.Struct, frozen=True):
    bag: int
    who: Principal


class Nothing(msgspec.Struct, frozen=True):
    """All stands in the body."""


Said = Checking | Comparing | Asking | Adding | Nothing


class Errand(NamedTuple):
    folder: Path  # of the server
    said: bytes
    body: bytes  # of the call, as it came

    @contextmanager
    def link(self) -> Iterator[Link]:
        link = reading.open_store(self.folder)
        try:
            yield link
        finally:
            link.close()

    @property
    def catalogues(self) -> Catalogues:
        return Catalogues(Blobs(self.folder / "blobs"))

    @property
    def asking(self) -> Asking:
        return msgspec.json.decode(self.said, type=Asking)


def check(errand: Errand) -> list[bytes]:
    """The submission without its chunks, its order, its policy with the parameters that this looks
    at, and then each chunk."""
    said = msgspec.json.decode(errand.said, type=Checking)
    asked = msgspec.json.decode(errand.body, type=Submission)
    bag = checked(asked, said.who, said.pools)
    order, policy = bag.order(), looked_at(bag.spec.policy, bag)
    told = pack(replace(asked, chunks=[])), b"" if order is None else bytes(order), pack(policy)
    return [*told, *asked.chunks]


def take(errand: Errand) -> list[bytes]:
    """The attempt of each task's result, and the bags that they are of; it was checked before."""
    who = msgspec.json.decode(errand.said, type=Comparing).who
    asked = msgspec.json.decode(errand.body, type=Submission)
    assert asked.taking is not None
    bag = Bag(asked.spec, asked.chunks.__getitem__)
    with errand.link() as link:
        taken = to_take(link, errand.catalogues, bag, asked.taking, who)
    attempts = b"" if taken.attempts is None else taken.attempts.tobytes()
    return [pack(taken.bags), attempts]


def compare(errand: Errand) -> list[bytes]:
    who = msgspec.json.decode(errand.said, type=Comparing).who
    asked = msgspec.json.decode(errand.body, type=Comparison)
    with errand.link() as link:
        return [encode(compared(link, errand.catalogues, asked, who))]


def more(errand: Errand) -> list[bytes]:
    """What is told; and where something is new, the event, the rows without chunks, each chunk."""
    said = msgspec.json.decode(errand.said, type=Adding)
    asked = msgspec.json.decode(errand.body, type=Addition)
    with errand.link() as link:
        found = enlarge(link, said.bag, asked, said.who)
    if found.more is None:
        return [pack(found.told)]
    new = found.more
    rows = new.bag, new.before, new.spec, new.first_chunk, new.permutation, new.looked_at
    return [pack(found.told), pack(found.event), pack(rows), *new.chunks]


def find(errand: Errand) -> list[bytes]:
    with errand.link() as link:
        return [encode(StoreReader(link, None).find(errand.asking.bag, errand.asking.text))]


def failed(errand: Errand) -> list[bytes]:
    with errand.link() as link:
        return [encode(StoreReader(link, None).failed(errand.asking.bag))]


def failures(errand: Errand) -> list[bytes]:
    with errand.link() as link:
        return [encode(StoreReader(link, None).failures(errand.asking.bag))]


def plan(errand: Errand) -> list[bytes]:
    """What it takes to load, no other errand needs."""
    from tailrace.planning.answering import answer

    return [encode(answer(msgspec.json.decode(errand.body, type=Inquiry)))]


DEEDS: dict[Deed, Callable[[Errand], list[bytes]]] = {
    Deed.CHECK: check,
    Deed.TAKE: take,
    Deed.COMPARE: compare,
    Deed.ENLARGE: more,
    Deed.FIND: find,
    Deed.FAILED: failed,
    Deed.FAILURES: failures,
    Deed.PLAN: plan,
}
