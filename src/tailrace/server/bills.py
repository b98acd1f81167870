"""What leases cost by the terms of their pools, and what of it each result costs."""

from __future__ import annotations

import sqlite3

import msgspec

from tailrace.pools.terms import Billing, Pool
from tailrace.quantities import show_duration, show_money
from tailrace.scheduler.rows import LeaseRow

_PER = {1_000_000: "second", 60_000_000: "minute", 3_600_000_000: "hour", 86_400_000_000: "day"}


class Bill(msgspec.Struct, frozen=True):
    units: int = 0
    micros: int = 0
    currency: str = ""


class Tariffs:
    """The terms of each pool over time: a lease is billed by those it was taken under."""

    def __init__(self, link: sqlite3.Connection) -> None:
        self._known: dict[str, list[tuple[int, Billing]]] = {}
        for name, since, row in link.execute("SELECT * FROM pools ORDER BY name, since_us DESC"):
            billing = msgspec.json.decode(row, type=Pool).billing
            self._known.setdefault(name, []).append((since, billing))

    def of(self, lease: LeaseRow) -> Billing:
        """Free when nothing is known."""
        known = self._known.get(lease.pool, [])
        return next((terms for since, terms in known if since <= lease.wanted_us), Billing())


def bill(lease: LeaseRow, billing: Billing, now_us: int) -> Bill:
    """From the moment it was wanted, as the budget counts it."""
    lasted = max((lease.gone_us or now_us) - lease.wanted_us, 0)
    return Bill(billing.units(lasted), billing.cost(lasted), billing.currency)


def price(billing: Billing) -> str:
    """In words: `0.10 USD per hour`."""
    if not billing.price:
        return "free"
    per = _PER.get(billing.unit_us) or show_duration(billing.unit_us)
    least = f", at least {show_duration(billing.minimum_us)}" if billing.minimum_us else ""
    return f"{show_money(billing.currency, billing.price)} per {per}{least}"


class Shares:
    """Each attempt carries the part of its lease's bill that its run time is of all run time."""

    def __init__(self, link: sqlite3.Connection, bag: int, now_us: int) -> None:
        self._link, self._bag = link, bag
        tariffs = Tariffs(link)
        bills = {
            lease.lease: bill(lease, tariffs.of(lease), now_us)
            for lease in _leases(link, bag)
            if tariffs.of(lease).price
        }
        ran = _run_times(link) if bills else {}
        self._per_us = {
            lease: (paid.currency, paid.micros / 1e6 / ran[lease])
            for lease, paid in bills.items()
            if ran.get(lease)
        }

    def of(self, lease: int | None, run_us: int | None) -> dict[str, float]:
        """Of one attempt: amounts by currency, empty when it cost nothing."""
        found = None if lease is None else self._per_us.get(lease)
        return {} if found is None or not run_us else {found[0]: found[1] * run_us}

    def of_task(self, index: int) -> dict[str, float]:
        """Of all attempts of a task, so that the results of a bag add up to its bill."""
        cost: dict[str, float] = {}
        if not self._per_us:
            return cost
        query = "SELECT lease, run_us FROM attempts WHERE bag = ? AND idx = ?"
        for lease, run in self._link.execute(query, (self._bag, index)):
            for currency, amount in self.of(lease, run).items():
                cost[currency] = cost.get(currency, 0.0) + amount
        return cost


def _leases(link: sqlite3.Connection, bag: int) -> list[LeaseRow]:
    """Those that carried attempts of the bag, whoever pays."""
    query = (
        "SELECT row FROM leases WHERE lease IN"
        " (SELECT DISTINCT lease FROM attempts WHERE bag = ?) ORDER BY lease"
    )
    return [msgspec.json.decode(row[0], type=LeaseRow) for row in link.execute(query, (bag,))]


def _run_times(link: sqlite3.Connection) -> dict[int, int]:
    query = "SELECT lease, sum(run_us) FROM attempts WHERE lease IS NOT NULL GROUP BY lease"
    return {lease: ran or 0 for lease, ran in link.execute(query)}
