"""When something happens, and what: a binary heap in two arrays. At equal times the kind decides,
then which is older."""

from __future__ import annotations

from tailrace.planning.kernel.compiling import compiled
from tailrace.planning.kernel.model import (
    FAILURE,
    FULL,
    HEAP,
    SEQ_BITS,
    SEQ_MASK,
    SLOT_BITS,
    SLOT_MASK,
    Floats,
    Ints,
    Work,
)


@compiled
def code(kind: int, seq: int, slot: int) -> int:
    return (kind << (SLOT_BITS + SEQ_BITS)) | (seq << SLOT_BITS) | slot


@compiled
def stale(w: Work, code: int) -> bool:
    """Of an attempt that was ended before."""
    if code >> (SLOT_BITS + SEQ_BITS) > FAILURE:
        return False
    return w.hosts[code & SLOT_MASK].seq != (code >> SLOT_BITS) & SEQ_MASK


@compiled
def push(w: Work, time: float, code: int) -> None:
    times, codes = w.times, w.codes
    if w.n[HEAP] == times.size:
        _tidy(w)
        if w.n[HEAP] == times.size:  # never: but nobody would see what is written beyond it
            w.n[FULL] = 1
            return
    at = w.n[HEAP]
    w.n[HEAP] += 1
    while at > 0:
        up = (at - 1) >> 1
        if times[up] < time or (times[up] == time and codes[up] < code):
            break
        times[at], codes[at] = times[up], codes[up]
        at = up
    times[at], codes[at] = time, code


@compiled
def pop(w: Work) -> None:
    """The first; who asks has read it."""
    w.n[HEAP] -= 1
    last = w.n[HEAP]
    _sink(w.times, w.codes, 0, last, w.times[last], w.codes[last])


@compiled
def _before(times: Floats, codes: Ints, a: int, b: int) -> bool:
    return times[a] < times[b] or (times[a] == times[b] and codes[a] < codes[b])


@compiled
def _sink(times: Floats, codes: Ints, at: int, size: int, time: float, code: int) -> None:
    while True:
        low = 2 * at + 1
        if low >= size:
            break
        right = low + 1
        if right < size and _before(times, codes, right, low):
            low = right
        if time < times[low] or (time == times[low] and code < codes[low]):
            break
        times[at], codes[at] = times[low], codes[low]
        at = low
    times[at], codes[at] = time, code


@compiled
def _tidy(w: Work) -> None:
    """What was ended before its time leaves its event behind; seldom there is no room for those."""
    kept = 0
    for at in range(w.n[HEAP]):
        if not stale(w, w.codes[at]):
            w.times[kept], w.codes[kept] = w.times[at], w.codes[at]
            kept += 1
    w.n[HEAP] = kept
    for at in range(kept // 2 - 1, -1, -1):
        _sink(w.times, w.codes, at, kept, w.times[at], w.codes[at])
