"""In which order the tasks of a bag are sent: `at(position)` is a task's number.

A shuffled order is a seeded permutation computed place by place: a Feistel network over a grid of
`wide * high` cells just larger than the bag, walked on when it leads outside (Black and Rogaway
2002, "Ciphers with arbitrary finite domains"). Ten million shuffled tasks cost no memory.
"""

from __future__ import annotations

from array import array
from math import isqrt
from typing import Protocol

_MASK = (1 << 64) - 1
_ODD = 0x9E3779B97F4A7C15
_MIX = 0xD6E8FEB86659FD93


class Order(Protocol):
    def at(self, position: int) -> int: ...

    def __len__(self) -> int: ...


class Listed:
    """As listed. `at` is the identity, written in C."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.at = int

    def __len__(self) -> int:
        return self._count


class Given:
    """A permutation that is stored, such as by a column."""

    def __init__(self, order: array[int]) -> None:
        self._count = len(order)
        self.at = order.__getitem__

    def __len__(self) -> int:
        return self._count


class Shuffled:
    """A seeded permutation of `range(count)`."""

    def __init__(self, count: int, seed: int) -> None:
        self._count = count
        self._wide = isqrt(max(count - 1, 0)) + 1
        self._high = -(-count // self._wide)
        self._keys = _keys(seed, count)

    def __len__(self) -> int:
        return self._count

    def at(self, position: int) -> int:
        if not 0 <= position < self._count:
            raise IndexError(position)
        count, wide, high = self._count, self._wide, self._high
        k1, k2, k3, k4 = self._keys
        while True:
            y, x = divmod(position, wide)
            h = (y ^ k1) * 0x7FEB352D & 0xFFFFFFFF
            x = (x + ((h ^ h >> 15) * 0x846CA68B >> 11)) % wide
            h = (x ^ k2) * 0x7FEB352D & 0xFFFFFFFF
            y = (y + ((h ^ h >> 15) * 0x846CA68B >> 11)) % high
            h = (y ^ k3) * 0x7FEB352D & 0xFFFFFFFF
            x = (x + ((h ^ h >> 15) * 0x846CA68B >> 11)) % wide
            h = (x ^ k4) * 0x7FEB352D & 0xFFFFFFFF
            y = (y + ((h ^ h >> 15) * 0x846CA68B >> 11)) % high
            position = y * wide + x
            if position < count:
                return position


class Followed:
    """One more behind all others, whatever their order."""

    def __init__(self, others: Order) -> None:
        self._others = others

    def __len__(self) -> int:
        return len(self._others) + 1

    def at(self, position: int) -> int:
        return self._others.at(position) if position < len(self._others) else position


class Joined:
    """One order behind the other: what was added to a bag comes after what it had."""

    def __init__(self, first: Order, behind: Order) -> None:
        self._first, self._behind = first.at, behind.at
        self._cut, self._count = len(first), len(first) + len(behind)

    def __len__(self) -> int:
        return self._count

    def at(self, position: int) -> int:
        cut = self._cut
        return self._first(position) if position < cut else cut + self._behind(position - cut)


def order_of(
    count: int,
    seed: int | None,
    given: array[int] | None,
    added: tuple[int, ...] = (),
    *,
    last: bool = False,
) -> Order:
    """The order of a bag from its terms (`order_seed`, `last`) and `Bag.order()`. `added`: how many
    of its tasks came later, each time; a given order has them all."""
    if last and (given is not None or seed is not None):
        return Followed(order_of(count - 1, seed, given))
    if given is not None:
        return Given(given)
    if seed is None:
        return Listed(count)
    order: Order = Shuffled(count - sum(added), seed)
    for more in added:
        order = Joined(order, Shuffled(more, seed))
    return order


def joined(first: Order, behind: Order) -> Order:
    if isinstance(first, Listed) and isinstance(behind, Listed):
        return Listed(len(first) + len(behind))
    return Joined(first, behind)


def _keys(seed: int, count: int) -> tuple[int, int, int, int]:
    state, keys = (seed * _MIX + count) & _MASK, []
    for _ in range(4):
        state = (state + _ODD) & _MASK
        mixed = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _MASK
        keys.append((mixed ^ mixed >> 31) & 0x3FFFFFFF)
    return keys[0], keys[1], keys[2], keys[3]
