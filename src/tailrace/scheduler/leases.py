"""Leases: the difference between the wanted fleet and the one there is, and the money it costs."""

from __future__ import annotations

from msgspec.structs import replace

from tailrace.bag.outcome import Outcome
from tailrace.pools.terms import Pool
from tailrace.scheduler import brakes
from tailrace.scheduler.decisions import Acquire, Release, Remember, Renew, StopBag
from tailrace.scheduler.events import LeaseChanged, LeaseState
from tailrace.scheduler.provisioning import fixed
from tailrace.scheduler.rows import BagPhase, LeaseRow
from tailrace.scheduler.state import Bag, State
from tailrace.scheduler.timers import Alarm

STANDING = (LeaseState.WANTED, LeaseState.STARTING, LeaseState.UP)
RENEW_AHEAD = 10  # a lease is renewed when a tenth of it is left
ENDED = (BagPhase.FINISHED, BagPhase.CANCELLED)
MOST_DEATHS = 5
FIRST_PAUSE_US = 500_000


def standing(state: State, bag: Bag, pool: str) -> list[LeaseRow]:
    return [
        row
        for row in state.leases.values()
        if row.bag == bag.id and row.pool == pool and row.state in STANDING
    ]


def fit_fleet(state: State) -> None:
    """Turn what provisioning wants into Acquire and Release. Only this module does."""
    for bag in state.bags.values():
        wanted = fixed.fleet(state, bag)
        for name, pool in state.pools.items():
            there = standing(state, bag, name)
            for _ in range(len(there), wanted.get(name, 0)):
                if not _acquire(state, bag, pool):
                    break
            for row in there[wanted.get(name, 0) :]:
                release(state, row, f"bag {bag.id} is {bag.phase}")
    state.leases = {key: row for key, row in state.leases.items() if _kept(state, row)}


def _kept(state: State, row: LeaseRow) -> bool:
    """A lease that is gone stays in mind while its bag's money counts it."""
    return row.state is not LeaseState.GONE or state.bags[row.bag].phase not in ENDED


def _acquire(state: State, bag: Bag, pool: Pool) -> bool:
    if state.now < state.asked_after_us.get(pool.name, 0):
        return False
    ends = state.now + pool.lease_us
    lease = LeaseRow(state.next_lease, pool.name, bag.id, LeaseState.WANTED, state.now, ends)
    if not affordable(state, bag, lease):
        _stop_if_stuck(state, bag, pool)
        return False
    state.next_lease += 1
    _keep(state, lease)
    state.out.append(Acquire(lease.lease, pool.name, bag.id, ends))
    _watch_end(state, lease, pool)
    return True


def _stop_if_stuck(state: State, bag: Bag, pool: Pool) -> None:
    if any(standing(state, bag, name) for name in state.pools):
        return
    currency = pool.billing.currency
    bag.phase = BagPhase.STOPPED
    bag.why = (
        f"the budget of {bag.terms.budget[currency] / 1e6:g} {currency} does not pay for another "
        f"lease: {spent(state, bag, currency) / 1e6:g} {currency} spent"
    )
    state.out.append(StopBag(bag.id, bag.why))
    state.out.append(Remember(bag.row()))


def spent(state: State, bag: Bag, currency: str) -> int:
    """Units entered so far."""
    return sum(
        cost_until(state, row, min(row.gone_us or state.now, state.now))
        for row in _paid(state, bag, currency)
    )


def committed(state: State, bag: Bag, currency: str) -> int:
    """What the standing leases will cost beyond that if each runs to its end."""
    rows = [row for row in _paid(state, bag, currency) if row.gone_us is None]
    return sum(
        cost_until(state, row, row.ends_us) - cost_until(state, row, state.now) for row in rows
    )


def _paid(state: State, bag: Bag, currency: str) -> list[LeaseRow]:
    return [
        row
        for row in state.leases.values()
        if row.bag == bag.id and state.pools[row.pool].billing.currency == currency
    ]


