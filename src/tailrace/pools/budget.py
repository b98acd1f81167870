"""A budget binds what is paid in its own unit of money, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tailrace.pools.terms import Billing
from tailrace.quantities import show_money


class Unbound(NamedTuple):
    message: str
    paid_in: str  # `USD or SU`


def paid_in(billings: Iterable[Billing]) -> list[str]:
    """The units of money in which anything is paid."""
    return list(dict.fromkeys(one.currency for one in billings if one.price))


def unbound(budget: Mapping[str, int], billings: Iterable[Billing]) -> Unbound | None:
    """Its owner believes that no more is spent than this, but where some machines have a price, one
    in another unit would hold back nothing."""
    paid = paid_in(billings)
    for unit, micros in budget.items():
        if paid and unit not in paid:
            told = f"the budget of {show_money(unit, micros)} does not bind"
            message = f"{told}: its machines are paid in {', '.join(paid)}"
            return Unbound(message, " or ".join(paid))
    return None
