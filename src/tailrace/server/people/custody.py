"""Whose blobs a caller may read, and as whose he puts them.

A user puts for himself, and reads what he has put and what his bags hold. A machine reads the
inputs of an attempt it has, and nothing else of that bag, and puts for that attempt alone. Its
token says which pool it is of, and its key which machine.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from tailrace.server.content import Contents
from tailrace.server.files.blobs import Blobs, of_attempt, of_bag, of_user
from tailrace.server.people.principals import Kind, Principal
from tailrace.server.protocol import Count
from tailrace.server.records import reading
from tailrace.server.world import World
from tailrace.worker.blobs import Broken, File, blobs_of

KEPT = 64  # attempts whose inputs are known by name


class Withheld(Exception):
    """Not there for him, or wanted no more; what is another's looks no different."""


class Unsaid(Exception):
    """A machine has nothing of its own, so it must name the attempt."""


class Whose(msgspec.Struct, frozen=True):
    """Of an attempt the caller has, of a bag of his, or of himself."""

    attempt: Count | None = None
    bag: Count | None = None


class Custody:
    def __init__(self, world: World) -> None:
        self._world = world
        self._blobs: Blobs = world.blobs
        self._contents: Contents = world.contents
        self._inputs: OrderedDict[int, frozenset[str]] = OrderedDict()

    def reading(self, who: Principal, whose: Whose, name: str) -> str:
        """The holder to read from."""
        if whose.attempt is not None:
            bag, index = self._held(who, whose.attempt)
            if name not in self._names(whose.attempt, bag, index):
                raise Withheld(f"{name} is no input of task {bag}/{index}")
            return of_bag(bag)
        if who.kind is Kind.POOL:
            raise Unsaid("a machine reads for an attempt it has: say which")
        if whose.bag is None:
            return of_user(who.name)
        owner = reading.owner(self._world.store.link, whose.bag)
        if owner is None or not who.owns(owner):
            raise Withheld(f"there is no bag {whose.bag}")
        return of_bag(whose.bag)

    def putting(self, who: Principal, whose: Whose) -> str:
        if whose.attempt is not None:
            self._wanted(who, whose.attempt)
            return of_attempt(whose.attempt)
        if who.kind is Kind.POOL:
            raise Unsaid("a machine puts what an attempt left: say which")
        return of_user(who.name)

    def _held(self, who: Principal, number: int) -> tuple[int, int]:
        """Bag and index of an attempt that a machine of the caller's has now."""
        live = self._world.state.attempts.get(number)
        if live is None or not self._is_his(who, live.host):
            raise Withheld(f"no machine of yours has attempt {number}")
        return live.bag, live.index

    def _wanted(self, who: Principal, number: int) -> None:
        """One that timed out may still bring the first result."""
        if number in self._world.state.attempts:
            self._held(who, number)
            return
        sent = self._world.store.attempt(number)
        if sent is None or not self._is_his(who, sent[2]):
            raise Withheld(f"no machine of yours has attempt {number}")
        if self._world.store.has_result(sent[0], sent[1]):
            raise Withheld(f"task {sent[0]}/{sent[1]} has its result")

    def _is_his(self, who: Principal, host: str) -> bool:
        known = self._world.state.hosts.get(host)
        if who.kind is Kind.POOL:
            is_of_pool = known is not None and known.pool == who.name
            return is_of_pool and self._world.admits(host, who.key)
        return who.kind is Kind.OWNER

    def _names(self, attempt: int, bag: int, index: int) -> frozenset[str]:
        found = self._inputs.get(attempt)
        if found is None:
            found = self._inputs[attempt] = frozenset(self._blobs_of_inputs(bag, index))
            if len(self._inputs) > KEPT:
                self._inputs.popitem(last=False)
        return found

    def _blobs_of_inputs(self, bag: int, index: int) -> list[str]:
        names: list[str] = []
        for item in self._contents.task(bag, index).inputs:
            file = File(item.hash, item.size)
            try:
                read = lambda name: self._blobs.read(of_bag(bag), name)  # noqa: E731
                names += [name for name, _ in blobs_of(file, read)] if item.hash else []
            except (OSError, Broken):
                names.append(item.hash)  # collected: it will be found missing
        return names
