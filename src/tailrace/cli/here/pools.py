"""What comes of the machines of each pool, for a live view: asked seldom: counting takes time."""

from __future__ import annotations

import time

from tailrace.cli.here.curves import curve
from tailrace.cli.servers.calling import call
from tailrace.errors import ServerError
from tailrace.report import poolwork, words
from tailrace.report.poolwork import PoolWork
from tailrace.server.tables.lock import Owner

FIRST_S = 2.0
EVERY_S = 10.0
SHARE = 20  # of the time, no more than one part of so many is spent on it
MOST = 4  # in a view
WIDE = 20


def pause_s(took_s: float) -> float:
    return max(EVERY_S, SHARE * took_s)


class Asking:
    """Of a server, now and then; between two answers the last one holds."""

    def __init__(self, owner: Owner | None) -> None:
        self._owner = owner
        self._next = time.monotonic() + FIRST_S
        self._found: list[PoolWork] = []

    def newest(self) -> list[PoolWork]:
        began = time.monotonic()
        if self._owner is not None and began >= self._next:
            self._found = _asked(self._owner)
            self._next = time.monotonic() + pause_s(time.monotonic() - began)
        return self._found


def _asked(owner: Owner) -> list[PoolWork]:
    """One that has just ended knows nothing any more."""
    try:
        found: list[PoolWork] = call(owner, "GET", "/api/v1/pools", kind=list[PoolWork])
    except ServerError:
        return []
    return found


def lines(every: list[PoolWork], now_us: int) -> list[str]:
    """Of those that have most machines now, and of those that did anything."""
    active = [one for one in every if one.now or one.finished or one.failures]
    largest = sorted(active, key=lambda one: (-one.now, -one.finished))[:MOST]
    return [_line(one, now_us) for one in largest]


def _line(one: PoolWork, now_us: int) -> str:
    parts = [_machines(one, now_us)]
    if one.first_task_us is not None:
        parts.append(f"first task after {words.duration(one.first_task_us)}")
    parts.append(words.count(one.finished, "task"))
    if one.dedicated_cores is not None:
        parts.append(f"as {poolwork.cores(one)} dedicated cores")
    parts += [f"{count:,} {kind}" for kind, count in one.failures.items()]
    return f"{one.pool}: " + ", ".join(parts)


def _machines(one: PoolWork, now_us: int) -> str:
    text = words.count(one.now, "machine") + (f" (of {one.most:,})" if one.most > one.now else "")
    if len(one.machines) < 2:
        return text
    until = max(now_us, one.machines[-1][0])
    return f"{curve([*one.machines, (until, one.now)], one.most, WIDE)} {text}"


def brief(every: list[PoolWork]) -> str:
    """All together, for a line that has much else to say."""
    machines = sum(one.now for one in every)
    if not machines:
        return ""
    told = [one.dedicated_cores for one in every if one.now and one.dedicated_cores is not None]
    beside = f" (as {sum(told):.1f} dedicated cores)" if told else ""
    return words.count(machines, "machine") + beside
