"""Machines of a pool that are clearly slower or faster than the others, by the run times there.

A slow task and a slow machine look alike when the machine had few tasks. So a machine is taken for
one of the pool's others unless its median, of logarithms, is further from theirs than chance brings
it; and what chance will have added is taken off, as James and Stein shrink means. One long task
moves no median. Of few tasks nothing is said; then the tasks themselves are the long ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median, variance

ENOUGH = 5  # tasks of a machine
SURE = 3.0  # standard errors
OF_MEDIANS = math.pi / 2  # their variance beside that of means


def paces(run_us: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """By machine: how many times as long its tasks take."""
    logs = {name: [math.log(max(us, 1)) for us in times] for name, times in run_us.items()}
    told = {name: some for name, some in logs.items() if len(some) >= ENOUGH}
    if len(told) < 2:
        return dict.fromkeys(run_us, 1.0)
    middles = {name: median(some) for name, some in told.items()}
    middle, within = median(middles.values()), OF_MEDIANS * _variance_within(told)
    found = {name: shrunk(middles[name] - middle, within / len(told[name]), SURE) for name in told}
    return {name: math.exp(found.get(name, 0.0)) for name in run_us}


def _variance_within(logs: Mapping[str, Sequence[float]]) -> float:
    degrees = sum(map(len, logs.values())) - len(logs)
    return sum(variance(some) * (len(some) - 1) for some in logs.values()) / degrees


def shrunk(apart: float, chance: float, sure: float) -> float:
    """Of two means or medians: nothing within so many standard errors. `chance` is their square."""
    return apart - chance / apart if apart**2 > sure**2 * chance else 0.0
