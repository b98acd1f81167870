"""Attempts of one life of a store are numbered apart from those of every other.

A copy that was put back, or a database that lost its last commits, does not know of the attempts
that were sent since; workers do, and still report them. Were their numbers given out again, a task
would get the result of another. So the first life of a store begins at 1, and every later one
leaves a gap, which no life before can have filled, and which is not the same for two lives that
begin at the same point.
"""

from __future__ import annotations

from hashlib import blake2b

from msgspec.structs import replace

from tailrace.scheduler.rows import Restored

LEAST = 1 << 32  # more than one life sends
MOST = 1 << 36  # every JSON knows numbers below 2^53: that is enough for 100,000 lives


def apart(rows: Restored, now: int) -> Restored:
    """It begins where chance, by its moment, puts it."""
    chance = int.from_bytes(blake2b(b"life %d" % now, digest_size=8).digest())
    return replace(rows, next_attempt=rows.next_attempt + LEAST + chance % MOST)
