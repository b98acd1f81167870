"""Chance that can be asked for again: the n-th draw of a bag for a purpose is always the same.

Counter-based (SplitMix64's finisher over a mixed key): no stream, so that what one strategy draws
does not shift what another gets, and a restart goes on where it was.
"""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

_MASK = (1 << 64) - 1


def draw(seed: int, bag: int, purpose: str, n: int) -> float:
    """In [0, 1)."""
    return _mix(_key(seed, bag, purpose) + n * 0x9E3779B97F4A7C15 & _MASK) / 2.0**64


@lru_cache(maxsize=4096)  # a bag draws again and again for the same few purposes
def _key(seed: int, bag: int, purpose: str) -> int:
    return _mix(seed & _MASK) ^ _mix((bag << 32) ^ crc32(purpose.encode()))


def _mix(z: int) -> int:
    z = z + 0x9E3779B97F4A7C15 & _MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    return z ^ z >> 31
