"""How the machines of a pool behave that is only played on this one.

Each machine is known by the number of its lease: whoever asks again about the same lease hears the
same, so that a lease that is started a second time lives as long as it would have the first time.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec


def _nothing(lease: int) -> int:
    return 0


def _for_good(lease: int) -> int | None:
    return None


def _one(lease: int) -> float:
    return 1.0


class Rehearsal(msgspec.Struct, frozen=True):
    startup_us: Callable[[int], int] = _nothing  # from wanting a lease to its worker's start
    life_us: Callable[[int], int | None] = _for_good  # of its worker, from its start to its death
    notice_us: int | None = None  # so long before, its worker is told; None: not at all
    speed: Callable[[int], float] = _one
    owner: str = ""  # of its machines; "": whoever plays them
    says: dict[str, str] = {}  # the owner, of the tasks they take: expressions by name
