"""The terms under which a pool lends its machines."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction

import msgspec

from tailrace.quantities import Price, show_duration

SECOND_US = 1_000_000
HOUR_US = 3600 * SECOND_US
NAMED = {
    SECOND_US: "second", 60 * SECOND_US: "minute", HOUR_US: "hour", 24 * HOUR_US: "day",
    7 * 24 * HOUR_US: "week",
}  # fmt: skip


def time_word(us: int) -> str:
    return NAMED.get(us) or show_duration(us)


class Late(StrEnum):
    ACCEPT = "accept"
    IGNORE = "ignore"


class Pays(StrEnum):
    """What a price is for."""

    LEASE = "lease"  # the time of a machine, from when it is wanted until it is gone
    ACCEPTED = "accepted"  # the run time of each result that its task keeps
    RETURNED = "returned"  # of each that returns in time, also when its task has one (ExPERT)


class Billing(msgspec.Struct, frozen=True, omit_defaults=True):
    """Each unit entered of a lease, or a result, is paid whole, and never less than the minimum."""

    price: int = 0  # micro-units of the currency for `per_us`; 0: free
    currency: str = "USD"
    unit_us: int = HOUR_US
    minimum_us: int = 0
    per_us: int = 0  # the time that the price is for; 0: one unit
    pays: Pays = Pays.LEASE

    @classmethod
    def at(
        cls, price: Price, unit_us: int, minimum_us: int = 0, pays: Pays = Pays.LEASE
    ) -> Billing:
        of_a_unit, part = divmod(price.micros * unit_us, price.per_us)
        if part:
            return cls(price.micros, price.unit, unit_us, minimum_us, price.per_us, pays)
        return cls(of_a_unit, price.unit, unit_us, minimum_us, pays=pays)

    @property
    def by_lease(self) -> bool:
        """A machine costs money, busy or not."""
        return self.price > 0 and self.pays is Pays.LEASE

    @property
    def by_result(self) -> bool:
        return self.price > 0 and self.pays is not Pays.LEASE

    def units(self, lasted_us: int) -> int:
        paid = max(lasted_us, self.minimum_us, 1)
        return -(-paid // self.unit_us)

    def cost(self, lasted_us: int) -> int:
        """Only the whole is rounded, up to a micro-unit: of a cheap machine a second costs less
        than one."""
        if not self.price:
            return 0
        return -(-self.units(lasted_us) * self.unit_us * self.price // self.quoted().per_us)

    def per_second(self) -> Fraction:
        """Micro-units, to compare with others."""
        return Fraction(self.price * SECOND_US, self.quoted().per_us)

    def quoted(self) -> Price:
        """As its user wrote it."""
        return Price(self.currency, self.price, self.per_us or self.unit_us)

    def unit(self) -> str:
        """In a word: `hour`."""
        return time_word(self.unit_us)


class Pool(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    driver: str = "local"
    billing: Billing = Billing()
    max: int = 1  # machines at once
    lease_us: int = HOUR_US  # how far ahead a lease is taken, and renewed
    silent_after_us: int = 60 * SECOND_US  # no call for so long: the host is silent
    late_results: Late = Late.ACCEPT
    reliable: bool = True
    trusted: bool = True  # pickled results of its workers are taken
    min_timeout_us: int = 0
    startup_us: int = 0  # from wanting a machine to its first call, as it is said to be
    capacity: dict[str, int] = {}  # of each machine, as far as it is said before one has called
    shared: tuple[str, ...] = ()  # folders that its machines have under the same name as submitters


def is_below(path: str, folders: tuple[str, ...]) -> bool:
    return any(path.startswith(f"{folder.rstrip('/')}/") for folder in folders)
