"""Which bag is served first on a host: the one that the host prefers, then the one of the highest
rank, then the one whose owner, and which itself, has had least of late; then the one that came
first.

A host may have room for many tasks. Who is first has a stretch of it: until another has had less.
So two owners have half each of one large host, as they would of many small ones. Where ranks change
with each task that is sent, all are asked for theirs anew after each; after several, where that
would be many questions. Tasks of less than a second share no host: it is free again within one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush, heapreplace, merge
from typing import TYPE_CHECKING

from tailrace.scheduler import admission, bundling, fleet, policies
from tailrace.scheduler.lines import Line, Lines
from tailrace.scheduler.ranks import Ranks
from tailrace.scheduler.state import ENDLESS, Bag, Host, State

if TYPE_CHECKING:
    from tailrace.scheduler.lines import Place

MOST_ASKED = 16  # for their ranks after each task


class Levels:
    """By what the host prefers, and by rank."""

    __slots__ = ("_found", "_ranks", "asked")

    def __init__(self, state: State, host: Host) -> None:
        self._found: dict[float, dict[float, list[Place | Bag]]] = {}
        self._ranks = Ranks(state, host)
        self.asked = 0

    def liked(self, much: float) -> dict[float, list[Place | Bag]]:
        return self._found.setdefault(much, {})

    def rank_of(self, bag: Bag) -> float:
        self.asked += 1
        return self._ranks.of(bag)

    def highest_first(self) -> Iterator[list[Place | Bag]]:
        for much in sorted(self._found, reverse=True):
            by_rank = self._found[much]
            for rank in sorted(by_rank, reverse=True):
                yield by_rank[rank]

    def step(self, host: Host) -> int:
        """So many may be sent until all are asked for their ranks anew."""
        if self._ranks.restless or policies.prefers_restlessly(host):
            return 1 + self.asked // MOST_ASKED
        return ENDLESS


class Order:
    """Those that have something to send to hosts of its pool, or some of them, one after the other.
    Who was sent all that it might be, comes again."""

    def __init__(self, state: State, host: Host, only: list[Bag] | None = None) -> None:
        self._state, self._host, self._only = state, host, only
        self._passed: dict[int, None] = {}  # who takes no more
        self._most = self._step = ENDLESS
        self._waiting: Waiting | None = None  # the bags of the owner whose turn it is
        self._owners: list[tuple[float, str, Waiting]] = []  # a heap

    def __iter__(self) -> Iterator[Bag]:
        state, again = self._state, True
        while again:
            again, self._waiting, self._owners = False, None, []  # all are back in line
            levels = _levels(state, self._host, self._only)
            self._step, first = levels.step(self._host), state.next_attempt
            for bag in self._through(levels.highest_first()):
                self._most, before = ENDLESS, state.next_attempt
                yield bag
                if state.next_attempt - before < self._most:
                    self._passed[bag.id] = None
                if state.next_attempt - first >= self._step:
                    again = True
                    break

    def stretch(self, bag: Bag) -> int:
        """So many may be sent of it, whose turn it is, before another has its turn."""
        if bundling.is_short(bag):
            return ENDLESS
        scale = self._state.scale
        behind = None if self._waiting is None else self._waiting.foremost()
        self._most = self._step
        if len(self._owners) > 1:
            other = min(one[0] for one in self._owners[1:3])
            self._most = min(self._most, scale.until(scale.had(bag.account), other, bag.cores))
        if behind is not None:
            weight = bag.terms.weight
            until = scale.until(scale.had(bag), behind * weight, bag.cores)
            self._most = min(self._most, until)
        return self._most

    def _through(self, levels: Iterator[list[Place | Bag]]) -> Iterator[Bag]:
        for level in levels:
            yield from self._of_level(level)

    def _of_level(self, level: list[Place | Bag]) -> Iterator[Bag]:
        """The owners, and of each its bags, in the order of what they have had by now."""
        state, passed = self._state, self._passed
        had, accounts = state.scale.had, state.accounts
        found = _owners(state, state.lines[self._host.pool], level)
        owners = self._owners = [(had(accounts[name]), name, one) for name, one in found]
        heapify(owners)
        while owners:
            before, name, self._waiting = owners[0]
            bag = self._waiting.pop()
            if bag is None:
                heappop(owners)
            elif bag.id not in passed:
                yield bag
                if bag.id not in passed and bag.hungry:
                    self._waiting.add(bag)
                now = had(accounts[name])
                if now != before:
                    heapreplace(owners, (now, name, self._waiting))


def first(state: State, host: Host) -> Bag | None:
    """The first of them, where nobody has to be judged for that, and it may have all that the host
    offers; None: look at `in_order`."""
    lines = state.lines[host.pool]
    if lines.judged or len(lines.by_rank) != 1 or host.rules is not None:
        return None
    (owners,) = lines.by_rank.values()
    if len(owners) != 1:
        return None
    (line,) = owners.values()
    while bag := lines.foremost(line, state.bags.get):
        if _is_hungry(state, bag):
            return bag if _may_have_all(bag, host) else None
    return None


def _may_have_all(bag: Bag, host: Host) -> bool:
    return bundling.is_short(bag) or admission.slots_in(bag.asks, host.offer or {}) < 2


def _levels(state: State, host: Host, only: list[Bag] | None) -> Levels:
    levels = Levels(state, host)
    prefers = policies.prefers(host)
    if only is not None or prefers:
        numbers = state.hungry[host.pool]
        bags = [state.bags[number] for number in numbers] if only is None else only
        for bag in [bag for bag in bags if _is_hungry(state, bag)]:
            liked = policies.host_rank(state, bag, host) if prefers else 0.0
            levels.liked(liked).setdefault(levels.rank_of(bag), []).append(bag)
    else:
        _look_along(state, state.lines[host.pool], levels)
    return levels


def _look_along(state: State, lines: Lines, levels: Levels) -> None:
    found = levels.liked(0.0)
    for bag in [state.bags[number] for number in lines.judged]:
        if bag.queued and _is_hungry(state, bag):
            found.setdefault(levels.rank_of(bag), []).append(bag)
    for place in list(lines.by_rank):
        if isinstance(place, float):
            found.setdefault(place, []).append(place)
        elif one := _someone(state, lines, place):
            found.setdefault(levels.rank_of(one), []).append(place)


def _someone(state: State, lines: Lines, kin: Place) -> Bag | None:
    """What is said of one of them holds for all. None: nobody of them has anything to send."""
    for line in lines.owners(kin).values():
        while bag := lines.foremost(line, state.bags.get):
            if _is_hungry(state, bag):
                return bag
    return None


def _owners(state: State, lines: Lines, level: list[Place | Bag]) -> list[tuple[str, Waiting]]:
    found: dict[str, list[Iterable[Bag]]] = {}
    judged: dict[str, list[Bag]] = {}
    for member in level:
        if isinstance(member, Bag):
            judged.setdefault(member.terms.owner, []).append(member)
            continue
        for name, line in lines.owners(member).items():
            found.setdefault(name, []).append(_hungry_in(state, lines, line))
    for name, bags in judged.items():
        found.setdefault(name, []).append(sorted(bags, key=lambda bag: place_of(state, bag)))
    return [(name, Waiting(state, bags)) for name, bags in found.items()]


class Waiting:
    """The bags of an owner, who has had least for its weight first; each is looked at when its turn
    may come."""

    __slots__ = ("_bags", "_heap", "_newest", "_some", "_state")

    def __init__(self, state: State, some: list[Iterable[Bag]]) -> None:
        self._state, self._some = state, some
        self._bags: Iterator[Bag] | None = None
        self._heap: list[tuple[float, int]] = []
        self._newest = 0  # of those that were looked at

    def _look_on(self, bags: Iterator[Bag]) -> None:
        bag = next(bags, None)
        if bag is not None:
            self._newest = bag.id
            self.add(bag)

    def add(self, bag: Bag) -> None:
        heappush(self._heap, place_of(self._state, bag))

    def pop(self) -> Bag | None:
        if self._bags is None:
            self._bags = _merged(self._state, self._some)
            self._look_on(self._bags)
        if not self._heap:
            return None
        number = heappop(self._heap)[1]
        if number == self._newest:
            self._look_on(self._bags)
        return self._state.bags[number]

    def foremost(self) -> float | None:
        """What that bag has had, for its weight."""
        return self._heap[0][0] if self._heap else None


def _merged(state: State, some: list[Iterable[Bag]]) -> Iterator[Bag]:
    """Nothing here may hold on to itself: who has left the line for his turn, goes back to it when
    nobody asks any more."""
    if len(some) == 1:
        return iter(some[0])
    return merge(*some, key=lambda bag: place_of(state, bag))


def place_of(state: State, bag: Bag) -> tuple[float, int]:
    """Among the bags of its owner."""
    return state.scale.had(bag) / bag.terms.weight, bag.id


def turn(state: State, bag: Bag) -> tuple[float, float, float, int]:
    """Where no host is asked; a rank that is not the same for every host is taken for none."""
    rank = bag.rules.rank if bag.rules is not None else None
    return -(rank or 0.0), state.scale.had(bag.account), *place_of(state, bag)


def _hungry_in(state: State, lines: Lines, line: Line) -> Iterator[Bag]:
    for bag in lines.walk(line, state.bags.get):
        if _is_hungry(state, bag):
            yield bag


def _is_hungry(state: State, bag: Bag) -> bool:
    """Who is found to be sated leaves the queue."""
    if not bag.hungry:
        fleet.sated(state, bag)
        return False
    return True
