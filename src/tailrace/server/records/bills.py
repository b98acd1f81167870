"""What leases cost, as the budget counts it, and what of it each result costs."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.pools.terms import Billing, Pays, Pool, time_word
from tailrace.quantities import named_price, show_duration
from tailrace.scheduler.money import cost_until, lasted_us
from tailrace.scheduler.rows import LeaseRow
from tailrace.server.clock import Clock
from tailrace.server.tables.link import Link


class Bill(msgspec.Struct, frozen=True):
    units: int = 0
    micros: int = 0
    currency: str = ""


def bill(lease: LeaseRow, now_us: int | None = None) -> Bill:
    """One that is not known to be gone is paid until now, or its end: the scheduler books it so,
    also when no server runs."""
    now = Clock().now() if now_us is None else now_us
    billing = lease.billing
    until = now if lease.gone_us is None else lease.gone_us
    units = billing.units(lasted_us(lease, until)) if billing.by_lease else lease.results
    return Bill(units, cost_until(lease, until), billing.currency)


def spent(link: Link, bag: int, now_us: int | None = None) -> dict[str, int]:
    """Micro-units by currency; those in which nothing was paid are left out."""
    total: dict[str, int] = {}
    for lease in leases(link, bag):
        paid = bill(lease, now_us)
        if paid.micros:
            total[paid.currency] = total.get(paid.currency, 0) + paid.micros
    return total


def leases(link: Link, bag: int) -> list[LeaseRow]:
    """Those the bag pays."""
    rows = link.execute("SELECT row FROM leases WHERE bag = ? ORDER BY lease", (bag,))
    return [msgspec.json.decode(row[0], type=LeaseRow) for row in rows]


def all_leases(link: Link) -> list[LeaseRow]:
    rows = link.execute("SELECT row FROM leases ORDER BY lease")
    return [msgspec.json.decode(row[0], type=LeaseRow) for row in rows]


def agreed(link: Link, bag: int, pool: str, submitted_us: int) -> Billing | None:
    """The terms the bag had last: of its newest lease there, else of the pool when it came."""
    of_leases = [lease.billing for lease in leases(link, bag) if lease.pool == pool]
    if of_leases:
        return of_leases[-1]
    query = "SELECT row FROM pools WHERE name = ? AND since_us <= ? ORDER BY since_us DESC LIMIT 1"
    found = link.execute(query, (pool, submitted_us)).fetchone()
    return None if found is None else msgspec.json.decode(found[0], type=Pool).billing


def price(billing: Billing) -> str:
    """In words: `0.10 USD per hour`, `0.0028 USD per hour, by the second`."""
    if not billing.price:
        return "free"
    amount, per_us = named_price(billing.quoted())
    unit = "" if billing.unit_us in (per_us, 1) else f", by the {billing.unit()}"
    least = f", at least {show_duration(billing.minimum_us)}" if billing.minimum_us else ""
    return f"{amount} per {time_word(per_us)}{OF_RESULTS[billing.pays]}{unit}{least}"


OF_RESULTS = {Pays.LEASE: "", Pays.ACCEPTED: " of results", Pays.RETURNED: " of returned results"}


class Shares:
    """Each attempt carries the part of its lease's bill that its run time is of all run time of the
    bag that pays; one on a lease of another bag costs nothing. Where results are paid, it is the
    run time of those, and no other attempt costs anything."""

    def __init__(self, link: Link, bag: int, now_us: int | None = None) -> None:
        self._link, self._bag = link, bag
        now = max(now_us or 0, Clock().now())
        own = leases(link, bag)
        bills = {x.lease: bill(x, now) for x in own if x.billing.price}
        self._pays = {x.lease: x.billing.pays for x in own if x.billing.by_result}
        ran = _run_times(link, bag, self._pays) if bills else {}
        self._per_us = {
            lease: (paid.currency, paid.micros / 1e6 / ran[lease])
            for lease, paid in bills.items()
            if ran.get(lease)
        }

    def of(
        self, lease: int | None, run_us: int | None, outcome: str | None, accepted: bool
    ) -> dict[str, float]:
        """Of one attempt: amounts by currency, empty when it cost nothing."""
        found = None if lease is None else self._per_us.get(lease)
        if found is None or not run_us or not _is_paid(self._pays, lease, outcome, accepted):
            return {}
        return {found[0]: found[1] * run_us}

    def of_task(self, index: int) -> dict[str, float]:
        """Of all attempts of a task, so that the results of a bag add up to its bill."""
        cost: dict[str, float] = {}
        if not self._per_us:
            return cost
        query = "SELECT lease, run_us, outcome, accepted FROM attempts WHERE bag = ? AND idx = ?"
        for one in self._link.execute(query, (self._bag, index)):
            for currency, amount in self.of(*one).items():
                cost[currency] = cost.get(currency, 0.0) + amount
        return cost


def _is_paid(
    pays: Mapping[int, Pays], lease: int | None, outcome: str | None, accepted: bool
) -> bool:
    """`pays`: of the leases whose results are paid."""
    what = Pays.LEASE if lease is None else pays.get(lease, Pays.LEASE)
    if what is Pays.LEASE:
        return True
    return outcome == Outcome.SUCCEEDED and (bool(accepted) or what is Pays.RETURNED)


def _run_times(link: Link, bag: int, pays: Mapping[int, Pays]) -> dict[int, int]:
    """By lease: of all that is paid."""
    query = (
        "SELECT lease, outcome, accepted, CAST(sum(run_us) AS BIGINT) FROM attempts"
        " WHERE bag = ? AND lease > 0 GROUP BY lease, outcome, accepted"
    )
    total: dict[int, int] = {}
    for lease, outcome, accepted, ran in link.execute(query, (bag,)):
        if _is_paid(pays, lease, outcome, accepted):
            total[lease] = total.get(lease, 0) + (ran or 0)
    return total