def cost_until(state: State, row: LeaseRow, until_us: int) -> int:
    """From the moment it was wanted: a provider bills the start-up too."""
    return state.pools[row.pool].billing.cost(max(until_us - row.wanted_us, 0))


def affordable(state: State, bag: Bag, lease: LeaseRow) -> bool:
    """spent + committed, with this lease until its end, within the budget."""
    currency = state.pools[lease.pool].billing.currency
    if currency not in bag.terms.budget:
        return True
    others = spent(state, bag, currency) + committed(state, bag, currency)
    mine = cost_until(state, lease, lease.ends_us)
    known = state.leases.get(lease.lease)
    if known is not None:
        mine -= cost_until(state, known, known.ends_us)
    return others + mine <= bag.terms.budget[currency]


def _watch_end(state: State, lease: LeaseRow, pool: Pool) -> None:
    state.timers.set(lease.ends_us - pool.lease_us // RENEW_AHEAD, Alarm.LEASE, lease.lease)


def end_is_near(state: State, lease_id: int) -> None:
    row = state.leases.get(lease_id)
    if row is None or row.state not in STANDING:
        return
    pool, bag = state.pools[row.pool], state.bags[row.bag]
    later = replace(row, ends_us=row.ends_us + pool.lease_us)
    if bag.runs and affordable(state, bag, later):
        _keep(state, later)
        state.out.append(Renew(later.lease, later.ends_us))
        _watch_end(state, later, pool)
    elif state.now >= row.ends_us:
        release(state, row, "its time is over" if not bag.runs else "the budget pays for no more")
    else:
        state.timers.set(row.ends_us, Alarm.LEASE, row.lease)


def release(state: State, row: LeaseRow, why: str) -> None:
    _keep(state, replace(row, state=LeaseState.ENDING, why=why))
    state.out.append(Release(row.lease, why))


def up(state: State, lease: int, host: str) -> None:
    row = state.leases.get(lease)
    if row is not None and row.state in (LeaseState.WANTED, LeaseState.STARTING):
        _keep(state, replace(row, state=LeaseState.UP, up_us=state.now, host=host))


def starting(state: State, lease: int) -> None:
    row = state.leases.get(lease)
    if row is not None and row.state is LeaseState.WANTED:
        _keep(state, replace(row, state=LeaseState.STARTING))


def gone(state: State, event: LeaseChanged) -> Outcome | None:
    """How the attempts on it ended: preempted if we released it, lost if it vanished."""
    row = state.leases.get(event.lease)
    if row is None or row.state is LeaseState.GONE:
        return None
    new = replace(row, state=LeaseState.GONE, gone_us=state.now, why=event.why or row.why)
    _keep(state, new)
    state.fleet_due = True
    if row.state is LeaseState.ENDING:
        return Outcome.PREEMPTED
    _died(state, new)
    return Outcome.LOST


def _died(state: State, row: LeaseRow) -> None:
    deaths = state.deaths[row.pool] = state.deaths.get(row.pool, 0) + 1
    pause = FIRST_PAUSE_US * 2 ** (deaths - 1) if deaths > 1 else 0
    state.asked_after_us[row.pool] = state.now + pause
    state.timers.set(state.now + pause, Alarm.ACQUIRE, row.pool)
    if deaths >= MOST_DEATHS:
        why = f": {row.why}" if row.why else ""
        state.deaths[row.pool] = 0
        told = f"{deaths} workers of pool {row.pool} died before any task ended{why}"
        brakes.pull(state, state.bags[row.bag], told)


def proven(state: State, pool: str) -> None:
    """A result came from it: its machines work."""
    if state.deaths.get(pool):
        state.deaths[pool] = 0


def _keep(state: State, row: LeaseRow) -> None:
    state.leases[row.lease] = row
    state.out.append(Remember(row))
