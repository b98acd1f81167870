"""Who takes an offer: bags by their rank and their share (see `precedence`), each by its matching;
then what replication wants."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import groupby

from tailrace.scheduler import (
    admission,
    asking,
    dispatch,
    fleet,
    looking,
    openings,
    policies,
    precedence,
    rounds,
    wanting,
)
from tailrace.scheduler.precedence import Order
from tailrace.scheduler.ranks import Ranks
from tailrace.scheduler.state import ENDLESS, Bag, Host, State

Served = dict[str, Host]


def match(state: State) -> None:
    """All that are open. A host that was sent something has had its offer answered."""
    served: Served = {}
    turns: Turns = {}
    pools = openings.pools(state)
    bags = fleet.hungry(state, pools)
    if bags and state.wanting and _some_repeat_first(state, bags):
        _repeat_first_all(state, pools, served, turns)
    if len(bags) == 1:  # as most often
        _share_out(state, bags[0], pools, served)
    elif bags and all(bag.matching.by_host for bag in bags):
        _serve_all(state, pools, served, turns)
    else:
        _share_out_all(state, bags, pools, served, turns)
    for bag in wanting.bags(state):
        _replicate_all(state, bag, pools, served, turns)
    _close(state, served)


def _some_repeat_first(state: State, bags: list[Bag]) -> bool:
    """Where nobody says so, all rank alike, and nothing comes before what was never sent."""
    those = wanting.bags(state)
    if any(bag.rules is not None and bag.rules.rank != 0.0 for bag in (*bags, *those)):
        return bool(those)
    return any(map(_goes_first, those))


def _goes_first(bag: Bag) -> bool:
    return bag.replication is not None and bag.replication.goes_first()


def _repeat_first_all(state: State, pools: list[str], served: Served, turns: Turns) -> None:
    """What is wanted once more by bags that rank above those with tasks to send."""
    _go_round(state, pools, served, turns, lambda host, turn: _repeat_first(state, host, turn))


def _go_round(
    state: State,
    pools: list[str],
    served: Served,
    turns: Turns,
    serve: Callable[[Host, Turn], None],
) -> None:
    """Open offers, host by host."""
    for host in list(openings.of_pools(state, pools)):
        before = state.next_attempt
        serve(host, _turn_of(state, host, turns))
        if state.next_attempt > before:
            served[host.id] = host


def look_again(state: State, bags: list[Bag]) -> None:
    """With those bags alone that have more to send, or sent hosts away before, or want one more
    attempt now."""
    served: Served = {}
    turns: Turns = {}
    pools = openings.pools(state)
    bags = [bag for bag in bags if not bag.terms.pools or any(map(bag.terms.pools.count, pools))]
    hungry = [bag for bag in bags if bag.hungry]
    if len(hungry) == 1 and len(state.open) == 1:  # as most often
        _share_out(state, hungry[0], pools, served)
    elif hungry and _are_bounded(state, hungry, pools):
        _serve_takers(state, hungry, pools, served, turns)
    else:
        _share_out_all(state, hungry, pools, served, turns)
    for bag in bags:
        if bag.replication is not None:
            _replicate_all(state, bag, pools, served, turns)
    _close(state, served)


def _are_bounded(state: State, some: list[Bag], pools: list[str]) -> bool:
    """Is there another whose Concurrency may bound them?"""
    if not all(bag.matching.by_host for bag in some):
        return False
    known = dict.fromkeys(bag.id for bag in some)
    return any(policies.bounds(bag) for bag in fleet.hungry(state, pools) if bag.id not in known)


def _serve_takers(
    state: State, bags: list[Bag], pools: list[str], served: Served, turns: Turns
) -> None:
    """Hosts that these would take, as if each had just offered: all others have their say."""

    def serve(host: Host, turn: Turn) -> None:
        if any(_takes(state, bag, host) for bag in bags):
            _serve(state, host, turn)

    _go_round(state, pools, served, turns, serve)


def _takes(state: State, bag: Bag, host: Host) -> bool:
    if not bag.hungry or not fleet.admits_pool(bag, host):
        return False
    if not bag.round_open:
        rounds.ask_for(state, bag)
        return False
    room = _admits(state, bag, host) and admission.room_behind(state, bag, host, True) > 0
    return room and asking.takes(state, bag, host)


def _close(state: State, served: Served) -> None:
    for host in served.values():
        openings.close(state, host)


def _serve_all(state: State, pools: list[str], served: Served, turns: Turns) -> None:
    """Host by host, as if each had just offered: who is first may be another for each."""
    _go_round(state, pools, served, turns, lambda host, turn: _serve(state, host, turn))


def _share_out_all(
    state: State, bags: list[Bag], pools: list[str], served: Served, turns: Turns
) -> None:
    """Those that pick their hosts have their turn by rank and share, and so have those between
    them, host by host."""
    if len(bags) > 1:
        bags = sorted(bags, key=lambda bag: precedence.turn(state, bag))
    for by_host, some in groupby(bags, key=lambda bag: bag.matching.by_host and len(bags) > 1):
        if by_host:
            _serve_some(state, list(some), pools, served, turns)
        else:
            for bag in some:
                _share_out(state, bag, pools, served)


def _serve_some(
    state: State, bags: list[Bag], pools: list[str], served: Served, turns: Turns
) -> None:
    def serve(host: Host, turn: Turn) -> None:
        here = [bag for bag in bags if bag.hungry and fleet.admits_pool(bag, host)]
        if here:
            _serve_each(state, precedence.Order(state, host, here), host, turn)

    _go_round(state, pools, served, turns, serve)


def match_one(state: State, host: Host) -> bool:
    """A single offer, as most are. False: it finds nothing, and stays open."""
    before = state.next_attempt
    turn = Turn(state)
    if state.wanting and state.hungry[host.pool]:
        _repeat_first(state, host, turn)
    _serve(state, host, turn)
    if state.wanting:
        for bag in wanting.bags(state):
            if _wants_on(bag, host):
                _repeat(state, bag, host, turn)
    return state.next_attempt > before


def _wants_on(bag: Bag, host: Host) -> bool:
    """One more attempt of what is out, on such a host. Seldom: asked first."""
    replication = bag.replication
    assert replication is not None
    return replication.wants(bag, host.reliable) and fleet.admits_pool(bag, host)


def _repeat(state: State, bag: Bag, host: Host, turn: Turn) -> None:
    if bag.round_open:
        _replicate(state, bag, (host,), {}, {host.id: turn})
    else:
        rounds.ask_for(state, bag)


def _repeat_first(state: State, host: Host, turn: Turn) -> None:
    """What is wanted once more has the rank of its bag, and comes before tasks of those that rank
    below it; else all that was never sent comes first, unless a strategy says otherwise. What the
    host prefers, comes before; and who would not go there, stands before nobody."""
    some = [bag for bag in wanting.bags(state) if _wants_on(bag, host)]
    if not some:
        return
    ranks = Ranks(state, host)

    def place(bag: Bag) -> tuple[float, float]:
        return policies.host_rank(state, bag, host), ranks.of(bag)

    bags = [state.bags[number] for number in state.hungry[host.pool]]
    places = [(place(bag), bag) for bag in bags if bag.hungry]
    for bag in sorted(some, key=place, reverse=True) if places else ():
        mine = place(bag)
        waits = any(other >= mine and _may_go(state, one, host) for other, one in places)
        if not waits or _goes_first(bag):
            _repeat(state, bag, host, turn)


def _may_go(state: State, bag: Bag, host: Host) -> bool:
    if not _fits(bag, host):
        return False
    return policies.would(state, bag, host) or policies.looks_otherwise(bag)


def _serve(state: State, host: Host, turn: Turn) -> None:
    """The bags are asked in turn, until the host is full."""
    numbers = state.hungry[host.pool]
    if len(numbers) != 1:
        if numbers:
            _serve_in_turn(state, host, turn)
        return
    bag = state.bags[numbers[0]]  # as most often
    if not bag.hungry:
        fleet.sated(state, bag)
    elif bag.rules is not None or host.rules is not None or turn.most != ENDLESS:
        _serve_one(state, bag, host, turn)
    elif not bag.round_open:
        rounds.ask_for(state, bag)
    elif _admits(state, bag, host):
        count = admission.room_behind(state, bag, host, False)
        if count > 0:
            dispatch.send(state, bag, host, count)


def _serve_in_turn(state: State, host: Host, turn: Turn) -> None:
    first = precedence.first(state, host)  # most often it takes all that the host offers
    if first is not None:
        _serve_one(state, first, host, turn)
        if turn.over(state, host):
            return
    _serve_each(state, precedence.Order(state, host), host, turn, first)


def _ruled_most(bag: Bag) -> int:
    """What its policy said last of the host."""
    ruled = None if bag.rules is None else bag.rules.ruled
    return ENDLESS if ruled is None else ruled.most


def _turn_of(state: State, host: Host, turns: Turns) -> Turn:
    """One for each host, until its offer is answered."""
    turn = turns.get(host.id)
    if turn is None:
        turn = turns[host.id] = Turn(state)
    turn.before = state.next_attempt  # others were served meanwhile
    return turn


class Turn:
    """What those before left to the next, on a host that is being served."""

    __slots__ = ("before", "earlier", "most")

    def __init__(self, state: State) -> None:
        self.before = state.next_attempt
        self.earlier: dict[int, None] = {}  # those of them that have work for this host
        self.most = ENDLESS  # attempts that the host may hold, as far as they were asked

    def behind(self, bag: Bag) -> bool:
        """Has one of the others?"""
        return len(self.earlier) > (bag.id in self.earlier)

    def note(self, bag: Bag) -> None:
        """What waited for another attempt may be bound otherwise than what was never sent."""
        if bag.rules is not None:
            self.most = min(self.most, bag.rules.bound)

    def over(self, state: State, host: Host) -> bool:
        return state.next_attempt > self.before and admission.is_full(state, host)


def _serve_each(state: State, order: Order, host: Host, turn: Turn, but: Bag | None = None) -> None:
    for bag in order:
        if bag is but:
            continue
        _serve_one(state, bag, host, turn, order)
        if turn.over(state, host):
            return


def _serve_one(state: State, bag: Bag, host: Host, turn: Turn, order: Order | None = None) -> None:
    """Nobody fills the host ahead of time behind another with work for it."""
    if not bag.round_open:
        rounds.ask_for(state, bag)
        if _fits(bag, host) and policies.would(state, bag, host):
            turn.earlier[bag.id] = None
        return
    if not _admits(state, bag, host):
        return
    most = ENDLESS
    if bag.rules is not None or host.rules is not None:
        ruled = policies.ruling(state, bag, host)
        if not ruled.matches and not policies.looks_otherwise(bag):
            return
        most = ruled.most
    count = admission.room_behind(state, bag, host, turn.behind(bag))
    if bag.rules is not None:
        count = min(count, policies.room_of_its_own(state, bag, host))
    if order is not None and count > 1:
        count = min(count, order.stretch(bag))
    if count > 0:
        _send(state, bag, host, turn, count, most)
    if _fits(bag, host):
        turn.earlier[bag.id] = None


def _send(state: State, bag: Bag, host: Host, turn: Turn, count: int, most: int) -> None:
    """So many, if the host may hold them. The Concurrency of the best of those that could send it
    something now bounds all others: who asks for more does not get it by that."""
    before, bound = state.next_attempt, min(turn.most, most)
    holds = len(host.live)
    if count > most - holds:
        policies.bounded(state, bag)
    if count > turn.most - holds:
        looking.bound_by_others(state, bag)
    count = min(count, bound - holds)
    if count > 0:
        dispatch.send(state, bag, host, count)
        if state.next_attempt > before:
            turn.most = bound
        turn.note(bag)
    elif len(host.live) < turn.most and dispatch.could_send(state, bag, host):
        turn.most = bound


def _fits(bag: Bag, host: Host) -> bool:
    return bag.hungry and fleet.slots(bag, host) > 0


def _admits(state: State, bag: Bag, host: Host) -> bool:
    replication = bag.replication
    return replication is None or replication.admits_first(state, bag, host.reliable)


def _share_out(state: State, bag: Bag, pools: list[str], served: Served) -> None:
    """The bag picks among many offers, until it is sated."""
    if not bag.round_open:
        rounds.ask_for(state, bag)
        return
    names = [name for name in pools if admission.is_open(state, bag, name)]
    if not names:
        return
    for host, count in bag.matching.pick(state, bag, openings.of_pools(state, names)):
        before = state.next_attempt
        dispatch.send(state, bag, host, count)
        if state.next_attempt > before:
            served[host.id] = host


def _replicate_all(state: State, bag: Bag, pools: list[str], served: Served, turns: Turns) -> None:
    """What is wanted on the cheap is looked for there, and what on the reliable there alone."""
    if not bag.round_open:
        if _wants(bag):
            rounds.ask_for(state, bag)
        return
    here = [name for name in pools if not bag.terms.pools or name in bag.terms.pools]
    for reliable in (False, True):
        names = [name for name in here if fleet.is_reliable(state, name) is reliable]
        if names:
            _replicate(state, bag, openings.of_pools(state, names), served, turns)


def _wants(bag: Bag) -> bool:
    replication = bag.replication
    assert replication is not None
    return replication.wants(bag, True) or replication.wants(bag, False)


def _replicate(
    state: State, bag: Bag, offers: Collection[Host], served: Served, turns: Turns
) -> None:
    """To hosts of a kind: reliable, or not. Who was served before bounds these, too."""
    replication = bag.replication
    assert replication is not None
    for host in offers:
        if not replication.wants(bag, host.reliable):
            return
        turn = turns.get(host.id) or Turn(state)
        while len(host.live) < turn.most and admission.begins_at_once(state, bag, host):
            index = replication.take(state, bag, host)
            if index is None:
                break
            dispatch.send_wanted(state, bag, host, index)
            turn.most = min(turn.most, _ruled_most(bag))
            served[host.id] = host


Turns = dict[str, Turn]  # by host
