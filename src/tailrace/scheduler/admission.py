"""What may go where: how many tasks of a bag to a host, and which of those that wait."""

from __future__ import annotations

from tailrace.bag.needs import Amounts, fits, less
from tailrace.bag.outcome import Outcome
from tailrace.scheduler import brakes, fleet, lifetimes, money, others, policies
from tailrace.scheduler.bundling import held_at_most
from tailrace.scheduler.requeue import Group
from tailrace.scheduler.state import ENDLESS, Bag, Host, State, Trouble

MOST_PREEMPTIONS = 3
MOST_SLOTS = 2000  # for tasks that need nothing of what a host has


def is_open(state: State, bag: Bag, pool: str) -> bool:
    """May hosts of this pool be sent what the bag itself sends?"""
    if bag.terms.pools and pool not in bag.terms.pools:
        return False
    reliable = fleet.is_reliable(state, pool)
    return bag.replication is None or bag.replication.admits_first(state, bag, reliable)


def room(state: State, bag: Bag, host: Host) -> int:
    """How many more tasks of this bag the host may be sent now, whose pool is open to it."""
    count = room_behind(state, bag, host, fleet.earlier_hungry(state, bag, host))
    if count > 0 and (bag.rules is not None or host.rules is not None):
        count = policies.most_more(state, bag, host, count)
    return count


def room_behind(state: State, bag: Bag, host: Host, earlier: bool) -> int:
    """The same, where it is known whether a bag that came earlier has work for the host.

    Attempts ahead of what can run are sent only to a host that holds nothing but this bag's: with
    mixed needs nobody could say which of them would run next. Nor does a later bag fill the host
    ahead of an earlier one, which would then wait until all of that is done; and of a bag that may
    have only so many under way, one that waits on a busy host would keep an idle one from work.
    """
    if not host.able or (host.ends_us is not None and not lifetimes.fits(state, bag, host)):
        return 0
    plain = host.plain
    tried = bag.trials.get(host.kind, brakes.UNTRIED) is None or not bag.terms.trial_us
    if host.probing or not tried:
        count = _room_on_trial(state, bag, host)
    elif bag.terms.most_running is not None:
        count = min(free_slots(state, bag, host), bag.may_begin)
    elif earlier or host.grown or (plain and (len(plain) > 1 or bag.id not in plain)):
        count = free_slots(state, bag, host)
    else:
        count = held_at_most(bag, slots_in(bag.asks, host.offer or {})) - len(host.live)
    return count if host.payer is None else _paid_for(state, bag, host, count)


def _paid_for(state: State, bag: Bag, host: Host, count: int) -> int:
    """Of so many: those whose results the bag may pay for. When it is none, its leases are looked
    at: it may have to stop."""
    if host.payer != bag.id or count <= 0:
        return 0
    found = min(money.payable_on(state, bag, host), count)
    if not found:
        bag.short = True
        state.fleet_due[bag.id] = None
    return found


def _room_on_trial(state: State, bag: Bag, host: Host) -> int:
    """None, until this kind of host has stood its trial, or this host its probe."""
    trial = bag.trials.get(host.kind, brakes.UNTRIED)
    if host.probe in host.live or not (trial is None or trial is brakes.UNTRIED):
        return 0
    return min(free_slots(state, bag, host), bag.may_begin, 1)


def begins_at_once(state: State, bag: Bag, host: Host) -> bool:
    """Would one more task of the bag begin on this host? On a kind that has not stood its trial it
    is the trial: a strategy may send there what no first task ever goes to."""
    if host.offer is None or not host.able or host.probing or not fleet.admits_pool(bag, host):
        return False
    if not bag.may_begin:
        return False
    if bag.trials.get(host.kind) is not None or not fits_beside(state, host, bag.terms.needs):
        return False
    if not lifetimes.fits(state, bag, host):
        return False
    return host.payer is None or _paid_for(state, bag, host, 1) > 0


def goes_ahead(bag: Bag, host: Host) -> bool:
    """Would one more of the bag wait on the host, beyond what it offers room for? That may be more
    than it has, while outputs travel of some that it holds. Beside other bags only what fits is
    sent."""
    plain = host.plain
    if host.grown or len(plain) > 1 or bag.id not in plain:
        return False
    return len(host.live) >= slots_in(bag.asks, host.offer or host.capacity)


def slots_in(asks: tuple[tuple[str, int], ...], free: Amounts) -> int:
    """`times`, on the path that every offer takes."""
    least = ENDLESS
    for name, amount in asks:
        count = free.get(name, 0) // amount
        if count < least:
            least = count
    return least if least < ENDLESS else MOST_SLOTS


def free_slots(state: State, bag: Bag, host: Host) -> int:
    """How many fit beside all that is believed on the host."""
    free = less(host.offer or {}, fleet.used(state, host))
    return slots_in(bag.asks, free)


def fits_beside(state: State, host: Host, needs: Amounts) -> bool:
    return fits(needs, less(host.offer or {}, fleet.used(state, host)))


def is_full(state: State, host: Host) -> bool:
    """Every task needs some of a core, so that a host without any left need not ask on."""
    offer = host.offer or {}
    return "cores" in offer and offer["cores"] <= fleet.used(state, host).get("cores", 0)


def group_of(state: State, bag: Bag, index: int, trouble: Trouble) -> Group:
    needs = tuple(sorted(trouble.needs.items())) if trouble.needs else None
    job = () if bag.rules is None else policies.looks(state, bag, index)
    return Group(trouble.avoid, needs, wants_reliable(trouble), trouble.at_once, job)


def wants_reliable(trouble: Trouble) -> bool:
    return trouble.counts.get(Outcome.PREEMPTED, 0) >= MOST_PREEMPTIONS


def may_go(state: State, bag: Bag, host: Host, group: Group) -> bool:
    """May a task of this group go to this host, in which the bag has room, and to which its policy
    lets it go?"""
    needs = dict(group.needs) if group.needs else None
    if group.reliable and not _reliable_enough(state, bag, host):
        return False
    if needs and not fits_beside(state, host, needs):
        return False
    if group.at_once and not fits_beside(state, host, needs or bag.terms.needs):
        return False
    if host.id not in group.avoid:
        return True
    return not others.another(state, bag, group.avoid, needs, group.reliable, group.job)


def may_repeat(state: State, bag: Bag, host: Host, index: int) -> bool:
    """One more attempt of a task, where one would begin? Not beside itself, nor where it failed as
    long as another host of that kind can be asked; and what its needs have grown to must fit."""
    live = bag.live.get(index, ())
    if any(one.host == host.id and not one.expired for one in live):
        return False
    trouble = bag.troubles.get(index)
    if trouble is None:
        return True
    if trouble.needs and not fits_beside(state, host, trouble.needs):
        return False
    if host.id not in trouble.avoid:
        return True
    asked, job = (*trouble.avoid, *(one.host for one in live)), policies.looks(state, bag, index)
    return not others.of_kind(state, bag, host.reliable, trouble.needs, asked, job)


def _reliable_enough(state: State, bag: Bag, host: Host) -> bool:
    """Preempted again and again: a reliable pool is wanted, if the bag has one."""
    return host.reliable or not others.keeps_to_reliable(state, bag)
