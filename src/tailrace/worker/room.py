"""How much of a host is free: amounts by name, as integers (see the work call's `capacity`)."""

from __future__ import annotations

from typing import Dict, Mapping

ONE_CORE = {"cores": 1000}


class Room:
    def __init__(self, capacity: Mapping[str, int]) -> None:
        self.capacity: Dict[str, int] = dict(capacity)
        self.free: Dict[str, int] = dict(capacity)

    def could_ever_fit(self, needs: Mapping[str, int]) -> bool:
        return _fits(needs, self.capacity)

    def fits(self, needs: Mapping[str, int]) -> bool:
        return _fits(needs, self.free)

    def take(self, needs: Mapping[str, int]) -> None:
        for name, amount in needs.items():
            if amount:
                self.free[name] -= amount

    def give_back(self, needs: Mapping[str, int]) -> None:
        for name, amount in needs.items():
            if amount:
                self.free[name] += amount


def _fits(needs: Mapping[str, int], free: Mapping[str, int]) -> bool:
    """A name the host does not speak of counts as none of it."""
    return all(free.get(name, 0) >= amount for name, amount in needs.items())
