"""The Lublin–Feitelson model of what users submit to parallel computers.

Uri Lublin and Dror G. Feitelson, *The workload on parallel supercomputers: modeling the
characteristics of rigid jobs*, JPDC 63 (2003), with the parameters of the authors' program:

* Gaps: the logarithm of seconds is gamma(aarr · arar, barr), drawn again above 13 (five days),
  on a clock of 48 half-hours a day. The weight of half-hour i is what gamma(anum, bnum) has between
  i − ½ and i + ½, for i from 11 to 58, the day beginning at five in the morning.
* Run times: the logarithm of seconds is gamma(a1, b1) with probability p, else gamma(a2, b2), drawn
  again above 12 (two days); p = pa · processors + pb, so wide jobs run longer.
* Processors: one, with probability `serial`; otherwise 2^x, with x uniform in (low, middle) with
  probability `lower`, else in (middle, high), and x rounded for a share `power_of_two` of all jobs.

Drawing again above a limit is the law given that it is below it, which is how it is done here: one
uniform each.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tailrace.simulation.arrivals.process import Daily
from tailrace.simulation.draws import Streams
from tailrace.simulation.laws import Floats, Law, LogGamma, Mixture, special

_SLOTS = 48
_FIRST_SLOT = 11
_LONGEST_RUN = 12.0
_LONGEST_GAP = 13.0


class Kind(msgspec.Struct, frozen=True):
    """The parameters of one kind of jobs, under the names they were published with."""

    serial: float
    power_of_two: float
    low: float
    middle: float
    high: float
    lower: float
    a1: float
    b1: float
    a2: float
    b2: float
    pa: float
    pb: float
    aarr: float
    barr: float
    anum: float
    bnum: float
    arar: float

    def gaps(self) -> Law:
        return LogGamma(self.aarr * self.arar, self.barr, _LONGEST_GAP)

    def weights(self) -> tuple[float, ...]:
        ends = np.arange(_FIRST_SLOT, _FIRST_SLOT + _SLOTS + 1) - 0.5
        shares = np.diff(special.gammainc(self.anum, ends / self.bnum))
        return tuple(np.roll(shares, _FIRST_SLOT - 1).tolist())

    def run_times(self, processors: int = 1) -> Law:
        share = min(max(self.pa * processors + self.pb, 0.0), 1.0)
        first = LogGamma(self.a1, self.b1, _LONGEST_RUN)
        second = LogGamma(self.a2, self.b2, _LONGEST_RUN)
        weights = (share * first.kept(), (1 - share) * second.kept())
        parts = [part for part in zip(weights, (first, second), strict=True) if part[0] > 0]
        return Mixture(tuple(weight for weight, _ in parts), tuple(law for _, law in parts))


BATCH = Kind(
    serial=0.2927,
    power_of_two=0.6686,
    low=1.2,
    middle=5.0,
    high=7.0,
    lower=0.875,
    a1=6.57,
    b1=0.823,
    a2=639.1,
    b2=0.0156,
    pa=-0.003,
    pb=0.6986,
    aarr=6.0415,
    barr=0.8531,
    anum=6.1271,
    bnum=5.2740,
    arar=1.0519,
)
INTERACTIVE = Kind(
    serial=0.1541,
    power_of_two=0.625,
    low=1.0,
    middle=3.0,
    high=5.5,
    lower=0.705,
    a1=3.8351,
    b1=0.6605,
    a2=7.073,
    b2=0.6856,
    pa=-0.0118,
    pb=0.9156,
    aarr=6.5510,
    barr=0.6621,
    anum=8.9186,
    bnum=3.6680,
    arar=0.9797,
)
ALL = Kind(
    serial=0.244,
    power_of_two=0.576,
    low=0.8,
    middle=4.5,
    high=7.0,
    lower=0.86,
    a1=4.2,
    b1=0.94,
    a2=312.0,
    b2=0.03,
    pa=-0.0054,
    pb=0.78,
    aarr=10.2303,
    barr=0.4871,
    anum=8.1737,
    bnum=3.9631,
    arar=1.0225,
)
KINDS = {"batch": BATCH, "interactive": INTERACTIVE, "all": ALL}


class Jobs(NamedTuple):
    submit_us: NDArray[np.int64]
    run_s: Floats
    processors: NDArray[np.int64]


def lublin(kind: Kind = BATCH, start_hour: float = 0.0) -> Daily:
    return Daily(kind.gaps(), kind.weights(), start_hour)


def lublin_jobs(
    kind: Kind, count: int, streams: Streams, *, one_processor: bool = True, start_hour: float = 0.0
) -> Jobs:
    """So many jobs of one kind; `one_processor` leaves out those that need several."""
    times = streams.stream("lublin", "gaps").times(lublin(kind, start_hour))
    submit = np.fromiter(times, np.int64, count)
    processors = np.ones(count, np.int64) if one_processor else _processors(kind, count, streams)
    return Jobs(submit, _run_times(kind, processors, streams), processors)


def _run_times(kind: Kind, processors: NDArray[np.int64], streams: Streams) -> Floats:
    u = streams.stream("lublin", "run times").array(len(processors))
    for number in np.unique(processors):
        here = processors == number
        u[here] = kind.run_times(int(number)).draw(u[here])
    return u


def _processors(kind: Kind, count: int, streams: Streams) -> NDArray[np.int64]:
    sort = streams.stream("lublin", "sort").array(count)
    size = streams.stream("lublin", "size").array(count)
    power = _two_stages(kind, size)
    power = np.where(sort <= kind.serial + kind.power_of_two, np.floor(power + 0.5), power)
    wide = np.minimum(np.rint(2**power), np.rint(2**kind.high))
    return np.where(sort <= kind.serial, 1, wide).astype(np.int64)


def _two_stages(kind: Kind, u: Floats) -> Floats:
    """Uniform in each of two pieces: the inverse of a distribution function with one bend."""
    return np.interp(u, [0.0, kind.lower, 1.0], [kind.low, kind.middle, kind.high])
