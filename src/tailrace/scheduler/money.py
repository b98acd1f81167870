"""What a bag's leases and results cost: *spent* (units entered) and *committed* (until their ends).

A lease ends by itself at its end, server or not; so it never costs more than until then, and
spent + committed within the budget is a promise that holds whatever happens. Where results are
paid, and not the time of machines, an attempt is committed with what its result can cost: it ends
with its lease, or at its time limit.
"""

from __future__ import annotations

from msgspec.structs import replace

from tailrace.pools.terms import Billing, Pays
from tailrace.scheduler import looking
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.decisions import Remember
from tailrace.scheduler.events import LeaseState
from tailrace.scheduler.rows import LeaseRow
from tailrace.scheduler.state import ENDLESS, Bag, Host, State


def cost_until(row: LeaseRow, until_us: int) -> int:
    """From the moment it was wanted: a provider bills the start-up too. Or for its results."""
    if row.billing.by_result:
        return row.billed
    return row.billing.cost(lasted_us(row, until_us))


def lasted_us(row: LeaseRow, until_us: int) -> int:
    return max(min(until_us, row.ends_us) - row.wanted_us, 0)


def spent(state: State, bag: Bag, currency: str, at_us: int | None = None) -> int:
    """Units entered so far, or at that moment."""
    at = state.now if at_us is None else at_us
    running = [cost_until(row, at) for row in _running(state, bag, currency)]
    return bag.paid.get(currency, 0) + sum(running)


def committed(state: State, bag: Bag, currency: str, at_us: int | None = None) -> int:
    """What the leases will cost beyond that if each runs to its end, and results that may come."""
    at = state.now if at_us is None else at_us
    rows = _running(state, bag, currency)
    rest = sum(cost_until(row, row.ends_us) - cost_until(row, at) for row in rows)
    return rest + bag.owed.get(currency, 0)


def _running(state: State, bag: Bag, currency: str) -> list[LeaseRow]:
    rows = [state.leases[lease] for lease in bag.timed]
    return [row for row in rows if row.billing.currency == currency]


def affordable(state: State, bag: Bag, lease: LeaseRow) -> bool:
    """spent + committed, with this lease until its end, within the budget."""
    currency = lease.billing.currency
    if currency not in bag.terms.budget:
        return True
    more = _rise(state, bag, lease)
    if lease.billing.by_lease:
        known = state.leases[lease.lease] if lease.lease in bag.timed else None
        before = 0 if known is None else cost_until(known, known.ends_us)
        more = cost_until(lease, lease.ends_us) - before
    return more <= _left(state, bag, currency)


def _left(state: State, bag: Bag, currency: str) -> int:
    bound = spent(state, bag, currency) + committed(state, bag, currency)
    return bag.terms.budget[currency] - bound


def pay(bag: Bag, row: LeaseRow) -> None:
    """It is gone: its cost is known for good. Its results were paid one by one."""
    if row.billing.by_lease:
        cost = cost_until(row, row.ends_us if row.gone_us is None else row.gone_us)
        add(bag.paid, row.billing.currency, cost)


def add(sums: dict[str, int], currency: str, cost: int) -> None:
    sums[currency] = sums.get(currency, 0) + cost


# results


def most(bag: Bag, billing: Billing, lasts_us: int) -> int:
    """What a result can cost of an attempt that ends after so long, whatever happens."""
    limit_us = bag.terms.limits.time_us
    if limit_us is None or (bag.terms.growth is not None and "time" in bag.terms.growth.grow):
        return billing.cost(lasts_us)
    return billing.cost(min(lasts_us, limit_us))


def payable(state: State, bag: Bag, billing: Billing, lasts_us: int) -> int:
    """How many more results of such attempts the budget pays for."""
    if billing.currency not in bag.terms.budget:
        return ENDLESS
    return max(_left(state, bag, billing.currency) // most(bag, billing, lasts_us), 0)


def payable_on(state: State, bag: Bag, host: Host) -> int:
    """On a host whose results cost money, the bag's own."""
    row = state.leases.get(host.lease or 0)
    return 0 if row is None else payable(state, bag, row.billing, row.ends_us - state.now)


def owe(state: State, bag: Bag, host: Host, attempt: Attempt) -> None:
    """It is out, and its result may have to be paid."""
    row = state.leases.get(host.lease or 0)
    if row is not None:
        attempt.lease, attempt.currency = row.lease, row.billing.currency
        attempt.most = most(bag, row.billing, max(row.ends_us - attempt.sent_us, 0))
        add(bag.owed, attempt.currency, attempt.most)


def owe_no_more(state: State, bag: Bag, attempt: Attempt) -> None:
    """It is out no longer; there may be money for another."""
    add(bag.owed, attempt.currency, -attempt.most)
    if bag.short:
        bag.short = False
        looking.look_now(state, bag)
        state.fleet_due[bag.id] = None


def pay_result(state: State, bag: Bag, attempt: Attempt, run_us: int) -> None:
    """Never more than was committed: a clock may differ. Of a lease that is gone the bill is
    closed."""
    row = state.leases.get(attempt.lease)
    if row is None or row.state is LeaseState.GONE:
        return
    if attempt.index in bag.done and row.billing.pays is not Pays.RETURNED:
        return
    cost = min(row.billing.cost(run_us), attempt.most)
    add(bag.paid, attempt.currency, cost)
    new = replace(row, results=row.results + 1, billed=row.billed + cost)
    state.leases[row.lease] = new
    state.out.append(Remember(new))


def _rise(state: State, bag: Bag, later: LeaseRow) -> int:
    """What the results on a lease can cost more when it ends later."""
    return sum(
        most(bag, later.billing, later.ends_us - one.sent_us) - one.most
        for one in _billed_to(state, later)
    )


def raise_owed(state: State, bag: Bag, later: LeaseRow) -> None:
    add(bag.owed, later.billing.currency, _rise(state, bag, later))
    for one in _billed_to(state, later):
        one.most = most(bag, later.billing, later.ends_us - one.sent_us)


def _billed_to(state: State, row: LeaseRow) -> list[Attempt]:
    hosts = state.on_lease.get(row.lease, {}).values() if row.billing.by_result else ()
    return [one for host in hosts for one in host.live.values() if one.lease == row.lease]
