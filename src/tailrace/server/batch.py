"""All that one cycle of the desk wants written, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from tailrace.scheduler.state import State

Row = tuple[Any, ...]


class Key(msgspec.Struct, frozen=True):
    """Under which something is handed in, so that it can be repeated."""

    who: str
    key: str
    hash: str  # of all that was sent


class NewBag(msgspec.Struct, frozen=True):
    """What is stored of a bag beside the scheduler's row."""

    bag: int
    name: str
    spec: bytes
    chunks: Iterable[bytes]
    permutation: bytes | None = None
    owner: str = ""  # a user's name; '': whoever owns the folder
    basis: str = ""  # equal for bags whose tasks of equal values are equal
    programs: dict[str, str] = {}  # hashes of what its command is made of, by name
    key: Key | None = None  # under which it was handed in
    taken: Iterable[Row] = ()  # idx and attempt of results that come from earlier bags
    laid: bool = False  # or they and the chunks were laid down before, by `Store.lay`

    def is_in(self, state: State) -> bool:
        """It was committed before, though who told it may not have heard."""
        return self.bag in state.bags


class MoreTasks(msgspec.Struct, frozen=True):
    """What is stored of tasks that are added to a bag."""

    bag: int
    before: int  # tasks it has: with more, this is stored already
    spec: bytes  # of the whole bag
    chunks: Iterable[bytes]  # of the new rows
    first_chunk: int
    permutation: bytes | None = None  # of the whole bag
    laid: bool = False  # its chunks were laid down before, by `Store.lay_more`
    looked_at: tuple[str, ...] = ()  # parameters of theirs that the scheduler is told

    def is_in(self, state: State) -> bool:
        """The same; also when others came first, behind which these would have to stand."""
        bag = state.bags.get(self.bag)
        return bag is None or bag.terms.count != self.before

    def fits(self, state: State) -> bool:
        """Else the scheduler does not take them, and nothing of them may be stored: others came
        first, or the bag was cancelled since they were numbered."""
        bag = state.bags.get(self.bag)
        return bag is not None and bag.may_grow(self.before, self.looked_at)


New = NewBag | MoreTasks


class Batch:
    """Rows in the order of their tables' columns; `store.py` knows the statements."""

    def __init__(self) -> None:
        self.new_bags: list[New] = []
        self.bags: list[Row] = []  # name is kept; (phase, row, bag)
        self.sent: list[Row] = []  # attempt, bag, idx, host, lease, why, sent_us, timeout_us
        self.ended: list[Row] = []  # ended_us, outcome, accepted, run_us, exit, body, attempt
        self.noted: list[Row] = []  # run_us, exit, body, attempt
        self.settled: list[Row] = []  # bag, idx, attempt, outcome
        self.reopened: list[Row] = []  # bag, idx
        self.troubles: list[Row] = []  # bag, idx, row
        self.untroubled: list[Row] = []  # bag, idx
        self.hosts: list[Row] = []  # host, session, seq, row, about, first and last seen, key
        self.live: list[Row] = []  # all that the host holds, host
        self.answered: list[Row] = []  # seq, host
        self.work: list[Row] = []  # bag, host, how many more were sent, and succeeded
        self.leases: list[Row] = []  # lease, bag, row
        self.uses: list[Row] = []  # bag, or 0, owner, row
        self.unpublished: list[Row] = []  # attempt
        self.published: list[Row] = []  # attempt
        self.feed: list[Row] = []  # bag, at_us, kind, body
        self.forgotten: list[Row] = []  # bag
        self.forgotten_hosts: list[Row] = []  # host
        self.floors: list[Row] = []  # kind and number: all numbers up to it have been used
        self.journal: list[Row] = []  # body

    def __bool__(self) -> bool:
        return any(bool(rows) for rows in vars(self).values())
