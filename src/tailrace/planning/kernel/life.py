"""The NTDMr model of ExPERT (4.4), event by event, in compiled code.

A bag of alike tasks, some cheap hosts whose attempts may never return, and a few dear ones whose
always do. Until fewer tasks are left than there are cheap hosts, each task has one attempt at a
time; from then on, in the tail, up to N more on cheap hosts, each T after the last, then one on a
dear host. The life until the tail is the same for all strategies, so it is lived once for each
repetition, and every strategy goes on from there.

Chance is counted, not streamed: the k-th attempt of a task meets the same fate under each strategy,
so that strategies differ by what they do alone (common random numbers).

It may also begin with a bag in its tail, whose attempts have been out for so long.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tailrace.planning.kernel.attempts import due, ended, failed, pay, send, take_up, want_surely
from tailrace.planning.kernel.chance import Key, key_of
from tailrace.planning.kernel.compiling import apart, compiled, kept, stamp
from tailrace.planning.kernel.heap import code, pop, push, stale
from tailrace.planning.kernel.hosts import (
    give_back,
    idle_host,
    idle_until,
    lease,
    next_task,
    put_idle,
    unit_of,
    wanted,
)
from tailrace.planning.kernel.model import (
    BEHIND,
    CHEAP_SENT,
    DEAR_OUT,
    DEAR_QUEUE,
    DEAR_SENT,
    DONE,
    DUE,
    FAILURE,
    FRESH,
    FULL,
    HEAD,
    HEAP,
    HERE,
    IDLE,
    IN_TAIL,
    LEASED,
    LIMIT,
    MAKESPAN,
    MOST_ROUNDS,
    MOST_SENT,
    NOBODY,
    NOT_LEASED,
    OWN,
    RESULT,
    SENT,
    SEQ,
    SEQ_BITS,
    SLOT_BITS,
    SLOT_MASK,
    STARTING,
    TAIL,
    TAIL_TASKS,
    WAITING,
    Floats,
    Ints,
    Model,
    Standing,
    Work,
)

# N before the tail. As a plain number it would have a type of its own, and all be compiled twice.
WITHOUT_END: Any = np.int64(-1)


@compiled
def _serve(w: Work, m: Model, key: Key, now: float, t: float, d: float) -> None:
    """Idle hosts take what waits."""
    for pool in range(2):
        while wanted(w, m, pool) and (not pool or w.n[DEAR_OUT] < w.n[LIMIT]):
            slot = idle_host(w, m, pool, now)
            if slot == NOBODY:
                break
            task = next_task(w, m, pool)
            send(w, m, key, slot, task, now, d)
            if w.n[IN_TAIL]:
                w.tasks[task].copies += 1 - pool
                w.tasks[task].dear |= pool
                _await(w, task, now + t)
        if unit_of(m, pool) > 0.0:
            lease(w, m, pool, now)
    w.out[DEAR_QUEUE] = max(w.out[DEAR_QUEUE], w.n[WAITING + 1])


@compiled
def _await(w: Work, task: int, time: float) -> None:
    """It is looked at then; once, however often it is sent before."""
    if not w.tasks[task].awaits:
        w.tasks[task].awaits = 1
        push(w, time, code(DUE, 0, task))


@compiled
def _happen(w: Work, m: Model, now: float, n: int, t: float) -> None:
    """What is first in the heap."""
    code = w.codes[0]
    pop(w)
    kind, slot = code >> (SLOT_BITS + SEQ_BITS), code & SLOT_MASK
    if stale(w, code):
        return
    if kind == RESULT:
        ended(w, m, slot, now)
    elif kind == FAILURE:
        failed(w, m, slot, now, n)
    elif kind == DUE:
        w.tasks[slot].awaits = 0
        if w.tasks[slot].last + t <= now:
            due(w, slot, n)
        elif not w.tasks[slot].done:  # it was sent again before
            _await(w, slot, w.tasks[slot].last + t)
    else:
        w.n[STARTING + (1 if slot >= m.cheap else 0)] -= 1
        put_idle(w, m, slot, now)


@apart
def _live(w: Work, m: Model, key: Key, now: float, n: int, t: float, d: float) -> float:
    """Until the tail begins; or in it, until each task has a result. When: infinity if never."""
    most, last, rounds = w.n[SENT] + MOST_SENT * m.tasks, -1, 0
    while True:
        while w.n[HEAP] and w.times[0] <= now:
            _happen(w, m, now, n, t)
        if w.n[DONE] == m.tasks:
            return now
        if not w.n[IN_TAIL] and m.tasks - w.n[DONE] < m.cheap and now >= m.cheap_startup_s:
            return now
        _serve(w, m, key, now, t, d)
        rounds = rounds + 1 if w.n[SEQ] == last else 0
        last = w.n[SEQ]
        if w.n[SENT] > most or rounds > MOST_ROUNDS * w.times.size:
            return math.inf
        if not w.n[HEAP] or w.n[FULL]:
            return math.inf
        now = w.times[0]  # with T = 0 it may be the same


@compiled
def _begin(w: Work, m: Model) -> None:
    """Nothing has been sent."""
    for at in range(w.n.size):
        w.n[at] = 0
    for at in range(w.out.size):
        w.out[at] = 0.0
    for task in range(m.tasks):
        one = w.tasks[task]
        one.first, one.count, one.copies, one.queued = NOBODY, 0, 0, 0
        one.done, one.dear, one.awaits = 0, 0, 0
    for slot in range(w.hosts.size - 1, -1, -1):  # the last is the first to be taken
        w.hosts[slot].leased, w.hosts[slot].seq = NOT_LEASED, 0
        if slot < m.cheap and m.cheap_unit_s <= 0.0:
            put_idle(w, m, slot, 0.0)


@compiled
def _copy(w: Work, to: Work, count: int) -> None:
    """How it stands when the tail begins; of tasks, those that are left."""
    for at in range(w.n[HEAP]):
        to.times[at], to.codes[at] = w.times[at], w.codes[at]
    for at in range(w.n.size):
        to.n[at] = w.n[at]
    for at in range(w.out.size):
        to.out[at] = w.out[at]
    for slot in range(w.hosts.size):
        to.hosts[slot] = w.hosts[slot]
        to.idle[slot] = w.idle[slot]
    for at in range(count):
        to.tasks[w.left[at]] = w.tasks[w.left[at]]


@compiled
def _left(w: Work, m: Model) -> int:
    """Tasks without a result: those that wait, in the order in which they would be sent, then those
    under way."""
    count, room, place = 0, w.tasks.size + 1, w.n[HEAD]
    if not m.retry_first:
        for task in range(w.n[FRESH], m.tasks):
            w.left[count] = task
            count += 1
    while place != w.n[BEHIND]:
        if w.tasks[w.queue[place]].queued:
            w.left[count] = w.queue[place]
            count += 1
        place = (place + 1) % room
    for task in range(m.tasks):
        fresh = task >= w.n[FRESH]
        if not w.tasks[task].done and not w.tasks[task].queued and (m.retry_first or not fresh):
            w.left[count] = task
            count += 1
    return count


@apart
def _begin_tail(w: Work, m: Model, left: Ints, count: int, now: float, n: int, t: float) -> None:
    """What waits is wanted at once; what is under way, T after it was sent. That keeps its
    time-out, and does not count towards N."""
    w.n[IN_TAIL], w.n[FRESH], w.n[WAITING], w.n[HEAD] = 1, m.tasks, 0, w.n[BEHIND]
    w.out[TAIL_TASKS] = count
    if m.dear_unit_s <= 0.0:
        for slot in range(m.cheap + w.n[LIMIT] - 1, m.cheap - 1, -1):
            if not w.hosts[slot].seq:
                put_idle(w, m, slot, now)
    for at in range(count):
        task = left[at]
        w.tasks[task].queued = 0
        under_way = w.tasks[task].first
        if under_way == NOBODY or w.hosts[under_way].overdue:
            want_surely(w, task, n)
        else:
            _await(w, task, max(w.tasks[task].last + t, now))


@apart
def _take_up(w: Work, m: Model, key: Key, standing: Standing) -> None:
    """The tail has begun, and some are under way. Of a host that is not told of, the lease counts
    as begun now."""
    w.n[FRESH] = m.tasks
    for task in range(m.tasks):
        w.tasks[task].copies, w.tasks[task].dear = standing.tasks[task, 0], standing.tasks[task, 1]
        w.tasks[task].last = -math.inf
    _stand(w, m, standing)
    for at in range(standing.out.shape[0]):
        task, age = int(standing.out[at, 0]), standing.out[at, 2]
        slot = _place_of(w, m, 1 if standing.out[at, 1] > 0.0 else 0, standing.on[at])
        if slot != NOBODY:
            take_up(w, m, key, slot, task, age, standing.out[at, 3])
    w.n[IDLE] = 0
    for slot in range(w.hosts.size - 1, -1, -1):
        pool = 1 if slot >= m.cheap else 0
        here = w.hosts[slot].leased <= 0.0 if unit_of(m, pool) > 0.0 else not pool
        if here and not w.hosts[slot].seq:
            put_idle(w, m, slot, 0.0)


@compiled
def _stand(w: Work, m: Model, standing: Standing) -> None:
    """Those that are leased, or on their way, are the first of their kind."""
    for at in range(standing.hosts.shape[0]):
        pool = 1 if standing.hosts[at, 0] > 0.0 else 0
        slot = pool * m.cheap + w.n[LEASED + pool]
        if slot >= (w.hosts.size if pool else m.cheap) or unit_of(m, pool) <= 0.0:
            continue
        w.hosts[slot].leased = standing.hosts[at, 1]
        w.n[LEASED + pool] += 1
        if standing.hosts[at, 2] > 0.0:
            w.n[STARTING + pool] += 1
            w.hosts[slot].seq = NOBODY  # so it is not idle
            push(w, standing.hosts[at, 2], code(HERE, 0, slot))


@compiled
def _place_of(w: Work, m: Model, pool: int, on: int) -> int:
    """The host that an attempt runs on; the first that is free, where that is not known."""
    first, behind = pool * m.cheap, (w.hosts.size if pool else m.cheap)
    if on != NOBODY and first + on < behind and not w.hosts[first + on].seq:
        return first + on
    slot = first
    while slot < behind and (w.hosts[slot].seq or _is_told_of(w, slot)):
        slot += 1
    if slot == behind:
        return NOBODY
    if unit_of(m, pool) > 0.0:
        w.hosts[slot].leased = 0.0
        w.n[LEASED + pool] += 1
    return slot


@compiled
def _is_told_of(w: Work, slot: int) -> bool:
    return w.hosts[slot].leased != NOT_LEASED


@apart
def _close(w: Work, m: Model, now: float, since: float) -> None:
    """The bag has ended, and its leases with it. What still runs and returns is paid where results
    are, since nobody ends it."""
    w.out[MAKESPAN], w.out[TAIL] = now, now - since
    w.out[CHEAP_SENT], w.out[DEAR_SENT] = w.n[SENT], w.n[SENT + 1]
    for slot in range(w.hosts.size):
        pool = 1 if slot >= m.cheap else 0
        if w.hosts[slot].leased != NOT_LEASED and w.hosts[slot].leased != OWN:
            idle = w.hosts[slot].seq == 0
            until = min(now, idle_until(w, m, slot, pool)) if idle else now
            give_back(w, m, slot, pool, until)
    while not m.cancel and w.n[HEAP]:
        time, code = w.times[0], w.codes[0]
        pop(w)
        kind, slot = code >> (SLOT_BITS + SEQ_BITS), code & SLOT_MASK
        if kind == FAILURE and not stale(w, code) and not w.hosts[slot].overdue:
            w.hosts[slot].seq = 0  # nobody waits for it beyond its time-out
        elif kind == RESULT and not stale(w, code):
            pay(w, m, slot, time)


@apart
def _each(
    m: Model, strategies: Floats, key: Key, since: float, out: Floats, repetition: int, w: Work,
    v: Work,
) -> None:  # fmt: skip
    count = _left(w, m)
    for task in range(m.tasks):
        v.tasks[task].done = w.tasks[task].done
    for row in range(strategies.shape[0]):
        n, t, d = int(strategies[row, 0]), strategies[row, 1], strategies[row, 2]
        _copy(w, v, count)
        v.n[LIMIT] = int(strategies[row, 3])
        _begin_tail(v, m, w.left, count, since, n, t)
        ended = _live(v, m, key, since, n, t, d)
        if ended < math.inf:
            _close(v, m, ended, since)
        for at in range(out.shape[2]):
            out[repetition, row, at] = v.out[at] if ended < math.inf else math.inf


def _made(stamp: str) -> Any:
    """It closes over the stamp, by which what is kept on disk is known."""

    @kept
    def simulate(
        m: Model, standing: Standing, strategies: Floats, seed: int, first: int, out: Floats,
        w: Work, v: Work,
    ) -> None:  # fmt: skip
        """Strategies are rows of N (below 0: without end), T, D and dear hosts; `out` is by
        repetition, strategy and figure."""
        if not stamp:
            return
        for repetition in range(out.shape[0]):
            key = key_of(seed, first + repetition)
            _begin(w, m)
            since = 0.0
            if standing.tasks.shape[0]:
                _take_up(w, m, key, standing)
            else:
                since = _live(w, m, key, 0.0, WITHOUT_END, m.patience_s, m.patience_s)
            if since < math.inf:
                _each(m, strategies, key, since, out, repetition, w, v)
                continue
            for row in range(out.shape[1]):
                for at in range(out.shape[2]):
                    out[repetition, row, at] = math.inf

    return simulate


simulate = _made(stamp())
