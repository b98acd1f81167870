"""A place where data is kept (thesis 2.2: the storage resource), with room that gets less."""

from __future__ import annotations


class Storage:
    __slots__ = ("capacity", "refused", "used")

    def __init__(self, capacity: int | None = None) -> None:
        """In bytes; None: without limit."""
        self.capacity = capacity
        self.used = 0
        self.refused = 0  # items that found no room

    @property
    def free(self) -> int | None:
        return None if self.capacity is None else self.capacity - self.used

    def store(self, size: int) -> bool:
        """False: there is no room for it."""
        if self.capacity is not None and self.used + size > self.capacity:
            self.refused += 1
            return False
        self.used += size
        return True

    def remove(self, size: int) -> None:
        if size > self.used:
            raise ValueError(f"{size} bytes were to be removed, but only {self.used} are stored")
        self.used -= size
