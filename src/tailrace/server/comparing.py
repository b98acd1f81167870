"""A bag beside earlier ones of the same user: which of its tasks have results, and which it takes.

He sees and takes those of his own bags alone: also an admin, whose new bag is his.
"""

from __future__ import annotations

import zlib
from typing import Annotated

import msgspec

from tailrace.bag.bag import Bag
from tailrace.bag.identity import basis
from tailrace.bag.spec import BagSpec
from tailrace.errors import BadInput
from tailrace.server.catalogues import Catalogues
from tailrace.server.files.blobs import of_user
from tailrace.server.files.brought import Brought
from tailrace.server.people.principals import Principal
from tailrace.server.protocol import Count
from tailrace.server.records import reading
from tailrace.server.records.taking import (
    MOST_BAGS,
    MOST_TASKS,
    Found,
    Taken,
    earlier,
    find,
    less,
)
from tailrace.server.submission import Taking, check_files, check_numbers, of_commands
from tailrace.server.tables.link import Link


class Comparison(msgspec.Struct, frozen=True):
    """A bag as it would be handed in, and the earlier ones that it is compared with."""

    spec: BagSpec
    bags: Annotated[list[Count], msgspec.Meta(max_length=MOST_BAGS)]
    chunks: list[bytes] = []
    times: bool = False  # also when the attempts ended


class Compared(msgspec.Struct, frozen=True):
    tasks: int  # that have results
    bags: list[int]  # which have them, newest first
    changed: int = 0  # further tasks, whose results are of other inputs
    ended: bytes = b""  # in microseconds, 0: no result; 8 bytes a task, little-endian, in zlib


def compared(link: Link, catalogues: Catalogues, asked: Comparison, who: Principal) -> Compared:
    if asked.spec.function is not None:
        raise BadInput("calls from Python are not compared")
    check_numbers(asked.spec)
    check_files(asked.spec, who)
    bag = of_commands(asked.spec, asked.chunks)
    check_size(bag)
    found = _found(link, catalogues, bag, asked.bags, who)
    times = zlib.compress(found.ended.astype("<i8").tobytes()) if asked.times else b""
    tasks = int((found.attempts > 0).sum())
    return Compared(tasks, list(found.bags), found.changed, times)


def to_take(link: Link, catalogues: Catalogues, bag: Bag, asked: Taking, who: Principal) -> Taken:
    return less(_found(link, catalogues, bag, asked.bags, who), asked.stale)


def _found(link: Link, catalogues: Catalogues, bag: Bag, asked: list[int], who: Principal) -> Found:
    """Whatever is asked for: of his bags, and of such tasks."""
    his = [one.bag for one in earlier(link, basis(bag.spec), who.name) if one.bag in asked]
    if bag.spec.catalogue is None:
        return find(link, bag, his)
    brought = Brought(catalogues, bag, of_user(who.name))
    kept = [number for number in his if brought.is_kept(reading.content(link, number))]
    return find(link, bag, kept, brought.alike)


def check_taking(bag: Bag, asked: Taking) -> None:
    check_size(bag)
    if len(asked.stale) > -(-bag.count // 8):
        raise BadInput(f"`stale` has more bits than the bag has tasks, {bag.count:,}")


def check_size(bag: Bag) -> None:
    if bag.count > MOST_TASKS:
        raise BadInput(
            f"{bag.count:,} tasks are too many to be compared with those of earlier bags",
            remedy=f"It takes at most {MOST_TASKS:,}: hand it in without `taking`, to do them all.",
        )
