"""Which bags the scheduler would let go, where no server runs: one is restored from the tables,
told to forget them, and thrown away. It has the last word, as what is under way keeps a bag."""

from __future__ import annotations

from collections.abc import Iterable

from tailrace.scheduler.brain import Scheduler
from tailrace.scheduler.events import BagForgotten
from tailrace.scheduler.rows import Restored


def going(rows: Restored, bags: Iterable[int], now: int) -> list[int]:
    """Those of these bags that would go."""
    scheduler, asked = Scheduler(), list(bags)
    scheduler.restore(rows, now)
    for number in asked:
        scheduler.handle(BagForgotten(number), now)
    return [number for number in asked if number not in scheduler.state.bags]
