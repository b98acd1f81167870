"""Attempts: sent, ended, failed."""

from __future__ import annotations

import math

from tailrace.planning.kernel.chance import Key, chance, share_at
from tailrace.planning.kernel.compiling import compiled
from tailrace.planning.kernel.heap import code, push
from tailrace.planning.kernel.hosts import enqueue, put_idle, unqueue
from tailrace.planning.kernel.model import (
    CHEAP_RESULT_S,
    CHEAP_RESULTS,
    DEAR_OUT,
    DEAR_RESULT_S,
    DEAR_RESULTS,
    DONE,
    FAILURE,
    IN_TAIL,
    LIMIT,
    MOST_DEAR,
    NOBODY,
    RESULT,
    SENT,
    SEQ,
    Floats,
    Model,
    Work,
)


@compiled
def send(w: Work, m: Model, key: Key, slot: int, task: int, now: float, d: float) -> None:
    """How it ends is drawn."""
    host, pool = w.hosts[slot], 1 if slot >= m.cheap else 0
    number = w.tasks[task].count
    w.n[SEQ] += 1
    w.n[SENT + pool] += 1
    host.task, host.seq, host.sent, host.overdue = task, w.n[SEQ], now, 0
    host.beside = w.tasks[task].first
    w.tasks[task].first, w.tasks[task].last, w.tasks[task].count = slot, now, number + 1
    if pool:
        host.good = 1
        w.n[DEAR_OUT] += 1
        w.out[MOST_DEAR] = max(w.out[MOST_DEAR], w.n[DEAR_OUT])
        at = int(chance(key, task, number, 0) * m.dear_turnarounds.size)
        push(w, now + m.dear_turnarounds[at], code(RESULT, host.seq, slot))
    else:
        _send_cheap(w, m, key, slot, task, number, now, d)


@compiled
def _send_cheap(
    w: Work, m: Model, key: Key, slot: int, task: int, number: int, now: float, d: float
) -> None:  # fmt: skip
    """F(t, t') = F_s(t) γ(t') is solved for t."""
    seq, x, share = w.hosts[slot].seq, chance(key, task, number, 0), share_at(m, now)
    fails, took = d, math.inf
    if x < share:
        took = m.turnarounds[min(int(x / share * m.turnarounds.size), m.turnarounds.size - 1)]
    elif m.failures.size:
        fails = min(d, m.failures[int(chance(key, task, number, 1) * m.failures.size)])
    w.hosts[slot].good = 1 if x < share else 0
    if took < d or (m.late and took < math.inf):
        push(w, now + took, code(RESULT, seq, slot))
    if took >= d:
        push(w, now + fails, code(FAILURE, seq, slot))


@compiled
def take_up(
    w: Work, m: Model, key: Key, slot: int, task: int, age: float, timeout: float
) -> None:  # fmt: skip
    """An attempt that was sent before: of it is known that it has not returned yet."""
    host, pool = w.hosts[slot], 1 if slot >= m.cheap else 0
    number = w.tasks[task].count
    w.n[SEQ] += 1
    host.task, host.seq, host.sent, host.overdue, host.good = task, w.n[SEQ], -age, 0, pool
    host.beside = w.tasks[task].first
    w.tasks[task].first, w.tasks[task].count = slot, number + 1
    w.tasks[task].last = max(w.tasks[task].last, -age)
    x = chance(key, task, number, 0)
    if pool:
        w.n[DEAR_OUT] += 1
        w.out[MOST_DEAR] = max(w.out[MOST_DEAR], w.n[DEAR_OUT])
        push(w, _later(m.dear_turnarounds, age, x) - age, code(RESULT, host.seq, slot))
        return
    share, above = share_at(m, 0.0), m.turnarounds.size - _until(m.turnarounds, age)
    returns, never, fails = share * above / m.turnarounds.size, 1.0 - share, timeout
    if m.failures.size:
        never *= 1.0 - _until(m.failures, age) / m.failures.size
    returns = returns / (returns + never) if returns > 0.0 else 0.0
    took = _later(m.turnarounds, age, x / returns) - age if x < returns else math.inf
    host.good = 1 if x < returns else 0
    if took == math.inf and m.failures.size:
        fails = min(timeout, _later(m.failures, age, chance(key, task, number, 1)) - age)
    if took < timeout or (m.late and took < math.inf):
        push(w, took, code(RESULT, host.seq, slot))
    if took >= timeout:
        push(w, fails, code(FAILURE, host.seq, slot))


