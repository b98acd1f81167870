"""The first task of a machine takes longer than later ones: the machine is not warm yet.

By how much can be told where the next was sent when the first had ended; else its result may have
waited for others. Machines of which it cannot be told are taken for the middle one of those of
which it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Protocol

from tailrace.server.records.occupancy import Occupancy


class Sent(Protocol):
    @property
    def lease(self) -> int | None: ...
    @property
    def sent_us(self) -> int: ...
    @property
    def ended_us(self) -> int | None: ...
    @property
    def run_us(self) -> int | None: ...


def warming_us(leases: Iterable[int], attempts: Iterable[Sent], slot: Occupancy) -> dict[int, int]:
    """By lease; `attempts` in the order in which they were sent."""
    sent: dict[int | None, list[Sent]] = {}
    for attempt in attempts:
        firsts = sent.setdefault(attempt.lease, [])
        if len(firsts) < 2:
            firsts.append(attempt)
    told = _told(sent, slot)
    middle = round(median(told.values())) if told else 0
    return {lease: max(told.get(lease, middle), 0) for lease in leases}


def _told(sent: Mapping[int | None, Sequence[Sent]], slot: Occupancy) -> dict[int | None, int]:
    found: dict[int | None, int] = {}
    for lease, (first, *later) in sent.items():
        ended_us, run_us = first.ended_us, first.run_us
        if ended_us is None or run_us is None or any(x.sent_us < ended_us for x in later):
            continue
        found[lease] = ended_us - first.sent_us - run_us - slot.between_us - slot.travel_us
    return found
