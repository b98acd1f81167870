"""Tasks that wait for another attempt.

They are kept in groups of those that avoid the same hosts and have the same needs, so that an offer
looks at each group once, not at each task: ten thousand lost tasks cost an offer one look.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

Avoid = tuple[str, ...]
Key = tuple[Avoid, tuple[tuple[str, int], ...] | None]


class Requeue:
    def __init__(self) -> None:
        self._groups: dict[Key, deque[int]] = {}
        self._where: dict[int, Key] = {}

    def __len__(self) -> int:
        return len(self._where)

    def __contains__(self, index: int) -> bool:
        return index in self._where

    def __iter__(self) -> Iterator[int]:
        return iter(self._where)

    def add(self, index: int, avoid: Avoid = (), needs: dict[str, int] | None = None) -> None:
        self.remove(index)
        key = (avoid, tuple(sorted(needs.items())) if needs else None)
        self._groups.setdefault(key, deque()).append(index)
        self._where[index] = key

    def remove(self, index: int) -> None:
        """Forgotten here at once, and passed over when its turn comes in the group."""
        self._where.pop(index, None)

    def groups(self) -> list[Key]:
        return list(self._groups)

    def avoided_by(self, index: int) -> Avoid:
        return self._where[index][0]

    def take(self, key: Key) -> int | None:
        group = self._groups.get(key)
        while group:
            index = group.popleft()
            if self._where.get(index) == key:
                del self._where[index]
                if not group:
                    del self._groups[key]
                return index
        self._groups.pop(key, None)
        return None
