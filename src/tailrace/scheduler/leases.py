"""Leases: the difference between the wanted fleet and the one there is."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tailrace.bag.outcome import Outcome
from tailrace.pools.terms import Pool
from tailrace.quantities import show_duration, show_money
from tailrace.scheduler import (
    asking,
    brakes,
    demand,
    fleet,
    looking,
    money,
    shunning,
    staying,
    units,
)
from tailrace.scheduler.decisions import Acquire, Release, Remember, Renew, StopBag
from tailrace.scheduler.events import LeaseChanged, LeaseState
from tailrace.scheduler.provisioning import fixed
from tailrace.scheduler.rows import STANDING as STANDING
from tailrace.scheduler.rows import BagPhase, LeaseRow
from tailrace.scheduler.state import Bag, Host, State
from tailrace.scheduler.timers import Alarm

RENEW_AHEAD = 10  # a lease is renewed when a tenth of it is left
MOST_DEATHS = 5
YOUNG_US = 60_000_000
SHORT_US = 1_000_000  # not worth another try
FIRST_PAUSE_US = 500_000
LOOK_AGAIN_US = 10_000_000  # work waits, and there seems to be room for it
KEPT_US = 60_000_000  # a lease that is gone is remembered so long, for calls under way


def standing(state: State, bag: Bag, pool: str) -> list[LeaseRow]:
    leases = state.leases
    return [
        row for lease in bag.leases if (row := leases[lease]).pool == pool and row.state in STANDING
    ]


def fit_fleet(state: State) -> None:
    """Turn what provisioning wants into Acquire and Release. Only this module does."""
    due, state.fleet_due = sorted(state.fleet_due), {}
    for number in due:
        _fit(state, state.bags[number])
    let_go(state)


def let_go(state: State) -> None:
    """Of leases that are gone, those that no call under way can name any more."""
    while state.gone and is_past(state.leases[state.gone[0]], state.now):
        del state.leases[state.gone.popleft()]


def is_past(row: LeaseRow, now: int) -> bool:
    return row.state is LeaseState.GONE and (row.gone_us or 0) < now - KEPT_US


def _fit(state: State, bag: Bag) -> None:
    if bag.runs:
        _take_back(state, bag)
    pools = fixed.admitted(state, bag)
    _leave_others(state, bag, pools)
    bag.lean = False
    first = state.next_lease
    counts = [_fit_after(state, bag, pool, first) for pool in pools]
    poor = [pool for pool, affordable in zip(pools, counts, strict=True) if affordable is False]
    if poor and len(poor) == sum(affordable is not None for affordable in counts):
        _stop_if_stuck(state, bag, poor[0])


def _leave_others(state: State, bag: Bag, admitted: list[Pool]) -> None:
    """Machines of pools that are not the bag's any more; all, when it does not run. Those that it
    may not ask for now stay as long as they are paid."""
    own = asking.pools_of(state, bag) if bag.runs else []
    names = dict.fromkeys(pool.name for pool in own)
    leases = state.leases
    for row in [row for lease in bag.leases if (row := leases[lease]).pool not in names]:
        if row.state in STANDING and not (bag.runs and fleet.busy(state, row)):
            _give_back(state, bag, row, _may_not_go(bag, row.pool))
    for pool in own:
        if pool not in admitted:
            _leave_unpaid(state, bag, pool)


def _leave_unpaid(state: State, bag: Bag, pool: Pool) -> None:
    """Nothing is lost by giving these back before their end."""
    there = standing(state, bag, pool.name)
    unpaid = [row for row in there if not row.billing.by_lease]
    if not unpaid:
        return
    kept = dict.fromkeys(row.lease for row in staying.stay(state, bag, pool, unpaid))
    for row in unpaid:
        if row.lease not in kept and not fleet.busy(state, row):
            _give_back(state, bag, row, _may_not_go(bag, pool.name))
    if kept and not pool.billing.by_lease:
        there = standing(state, bag, pool.name)
        _give_surplus(state, bag, there, fixed.wanted(state, bag, pool, there))


def _may_not_go(bag: Bag, pool: str) -> str:
    return f"no task of bag {bag.id} may go to pool {pool} now"


def _fit_after(state: State, bag: Bag, pool: Pool, first: int) -> bool | None:
    """What was leased since, of other pools, may have changed what the policy says of this one."""
    if state.next_lease > first and not asking.asks_again(state, bag, pool):
        return None
    return _fit_pool(state, bag, pool)


def _fit_pool(state: State, bag: Bag, pool: Pool) -> bool | None:
    """Is there money for all that is wanted? None: nothing is."""
    if pool.billing.by_lease and not demand.waits(state, bag, pool):
        bag.lean = True
        return None
    there = useful = standing(state, bag, pool.name)
    if pool.billing.by_lease:
        useful = asking.useful(state, bag, there)
    count = fixed.wanted(state, bag, pool, useful)
    if not pool.billing.by_lease:
        _give_surplus(state, bag, there, count)
    elif count < pool.max:
        _look_again(state, bag, pool)
    if pool.billing.by_result and count < min(pool.max, bag.terms.count - bag.done.count):
        bag.short = True
        if not money.payable(state, bag, pool.billing, pool.lease_us):
            return False
    more = count - len(useful)
    if more > 0:
        more = min(more, shunning.most_more(state, bag, pool.name, there, useful))
    return _acquire(state, bag, pool, more) if count else None


def _give_surplus(state: State, bag: Bag, there: list[LeaseRow], wanted: int) -> None:
    for row in _surplus(state, there, len(there) - wanted):
        _give_back(state, bag, row, f"bag {bag.id} has fewer tasks left than machines")


def _look_again(state: State, bag: Bag, pool: Pool) -> None:
    """There is room for what waits, or there will be. But another bag may be quicker, or a machine
    that comes may turn out too small."""
    bag.lean = True
    if bag.lean_until_us <= state.now:
        bag.lean_until_us = state.now + LOOK_AGAIN_US
        state.timers.set(bag.lean_until_us, Alarm.ACQUIRE, pool.name)


def _surplus(state: State, rows: list[LeaseRow], most: int) -> list[LeaseRow]:
    """The newest that are idle: a machine that works is not sent away."""
    if most <= 0:
        return []
    idle = [row for row in rows if not fleet.busy(state, row)]
    return idle[max(len(idle) - most, 0) :]


def _give_back(state: State, bag: Bag, row: LeaseRow, why: str) -> None:
    """What other bags run on it may end first; nothing more is sent there."""
    hosts = list(state.on_lease.get(row.lease, {}).values())
    if any(_works_for_others(state, bag, host) for host in hosts):
        for host in hosts:
            fleet.retire(state, host)
    else:
        release(state, row, why if bag.runs else f"bag {bag.id} is {bag.phase}")


def _take_back(state: State, bag: Bag) -> None:
    for lease in bag.leases:
        for host in state.on_lease.get(lease, {}).values():
            if host.retired and state.leases[lease].state in STANDING:
                fleet.take_back(state, host)


def _works_for_others(state: State, bag: Bag, host: Host) -> bool:
    return any(other != bag.id and state.bags[other].runs for other in _bags_on(host))


def _bags_on(host: Host) -> Iterator[int]:
    yield from host.plain
    yield from (attempt.bag for attempt in host.grown.values())


def emptied(state: State, host: Host) -> None:
    """A host that gets nothing more has ended its last: its lease can be given back."""
    if host.lease in state.leases:
        state.fleet_due[state.leases[host.lease].bag] = None


def _acquire(state: State, bag: Bag, pool: Pool, count: int) -> bool:
    """False when it is money that lacks."""
    for number in range(count):
        if number and not asking.asks_again(state, bag, pool):
            return True
        if state.now < state.asked_after_us.get(pool.name, 0):
            return True
        if state.lent.get(pool.name, 0) >= pool.max:
            return True
        lease = LeaseRow(state.next_lease, pool.name, bag.id, LeaseState.WANTED, state.now,
                         state.now + pool.lease_us, billing=pool.billing)  # fmt: skip
        if not money.affordable(state, bag, lease):
            return False
        state.next_lease += 1
        own(state, lease)
        _keep(state, lease)
        state.out.append(Acquire(lease.lease, pool.name, bag.id, lease.ends_us))
        watch_end(state, lease)
        units.watch(state, lease)
    return True


def own(state: State, row: LeaseRow) -> None:
    """Count it: new, or restored."""
    state.leases[row.lease] = row
    bag = state.bags[row.bag]
    bag.leases[row.lease] = None
    if row.billing.by_lease:
        bag.timed[row.lease] = None
    state.lent[row.pool] = state.lent.get(row.pool, 0) + 1
    looking.stir_others(state)


def _stop_if_stuck(state: State, bag: Bag, pool: Pool) -> None:
    """Money lacks in every pool, and nobody is there who would work without it."""
    if bag.hosts or bag.leases:
        return
    if state.now < state.grace_until_us and _some_may_call(state):
        state.timers.set(state.grace_until_us, Alarm.ACQUIRE, pool.name)
        return
    bag.phase, bag.why = BagPhase.STOPPED, _too_dear(state, bag, pool)
    state.out.append(StopBag(bag.id, bag.why))
    state.out.append(Remember(bag.row()))


def _too_dear(state: State, bag: Bag, pool: Pool) -> str:
    """What a lease would cost, or a result, what there is, and what would do."""
    currency, by_result = pool.billing.currency, pool.billing.by_result
    what = "result: up to" if by_result else "lease:"
    cost = (money.most(bag, pool.billing, pool.lease_us) if by_result
            else pool.billing.cost(pool.lease_us))  # fmt: skip
    spent, bound = money.spent(state, bag, currency), money.committed(state, bag, currency)
    sums = (bag.terms.budget[currency], cost, spent, bound, cost + spent + bound)
    budget, price, paid, owed, needed = (show_money(currency, sum_) for sum_ in sums)
    divisible = not by_result and pool.billing.cost(pool.billing.unit_us) < cost
    return (
        f"the budget of {budget} does not pay for another {what} {price} for "
        f"{show_duration(pool.lease_us)} of pool {pool.name}, with {paid} spent and {owed} "
        f"committed; it takes a budget of {needed}, {'a shorter lease, ' if divisible else ''}"
        "or a lower price"
    )


def _some_may_call(state: State) -> bool:
    """After a restart: hosts that came by themselves, or whose lease still stands."""
    return any(fleet.stands(state, host.lease) for host in state.hosts.values())


def watch_end(state: State, lease: LeaseRow) -> None:
    state.timers.set(_renewed_at(state, lease), Alarm.LEASE, lease.lease)


def _renewed_at(state: State, lease: LeaseRow) -> int:
    pool = state.pools.get(lease.pool)
    return lease.ends_us - (pool.lease_us // RENEW_AHEAD if pool else 0)


def end_is_near(state: State, lease_id: int) -> None:
    row = state.leases.get(lease_id)
    if row is None or row.state not in STANDING or state.now < _renewed_at(state, row):
        return
    bag = state.bags[row.bag]
    if state.now >= row.ends_us:
        shunning.given_back(state, bag, row)
        release(state, row, "its time is over")
    elif not _renew(state, bag, row):
        state.timers.set(_next_try(state, row), Alarm.LEASE, row.lease)


def _next_try(state: State, row: LeaseRow) -> int:
    """It may be at work by then, or another be given back that kept the money."""
    left = row.ends_us - state.now
    return row.ends_us - left // 4 if left > SHORT_US else row.ends_us


def _renew(state: State, bag: Bag, row: LeaseRow) -> bool:
    pool = state.pools.get(row.pool)
    if pool is None or not bag.runs or pool not in asking.pools_of(state, bag):
        return False
    later = replace(row, ends_us=row.ends_us + pool.lease_us)
    if not _is_paid(row, later) and not _still_wanted(state, bag, row, pool):
        return False
    if not money.affordable(state, bag, later):
        return False
    money.raise_owed(state, bag, later)
    _keep(state, later)
    state.out.append(Renew(later.lease, later.ends_us))
    watch_end(state, later)
    return True


def _is_paid(row: LeaseRow, later: LeaseRow) -> bool:
    """Within the unit that has begun, and will be paid whole."""
    return row.billing.by_lease and (
        money.cost_until(row, row.ends_us) == money.cost_until(later, later.ends_us)
    )


def _still_wanted(state: State, bag: Bag, row: LeaseRow, pool: Pool) -> bool:
    if not staying.stay(state, bag, pool, [row]):
        return False
    if fleet.busy(state, row):
        return True
    there = standing(state, bag, pool.name)
    if pool.billing.by_lease:
        there = asking.useful(state, bag, there)
        if not asking.useful(state, bag, [row]) or not demand.waits(state, bag, pool):
            return False
    return len(there) <= fixed.wanted(state, bag, pool, there)


def units_end(state: State, leases: list[int]) -> None:
    """Those that are idle, and not wanted for what waits, go before another unit is paid."""
    due: dict[tuple[int, str], list[LeaseRow]] = {}
    for lease in leases:
        row = state.leases.get(lease)
        if row is not None and row.state in STANDING:
            due.setdefault((row.bag, row.pool), []).append(row)
    for (number, name), rows in due.items():
        for row in _unneeded(state, state.bags[number], state.pools.get(name), rows):
            _give_back_idle(state, state.bags[number], row)
        for row in rows:
            if state.leases[row.lease].state in STANDING:
                look = units.rest if fleet.busy(state, row) else units.watch
                look(state, row)


def _unneeded(state: State, bag: Bag, pool: Pool | None, rows: list[LeaseRow]) -> list[LeaseRow]:
    """Without its pool, or when its bag does not run, a lease is given back by others."""
    if pool is None or not bag.runs:
        return []
    useful = asking.useful(state, bag, rows)
    spare = len(useful)
    if demand.waits(state, bag, pool):
        there = asking.useful(state, bag, standing(state, bag, pool.name))
        spare = len(there) - fixed.wanted(state, bag, pool, there)
    idle = [row for row in useful if not fleet.busy(state, row)]
    stay = staying.stay(state, bag, pool, idle)
    kept = dict.fromkeys(row.lease for row in stay)
    kept |= dict.fromkeys(row.lease for row in useful if fleet.busy(state, row))
    others = [row for row in rows if row.lease not in kept]
    return others + _surplus(state, stay, spare - (len(idle) - len(stay)))


def _give_back_idle(state: State, bag: Bag, row: LeaseRow) -> None:
    bag.lean, bag.given_back = True, bag.given_back + 1
    shunning.given_back(state, bag, row)
    release(state, replace(row, idle=True), f"idle at the end of a paid {row.billing.unit()}")


def release(state: State, row: LeaseRow, why: str) -> None:
    _keep(state, replace(row, state=LeaseState.ENDING, why=why))
    state.out.append(Release(row.lease, why))
    for host in state.on_lease.get(row.lease, {}).values():
        fleet.retire(state, host)


def up(state: State, lease: int, host: str) -> None:
    row = state.leases.get(lease)
    if row is not None and row.state in (LeaseState.WANTED, LeaseState.STARTING):
        came = replace(row, state=LeaseState.UP, up_us=state.now, host=host)
        note_startup(state, came)
        _keep(state, came)


def note_startup(state: State, row: LeaseRow) -> None:
    """New, or restored."""
    if row.up_us is not None:
        count, together_us = state.startups.get(row.pool, (0, 0))
        state.startups[row.pool] = count + 1, together_us + row.up_us - row.wanted_us


def startup_us(state: State, pool: Pool) -> int:
    """On average; before any has come, as the pool says."""
    count, together_us = state.startups.get(pool.name, (0, 0))
    return together_us // count if count else pool.startup_us


def asked_for(state: State, event: LeaseChanged) -> None:
    """Its machine starts; or it is still wanted, and this is why it does not."""
    row = state.leases.get(event.lease)
    if row is not None and row.state is LeaseState.WANTED:
        _keep(state, replace(row, state=event.state, why=event.why))


def gone(state: State, event: LeaseChanged) -> Outcome | None:
    """How the attempts on it ended: preempted if we released it, or its end had come; lost if it
    vanished."""
    row = state.leases.get(event.lease)
    if row is None or row.state is LeaseState.GONE:
        return None
    released = row.state is LeaseState.ENDING
    why = row.why if released else event.why or row.why
    new = replace(row, state=LeaseState.GONE, gone_us=state.now, why=why)
    _keep(state, new)
    state.gone.append(row.lease)
    state.lent[row.pool] -= 1
    looking.stir_others(state)
    bag = state.bags[row.bag]
    del bag.leases[row.lease]
    bag.timed.pop(row.lease, None)
    money.pay(bag, new)
    state.at_work.pop(row.lease, None)
    ask_again(state, row.pool)
    if released or state.now >= _renewed_at(state, row):
        return Outcome.PREEMPTED
    _died(state, new)
    return Outcome.LOST


def ask_again(state: State, pool: str) -> None:
    """The pool has a machine to lend: whoever may use it looks again."""
    for bag in state.open.values():
        if bag.runs and (not bag.terms.pools or pool in bag.terms.pools):
            state.fleet_due[bag.id] = None


def _died(state: State, row: LeaseRow) -> None:
    """Young, and before anything ended on it: perhaps none of its kind can work. So we ask more
    slowly. One that lived for a while could work, and was unlucky, or its tasks are long."""
    here = state.on_lease.get(row.lease, {}).values()
    if any(host.proven for host in here):
        return
    if row.up_us is not None and state.now - row.up_us >= YOUNG_US:
        return
    deaths = state.deaths[row.pool] = state.deaths.get(row.pool, 0) + 1
    if deaths <= state.able_in.get(row.pool, 0) - sum(host.able for host in here):
        return  # of a large fleet some are always young, and some of those die
    pause = FIRST_PAUSE_US * 2 ** (min(deaths, MOST_DEATHS) - 1) if deaths > 1 else 0
    state.asked_after_us[row.pool] = state.now + pause
    state.timers.set(state.now + pause, Alarm.ACQUIRE, row.pool)
    if deaths >= MOST_DEATHS:
        why = f": {row.why}" if row.why else ""
        state.deaths[row.pool] = 0
        told = f"{deaths} workers of pool {row.pool} died before any task ended{why}"
        brakes.pull(state, state.bags[row.bag], told)


def proven(state: State, host: Host) -> None:
    """A task has ended on it: its pool's machines work."""
    host.proven = True
    state.deaths.pop(host.pool, None)


def _keep(state: State, row: LeaseRow) -> None:
    state.leases[row.lease] = row
    state.out.append(Remember(row))
