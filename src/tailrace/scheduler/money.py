"""What a bag's leases cost: *spent* (units entered) and *committed* (until their ends).

A lease ends by itself at its end, server or not; so it never costs more than until then, and
spent + committed within the budget is a promise that holds whatever happens.
"""

from __future__ import annotations

from tailrace.scheduler.rows import LeaseRow
from tailrace.scheduler.state import Bag, State


def cost_until(row: LeaseRow, until_us: int) -> int:
    """From the moment it was wanted: a provider bills the start-up too."""
    return row.billing.cost(lasted_us(row, until_us))


def lasted_us(row: LeaseRow, until_us: int) -> int:
    return max(min(until_us, row.ends_us) - row.wanted_us, 0)


def spent(state: State, bag: Bag, currency: str) -> int:
    """Units entered so far."""
    running = [cost_until(row, state.now) for row in _running(state, bag, currency)]
    return bag.paid.get(currency, 0) + sum(running)


def committed(state: State, bag: Bag, currency: str) -> int:
    """What the leases will cost beyond that if each runs to its end."""
    rows = _running(state, bag, currency)
    return sum(cost_until(row, row.ends_us) - cost_until(row, state.now) for row in rows)


def _running(state: State, bag: Bag, currency: str) -> list[LeaseRow]:
    rows = [state.leases[lease] for lease in bag.leases]
    return [row for row in rows if row.billing.currency == currency]


def affordable(state: State, bag: Bag, lease: LeaseRow) -> bool:
    """spent + committed, with this lease until its end, within the budget."""
    currency = lease.billing.currency
    if currency not in bag.terms.budget:
        return True
    others = spent(state, bag, currency) + committed(state, bag, currency)
    if lease.lease in bag.leases:
        known = state.leases[lease.lease]
        others -= cost_until(known, known.ends_us)
    return others + cost_until(lease, lease.ends_us) <= bag.terms.budget[currency]


def pay(bag: Bag, row: LeaseRow) -> None:
    """It is gone: its cost is known for good."""
    cost = cost_until(row, row.ends_us if row.gone_us is None else row.gone_us)
    currency = row.billing.currency
    bag.paid[currency] = bag.paid.get(currency, 0) + cost
