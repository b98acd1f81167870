"""Gamma quantiles by table: a million in a quarter of a second, where the exact ones take one.

The logarithm of the quantile is a smooth function of the normal score z of its uniform, so cubics
between points that carry value and slope are right to ten digits for every uniform a stream gives.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailrace.simulation.laws import special
from tailrace.simulation.laws.law import Floats

LEAST_SHAPE = 0.1  # far below it the smallest quantiles are smaller than any float
LARGEST_SHAPE = 1e12  # beyond it the density is a difference of numbers that are too large
_FAR = 8.5  # streams give uniforms between 2^-53 and 1 - 2^-53, scores within 8.3
_PER_UNIT = 256
_PIECE = 8192


class Table(NamedTuple):
    logs: Floats  # of the quantiles, at scores 1/256 apart
    slopes: Floats  # per step of 1/256


@lru_cache(maxsize=256)
def table(shape: float) -> Table:
    scores = np.arange(-_FAR * _PER_UNIT, _FAR * _PER_UNIT + 1) / _PER_UNIT
    logs = np.log(np.where(scores < 0, _from_below(shape, scores), _from_above(shape, scores)))
    density = shape * logs - np.exp(logs) - math.lgamma(shape)  # the logarithm of x f(x)
    bell = -(scores**2) / 2 - math.log(2 * math.pi) / 2
    return Table(logs, np.exp(bell - density) / _PER_UNIT)


def quantiles(shape: float, u: Floats) -> Floats:
    """Of the gamma law with scale 1; by pieces that stay in a processor's cache."""
    if len(u) <= _PIECE:
        return _quantiles(shape, u)
    pieces = range(0, len(u), _PIECE)
    return np.concatenate([_quantiles(shape, u[at : at + _PIECE]) for at in pieces])


def _quantiles(shape: float, u: Floats) -> Floats:
    steps = (np.asarray(special.ndtri(u)) + _FAR) * _PER_UNIT
    at = steps.astype(np.int64)
    return np.exp(_cubic(table(shape), at, steps - at))


def _cubic(points: Table, at: NDArray[np.int64], t: Floats) -> Floats:
    """The cubic with given values and slopes at both ends, at t between 0 and 1."""
    first, last = points.logs[at], points.logs[at + 1]
    rise, leaving, coming = last - first, points.slopes[at], points.slopes[at + 1]
    bend = leaving + coming - 2 * rise
    return first + t * (leaving + t * (3 * rise - 2 * leaving - coming + t * bend))


def _from_below(shape: float, scores: Floats) -> Floats:
    return np.asarray(special.gammaincinv(shape, special.ndtr(scores)))


def _from_above(shape: float, scores: Floats) -> Floats:
    """By the upper tail, whose small probabilities a float still tells apart."""
    return np.asarray(special.gammainccinv(shape, special.ndtr(-scores)))
