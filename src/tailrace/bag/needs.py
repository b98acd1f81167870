"""What a task needs and a host has: amounts by name.

Amounts are integers, so that filling a host never rounds: memory and disk in bytes,
everything else (cores, gpus, names of the user's own) in thousandths.
"""

from __future__ import annotations

from collections.abc import Mapping

from tailrace.quantities import show_size

Amounts = Mapping[str, int]

BYTES = ("memory", "disk")
THOUSANDTHS = 1000
ONE_CORE: dict[str, int] = {"cores": THOUSANDTHS}


def fits(needs: Amounts, free: Amounts) -> bool:
    """A name the host does not speak of counts as none of it."""
    return all(free.get(name, 0) >= amount for name, amount in needs.items())


def less(free: Amounts, taken: Amounts) -> dict[str, int]:
    return {name: amount - taken.get(name, 0) for name, amount in free.items()}


def times(needs: Amounts, free: Amounts) -> int:
    """How many tasks of these needs fit side by side."""
    counts = [free.get(name, 0) // amount for name, amount in needs.items() if amount > 0]
    return min(counts) if counts else 1_000_000


def lacking(needs: Amounts, free: Amounts) -> str:
    """The first need that does not fit, in words; empty when all fit."""
    for name, amount in needs.items():
        if free.get(name, 0) < amount:
            there = describe_one(name, free.get(name, 0))
            return f"{describe_one(name, amount)} wanted, {there} there"
    return ""


def describe(amounts: Amounts) -> str:
    return ", ".join(describe_one(name, amount) for name, amount in amounts.items())


def describe_one(name: str, amount: int) -> str:
    if name in BYTES:
        return f"{show_size(amount)} {name}"
    count = amount / THOUSANDTHS
    word = name[:-1] if count == 1 and name in ("cores", "gpus") else name
    return f"{count:g} {word}"
