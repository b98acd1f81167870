"""The Lublin–Feitelson model of when users submit jobs to parallel computers.

Uri Lublin and Dror G. Feitelson, *The workload on parallel supercomputers: modeling the
characteristics of rigid jobs*, JPDC 63 (2003), with the parameters of the authors' program.

The logarithm of the seconds between two jobs is gamma(aarr · arar, barr), drawn again above 13
(five days), on a clock of 48 half-hours a day. The weight of half-hour i is what gamma(anum, bnum)
has between i − ½ and i + ½, for i from 11 to 58, the day beginning at five in the morning.

Drawing again above a limit is the law given that it is below it, which is how it is done here: one
uniform each.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailrace.simulation.arrivals.process import Daily
from tailrace.simulation.laws import Law, LogGamma, special

_SLOTS = 48
_FIRST_SLOT = 11
_LONGEST_GAP = 13.0


class Kind(msgspec.Struct, frozen=True):
    """The parameters of one kind of jobs, under the names they were published with."""

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


BATCH = Kind(
    aarr=6.0415,
    barr=0.8531,
    anum=6.1271,
    bnum=5.2740,
    arar=1.0519,
)
INTERACTIVE = Kind(
    aarr=6.5510,
    barr=0.6621,
    anum=8.9186,
    bnum=3.6680,
    arar=0.9797,
)
ALL = Kind(
    aarr=10.2303,
    barr=0.4871,
    anum=8.1737,
    bnum=3.9631,
    arar=1.0225,
)
KINDS = {"batch": BATCH, "interactive": INTERACTIVE, "all": ALL}


def lublin(kind: Kind = BATCH, start_hour: float = 0.0) -> Daily:
    return Daily(kind.gaps(), kind.weights(), start_hour)
