"""The terms under which a pool lends its machines."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tailrace.quantities import show_duration

SECOND_US = 1_000_000
HOUR_US = 3600 * SECOND_US
NAMED = {
    SECOND_US: "second", 60 * SECOND_US: "minute", HOUR_US: "hour", 24 * HOUR_US: "day"
}  # fmt: skip


class Late(StrEnum):
    ACCEPT = "accept"
    IGNORE = "ignore"


class Billing(msgspec.Struct, frozen=True, omit_defaults=True):
    """Per lease: each unit entered is paid whole, and never fewer than the minimum."""

    price: int = 0  # micro-units of the currency for one unit; 0: free
    currency: str = "USD"
    unit_us: int = HOUR_US
    minimum_us: int = 0

    def units(self, lasted_us: int) -> int:
        paid = max(lasted_us, self.minimum_us, 1)
        return -(-paid // self.unit_us)

    def cost(self, lasted_us: int) -> int:
        return self.units(lasted_us) * self.price if self.price else 0

    def unit(self) -> str:
        """In a word: `hour`."""
        return NAMED.get(self.unit_us) or show_duration(self.unit_us)


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
    shared: tuple[str, ...] = ()  # folders that its machines have under the same name as submitters


def is_below(path: str, folders: tuple[str, ...]) -> bool:
    return any(path.startswith(f"{folder.rstrip('/')}/") for folder in folders)
