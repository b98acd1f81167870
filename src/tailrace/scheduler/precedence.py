"""Which bag is served first on a host: the one that the host prefers, then the one of the highest
rank, then the one whose owner, and which itself, has had least of late; then the one that came
first."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from typing import TYPE_CHECKING

from tailrace.scheduler import fleet, policies
from tailrace.scheduler.lines import Line, Lines
from tailrace.scheduler.ranks import Ranks
from tailrace.scheduler.state import Bag, Host, State

if TYPE_CHECKING:
    from tailrace.scheduler.lines import Place


def first(state: State, host: Host) -> Bag | None:
    """The first of them, where nobody has to be judged for that; None: look at `in_order`."""
    lines = state.lines[host.pool]
    if lines.judged or len(lines.by_rank) != 1 or host.rules is not None:
        return None
    (owners,) = lines.by_rank.values()
    if len(owners) != 1:
        return None
    (line,) = owners.values()
    while bag := lines.foremost(line, state.bags.get):
        if _is_hungry(state, bag):
            return bag
    return None


def in_order(state: State, host: Host) -> Iterator[Bag]:
    """Those that have something to send to hosts of its pool."""
    if host.rules is not None and policies.prefers(host):
        return iter(_all_sorted(state, host))
    lines = state.lines[host.pool]
    if not lines.judged and len(lines.by_rank) == 1:
        return _of_rank(state, lines, list(lines.by_rank), [])
    return _by_rank(state, host, lines)


def _all_sorted(state: State, host: Host) -> list[Bag]:
    """The host judges each of them."""
    bags = [state.bags[number] for number in state.hungry[host.pool]]
    return sort(state, [bag for bag in bags if _is_hungry(state, bag)], host)


def sort(state: State, bags: list[Bag], host: Host) -> list[Bag]:
    def turn_here(bag: Bag) -> tuple[float, float, float, float, int]:
        liked, rank = policies.host_rank(state, bag, host), policies.rank(state, bag, host)
        return -liked, -rank, *_standing(state, bag)

    return sorted(bags, key=turn_here) if len(bags) > 1 else bags


def turn(state: State, bag: Bag) -> tuple[float, float, float, int]:
    """Where no host is asked; a rank that is not the same for every host is taken for none."""
    rank = bag.rules.rank if bag.rules is not None else None
    return -(rank or 0.0), *_standing(state, bag)


def _standing(state: State, bag: Bag) -> tuple[float, float, int]:
    """Among those of one rank."""
    had = state.scale.had
    return had(bag.account), had(bag) / bag.terms.weight, bag.id


def _by_rank(state: State, host: Host, lines: Lines) -> Iterator[Bag]:
    ranks = Ranks(state, host)
    judged: dict[float, list[Bag]] = {}
    for bag in [state.bags[number] for number in lines.judged]:
        if bag.queued and _is_hungry(state, bag):
            judged.setdefault(ranks.of(bag), []).append(bag)
    places: dict[float, list[Place]] = {}
    for place in list(lines.by_rank):
        known = place if isinstance(place, float) else _rank_of(state, lines, place, ranks)
        if known is not None:
            places.setdefault(known, []).append(place)
    asked: dict[int, None] = {}  # who came into its tail by what was sent, stands further back now
    for rank in sorted(dict.fromkeys((*places, *judged)), reverse=True):
        for bag in _of_rank(state, lines, places.get(rank, []), judged.get(rank, [])):
            if bag.id not in asked:
                asked[bag.id] = None
                yield bag


def _rank_of(state: State, lines: Lines, kin: Place, ranks: Ranks) -> float | None:
    """What is said of one of them holds for all. None: nobody of them has anything to send."""
    for line in lines.owners(kin).values():
        while bag := lines.foremost(line, state.bags.get):
            if _is_hungry(state, bag):
                return ranks.of(bag)
    return None


def _of_rank(state: State, lines: Lines, places: list[Place], judged: list[Bag]) -> Iterator[Bag]:
    owners: dict[str, list[Line]] = {}
    for place in places:
        for name, line in lines.owners(place).items():
            owners.setdefault(name, []).append(line)
    names = dict.fromkeys((*owners, *(bag.terms.owner for bag in judged)))
    had = state.scale.had

    def turn(bag: Bag) -> tuple[float, int]:
        return had(bag) / bag.terms.weight, bag.id

    for name in sorted(names, key=lambda name: (had(state.accounts[name]), name)):
        standing = [_hungry_in(state, lines, line) for line in owners.get(name, ())]
        mine = sorted((bag for bag in judged if bag.terms.owner == name), key=turn)
        yield from merge(*standing, mine, key=turn) if mine or len(standing) > 1 else standing[0]


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