@compiled
def _until(times: Floats, age: float) -> int:
    """How many of them, which ascend, are not longer."""
    low, high = 0, times.size
    while low < high:
        middle = (low + high) >> 1
        if times[middle] <= age:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _later(times: Floats, age: float, x: float) -> float:
    """One of those that are longer; if none is, it is over at once."""
    first = _until(times, age)
    if first == times.size:
        return age
    return times[first + min(int(x * (times.size - first)), times.size - first - 1)]


@compiled
def _leave(w: Work, m: Model, slot: int, now: float) -> None:
    """The host is at its task no longer."""
    task = w.hosts[slot].task
    at = w.tasks[task].first
    if at == slot:
        w.tasks[task].first = w.hosts[slot].beside
    else:
        while w.hosts[at].beside != slot:
            at = w.hosts[at].beside
        w.hosts[at].beside = w.hosts[slot].beside
    if slot >= m.cheap:
        w.n[DEAR_OUT] -= 1
    put_idle(w, m, slot, now)


@compiled
def pay(w: Work, m: Model, slot: int, now: float) -> None:
    """A result, also of a task that has one, where those are paid."""
    dear = slot >= m.cheap
    if w.tasks[w.hosts[slot].task].done and not (m.dear_losers if dear else m.cheap_losers):
        return
    w.out[DEAR_RESULTS if dear else CHEAP_RESULTS] += 1
    w.out[DEAR_RESULT_S if dear else CHEAP_RESULT_S] += now - w.hosts[slot].sent


@compiled
def ended(w: Work, m: Model, slot: int, now: float) -> None:
    task = w.hosts[slot].task
    pay(w, m, slot, now)
    _leave(w, m, slot, now)
    if w.tasks[task].done:
        return
    w.tasks[task].done = 1
    w.n[DONE] += 1
    unqueue(w, task)
    while m.cancel and w.tasks[task].first != NOBODY:
        _leave(w, m, w.tasks[task].first, now)


@compiled
def failed(w: Work, m: Model, slot: int, now: float, n: int) -> None:
    """By its time-out, or known before. Until the tail its task waits again; in it, another attempt
    is wanted before T has passed where it is known that none will return."""
    task = w.hosts[slot].task
    if w.hosts[slot].good and m.late and not w.tasks[task].done:
        w.hosts[slot].overdue = 1  # it goes on, and its host with it
    else:
        _leave(w, m, slot, now)
    if not w.n[IN_TAIL] and not w.tasks[task].done and not w.tasks[task].queued:
        enqueue(w, task, 0)
    elif m.failures.size and w.n[IN_TAIL] and _is_hopeless(w, task):
        want_surely(w, task, n)


@compiled
def _is_hopeless(w: Work, task: int) -> bool:
    """Nobody waits for an attempt of it any more."""
    at = w.tasks[task].first
    while at != NOBODY and w.hosts[at].overdue:
        at = w.hosts[at].beside
    return at == NOBODY


@compiled
def want_surely(w: Work, task: int, n: int) -> None:
    """Nobody is at it: also beyond what is allowed it must end somewhere."""
    due(w, task, n)
    if not w.tasks[task].done and not w.tasks[task].queued:
        enqueue(w, task, 1 if w.n[LIMIT] else 0)


@compiled
def due(w: Work, task: int, n: int) -> None:
    """In the tail: another attempt, where one is left to it."""
    if w.tasks[task].done or w.tasks[task].queued:
        return
    if n < 0 or w.tasks[task].copies < n:
        enqueue(w, task, 0)
    elif not w.tasks[task].dear:
        enqueue(w, task, 1)
