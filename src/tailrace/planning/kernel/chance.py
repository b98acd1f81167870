"""Chance that is counted, not streamed: the k-th attempt of a task meets the same fate under each
strategy, so that strategies differ by what they do alone (common random numbers)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tailrace.planning.kernel.compiling import compiled
from tailrace.planning.kernel.model import Model

Key = Any  # an unsigned integer of 64 bits


@compiled
def _mixed(z: Key) -> Key:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def key_of(seed: int, repetition: int) -> Key:
    z = _mixed((np.uint64(seed) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
    return _mixed(z + (np.uint64(repetition) + np.uint64(1)) * np.uint64(0xA0761D6478BD642F))


@compiled
def chance(key: Key, task: int, number: int, purpose: int) -> float:
    """In [0, 1), and always the same for the same attempt of the same task."""
    z = _mixed(key + (np.uint64(task) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
    z = _mixed(z + np.uint64(2 * number + purpose) * np.uint64(0xD1B54A32D192ED03))
    return (z >> np.uint64(11)) * 2.0**-53


@compiled
def share_at(m: Model, now: float) -> float:
    """γ(t'): of attempts sent now, this share returns."""
    at = m.returned.size - 1
    while at > 0 and m.returned_from[at] > now:
        at -= 1
    return m.returned[at]
