"""The thirteen experiments of ExPERT: what its paper says of them (Tables 3 and 5), and what of
that enters a model."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailrace.planning.setting import Hosts, Setting
from tailrace.planning.strategy import Strategy

Floats = NDArray[np.float64]

C_UR, C_R = 1 / 3600, 34 / 3600  # cents a second (Table 2)
RELIABLE = 20  # machines (Table 4)
POINTS = 400  # quantiles of a law
WM_MEAN, OSG_MEAN = 1597.0, 2066.0  # the same tasks on two grids: Table 3, and experiment 11
ON_OSG = {11: 1.0, 9: 0.5}  # share of the machines
STEPS = 200  # of a bisection
COMBINED = 5  # the experiment that is CN∞: both pools work from the beginning


class Load(NamedTuple):
    """A row of Table 3; times in seconds."""

    tasks: int
    t: float
    d: float
    mean: float
    least: float
    most: float


LOADS = {
    1: Load(820, 2500, 4000, 1597, 1019, 3558),
    2: Load(820, 1700, 4000, 1597, 1019, 3558),
    3: Load(3276, 5000, 8000, 1911, 1484, 6435),
    4: Load(3276, 3000, 5000, 2232, 1643, 4517),
    # Their averages are printed below their minima: the columns are exchanged.
    5: Load(615, 4000, 6000, 1571, 878, 4947),
    6: Load(615, 4000, 4000, 1512, 729, 3534),
    7: Load(615, 2500, 4000, 1542, 987, 3250),
}


class Off(NamedTuple):
    """By how much a simulation is off, in percent of what was measured."""

    tail: float
    cost: float


class Experiment(NamedTuple):
    """A row of Table 5. The costs of 2 and 3 are printed as 39 and 41."""

    number: int
    load: Load
    n: int | None
    hosts: int
    share: float
    sent: int  # to reliable machines
    tail: float
    cents: float  # a task
    offline: Off  # as the paper has them
    online: Off


TABLE = (
    Experiment(1, LOADS[1], 0, 202, 0.995, 50, 6908, 1.60, Off(8, 3), Off(35, 33)),
    Experiment(2, LOADS[1], 2, 199, 0.983, 0, 3704, 0.39, Off(21, -4), Off(8, -4)),
    Experiment(3, LOADS[6], None, 220, 0.981, 0, 6005, 0.41, Off(1, -4), Off(4, -4)),
    Experiment(4, LOADS[3], 0, 206, 0.974, 49, 10487, 1.10, Off(2, 2), Off(-56, -32)),
    Experiment(5, LOADS[6], None, 200, 0.970, 41, 6113, 1.48, Off(37, -2), Off(29, -2)),
    Experiment(6, LOADS[5], None, 201, 0.942, 0, 6394, 0.42, Off(3, -4), Off(-40, -4)),
    Experiment(7, LOADS[1], 0, 208, 0.864, 77, 10130, 2.38, Off(3, 2), Off(32, 26)),
    Experiment(8, LOADS[2], 1, 208, 0.857, 16, 4162, 0.88, Off(19, 15), Off(-37, -10)),
    Experiment(9, LOADS[1], 0, 251, 0.853, 108, 14029, 3.28, Off(7, 0), Off(-1, -4)),
    Experiment(10, LOADS[7], 0, 208, 0.844, 118, 11761, 3.67, Off(-14, -35), Off(-7, -28)),
    Experiment(11, LOADS[1], 0, 200, 0.827, 89, 11656, 2.86, Off(8, 1), Off(-7, -7)),
    Experiment(12, LOADS[1], 0, 200, 0.788, 107, 12869, 3.09, Off(-9, -13), Off(-2, -5)),
    Experiment(13, LOADS[4], 0, 204, 0.746, 100, 20239, 1.54, Off(-3, -7), Off(-7, -10)),
)  # fmt: skip


def turnarounds(one: Experiment) -> Floats:
    """What the paper tells of run times, and no more; on the other grid in its proportion."""
    slower = OSG_MEAN / WM_MEAN - 1
    factor = 1 + slower * ON_OSG.get(one.number, 0.0)
    return factor * truncated(one.load.least, one.load.most, one.load.mean)


def truncated(least: float, most: float, mean: float) -> Floats:
    """Of all laws with these three the one that says least beyond them: exponential, cut off."""
    at = (mean - least) / (most - least)
    low, high = -500.0, 500.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _mean(middle) > at else (low, middle)
    chances = (np.arange(POINTS) + 0.5) / POINTS
    found: Floats = least - (most - least) * np.log1p(chances * np.expm1(-low)) / low
    return found


def _mean(rate: float) -> float:
    """Of the density exp(-rate · x) on [0, 1]."""
    return 0.5 if abs(rate) < 1e-9 else 1 / rate - 1 / math.expm1(rate)


def unreliable_s(one: Experiment) -> float:
    """T_ur, by which results are paid. Where none was sent to a reliable machine the cost tells."""
    return float(turnarounds(one).mean()) if one.sent else one.cents / C_UR


def reliable_s(one: Experiment) -> float:
    """T_r: what the cost leaves to each attempt on a reliable machine. None was sent: no matter."""
    if not one.sent:
        return unreliable_s(one)
    return (one.cents - unreliable_s(one) * C_UR) * one.load.tasks / (C_R * one.sent)


def strategy(one: Experiment) -> Strategy:
    ratio = 0.0 if one.n is None else RELIABLE / one.hosts
    return Strategy(one.n, one.load.t, one.load.d, ratio)


def setting(one: Experiment, patience_s: float | None = None) -> Setting:
    """`patience_s`: the time-out before the tail, else the paper's four T_ur."""
    cheap_s, dear_s = unreliable_s(one), reliable_s(one)
    times = turnarounds(one)
    return Setting(
        tasks=one.load.tasks,
        cheap=Hosts(one.hosts, times, per_result=C_UR * cheap_s),
        dear=Hosts(RELIABLE, np.array([dear_s]), per_result=C_R * dear_s),
        patience_s=patience_s or 4 * float(times.mean()),
        returned_from=np.zeros(1), returned=np.array([one.share]),
    )  # fmt: skip
