"""Idle hosts, and the leases that they may need."""

from __future__ import annotations

import math

from tailrace.planning.kernel.compiling import compiled
from tailrace.planning.kernel.heap import code, push
from tailrace.planning.kernel.model import (
    BEHIND,
    CHEAP_LEASE_S,
    DEAR_LEASE_S,
    FRESH,
    HEAD,
    HERE,
    IDLE,
    LEASED,
    LIMIT,
    NOBODY,
    NOT_LEASED,
    OWN,
    STARTING,
    WAITING,
    Model,
    Work,
)


@compiled
def enqueue(w: Work, task: int, pool: int) -> None:
    room = w.tasks.size + 1
    w.queue[pool * room + w.n[BEHIND + pool]] = task
    w.n[BEHIND + pool] = (w.n[BEHIND + pool] + 1) % room
    w.tasks[task].queued = pool + 1
    w.n[WAITING + pool] += 1


@compiled
def unqueue(w: Work, task: int) -> None:
    """What is left of it in its queue is passed by."""
    if w.tasks[task].queued:
        w.n[WAITING + w.tasks[task].queued - 1] -= 1
        w.tasks[task].queued = 0


@compiled
def _dequeue(w: Work, pool: int) -> int:
    """The first that still waits."""
    room = w.tasks.size + 1
    while w.n[HEAD + pool] != w.n[BEHIND + pool]:
        task = w.queue[pool * room + w.n[HEAD + pool]]
        w.n[HEAD + pool] = (w.n[HEAD + pool] + 1) % room
        if w.tasks[task].queued == pool + 1:
            unqueue(w, task)
            return task
    return NOBODY


@compiled
def next_task(w: Work, m: Model, pool: int) -> int:
    """Of what waits again, or was never sent, in its order."""
    if pool or w.n[FRESH] == m.tasks:
        return _dequeue(w, pool)
    if m.retry_first and w.n[WAITING]:
        return _dequeue(w, pool)
    w.n[FRESH] += 1
    return w.n[FRESH] - 1


@compiled
def wanted(w: Work, m: Model, pool: int) -> int:
    return w.n[WAITING + pool] + (0 if pool else m.tasks - w.n[FRESH])


@compiled
def unit_of(m: Model, pool: int) -> float:
    return m.dear_unit_s if pool else m.cheap_unit_s


@compiled
def _least_of(m: Model, pool: int) -> float:
    return m.dear_least_s if pool else m.cheap_least_s


@compiled
def _paid(m: Model, pool: int, lasted: float) -> float:
    """The units that were entered; a lease that ends with one does not enter the next."""
    unit = unit_of(m, pool)
    return unit * max(math.ceil(max(lasted, _least_of(m, pool)) / unit - 1e-9), 1.0)


@compiled
def put_idle(w: Work, m: Model, slot: int, now: float) -> None:
    pool = 1 if slot >= m.cheap else 0
    w.hosts[slot].seq, w.hosts[slot].idle_from = 0, now
    w.idle[pool * m.cheap + w.n[IDLE + pool]] = slot
    w.n[IDLE + pool] += 1


@compiled
def idle_host(w: Work, m: Model, pool: int, now: float) -> int:
    """What was idle at the end of its paid unit was given back then; but what comes, or ends its
    last, at that very moment, is offered what waits before."""
    while w.n[IDLE + pool]:
        w.n[IDLE + pool] -= 1
        slot = w.idle[pool * m.cheap + w.n[IDLE + pool]]
        offered = unit_of(m, pool) <= 0.0 or now <= w.hosts[slot].idle_from
        if offered or now < idle_until(w, m, slot, pool):
            return slot
        give_back(w, m, slot, pool, idle_until(w, m, slot, pool))
    return NOBODY


@compiled
def idle_until(w: Work, m: Model, slot: int, pool: int) -> float:
    leased = w.hosts[slot].leased
    if leased == OWN:
        return math.inf
    return leased + _paid(m, pool, w.hosts[slot].idle_from - leased)


@compiled
def give_back(w: Work, m: Model, slot: int, pool: int, now: float) -> None:
    """What was paid before all this began is not counted."""
    leased = w.hosts[slot].leased
    before = _paid(m, pool, -leased) if leased < 0.0 else 0.0
    at = DEAR_LEASE_S if pool else CHEAP_LEASE_S
    w.out[at] += _paid(m, pool, now - leased) - before
    w.hosts[slot].leased = NOT_LEASED
    w.n[LEASED + pool] -= 1


@compiled
def lease(w: Work, m: Model, pool: int, now: float) -> None:
    """As many as there is work for beside those on their way, within the limit."""
    limit = w.n[LIMIT] if pool else m.cheap
    more = min(wanted(w, m, pool) - w.n[STARTING + pool], limit - w.n[LEASED + pool])
    startup = m.dear_startup_s if pool else m.cheap_startup_s
    slot = pool * m.cheap
    while more > 0:
        if w.hosts[slot].leased == NOT_LEASED:
            w.hosts[slot].leased = now
            w.n[LEASED + pool] += 1
            w.n[STARTING + pool] += 1
            push(w, now + startup, code(HERE, 0, slot))
            more -= 1
        slot += 1
