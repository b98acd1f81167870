"""After how long it is known that an attempt has failed."""

from __future__ import annotations

import numpy as np

from tailrace.knowledge.incidence import incidence
from tailrace.knowledge.reliability import Known
from tailrace.knowledge.sendings import Fate, Floats, Sendings
from tailrace.knowledge.turnaround import MOST_POINTS


def reported_s(sendings: Sendings, most: int = MOST_POINTS) -> Floats:
    """Ascending, all as probable; infinity for those of which nobody told before their time-out.
    Empty where nobody ever told: then it is known by the time-out alone."""
    told = sendings.how(Fate.FAILED)
    if not told.any():
        return np.empty(0)
    some = told | sendings.how(Fate.EXPIRED)
    times_s = np.sort(np.where(told, sendings.took_s, np.inf)[some])
    if times_s.size <= most:
        return times_s
    return times_s[((np.arange(most) + 0.5) * times_s.size / most).astype(np.int64)]


def known(sendings: Sendings) -> Known:
    """By a report or by the time-out, with regard to those that are still out."""
    found = incidence(sendings)
    some = found.failed > 0
    times_s, upto = found.times_s[some], np.concatenate(([0.0], np.cumsum(found.failed[some])))
    whole = upto[-1] or 1.0
    return lambda out_s: np.asarray(upto[np.searchsorted(times_s, out_s, "right")] / whole)
