"""γ(t'): of what is sent at a time, the share that returns. It holds for a number of attempts sent
one after the other, and may be another for the next ones.

Afterwards it is known (`offline`). At the beginning of the tail (`online`) there are three epochs:
of what was sent so long ago that its time-out has passed, all is known; of what was sent since, a
part; of what will be sent, nothing, and there the means of both epochs count alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import msgspec
import numpy as np

from tailrace.errors import BadInput
from tailrace.knowledge.sendings import Fate, Floats, Ints, Sendings
from tailrace.knowledge.turnaround import PRIOR_WORTH, Turnaround

MOST_SETS = 20  # the paper does not say how many attempts a set has
LEAST_SENT = 20  # in each
WIDEST = 0.5  # no share has a larger error
Z_95 = 1.959963984540054
ROUNDS = 500
NEAR = 1e-12


class Share(NamedTuple):
    """Of a set of attempts: what returns of them, how sure that is, and of how many it is known."""

    value: float
    error: float
    sent: float


Estimate = Callable[[Sendings], Share]  # of a set
Known = Callable[[Floats], Floats]  # of those that fail, what share is known to have after how long


class Reliability(msgspec.Struct, frozen=True, eq=False):
    """From `since_s[k]` on `share[k]` holds. Of the last nothing was sent, where that is online."""

    since_s: Floats  # ascending; in the seconds of the sendings
    share: Floats
    error: Floats  # standard errors
    sent: Ints  # attempts that were sent in that time

    def at(self, sent_s: float) -> float:
        return float(self.share[max(int(np.searchsorted(self.since_s, sent_s, "right")) - 1, 0)])

    @property
    def next(self) -> float:
        """Of what is sent from now on."""
        return float(self.share[-1])

    @property
    def next_error(self) -> float:
        return float(self.error[-1])

    @property
    def mean(self) -> float:
        """Over what was sent."""
        return _mean(self._shares()).value

    @property
    def mean_error(self) -> float:
        return _mean(self._shares()).error

    def interval(self) -> tuple[float, float]:
        """Of the mean, at 95 %: Wilson's, for as many attempts as would tell it so surely."""
        value, error = self.mean, self.mean_error
        if error == 0:
            return value, value
        smooth = min(max(value, error), 1 - error) if error < WIDEST else WIDEST
        trials = smooth * (1 - smooth) / error**2
        square = Z_95**2 / trials
        middle = (value + square / 2) / (1 + square)
        half = math.sqrt(value * (1 - value) * square + square**2 / 4) / (1 + square)
        return max(middle - half, 0.0), min(middle + half, 1.0)

    def steps(self) -> tuple[Floats, Floats]:
        """Since when, beginning with 0, what share returns."""
        since_s = self.since_s.copy()
        since_s[0] = 0.0
        return since_s, self.share.copy()

    def _shares(self) -> list[Share]:
        told = zip(self.share, self.error, self.sent, strict=True)
        return [Share(float(a), float(b), float(c)) for a, b, c in told]


def constant(share: float, sent: int = 0, error: float = 0.0) -> Reliability:
    """Somebody says so."""
    if not 0 < share <= 1:
        raise BadInput(
            f"a reliability of {share:g}: it is a share above 0 and at most 1",
            remedy="Of attempts that are sent, the share that returns: 0.827, for instance.",
        )
    return Reliability(np.zeros(1), np.array([share]), np.array([error]), np.array([sent]))


def offline(sendings: Sendings, estimate: Estimate) -> Reliability:
    """All is known that ever will be."""
    if not sendings.count:
        raise BadInput("nothing was sent yet", remedy="Let the bag run until results are there.")
    return _joined([(begins, estimate(some)) for begins, some in _sets(sendings)])


def online(
    sendings: Sendings, tail_s: float, timeout_s: float, full: Estimate, partial: Estimate,
    *, floor: bool = True,
) -> Reliability:  # fmt: skip
    """The three epochs; `sendings` as they are known at the beginning of the tail. Where none was
    sent in an epoch, the other stands for both. `floor`: in the second it is never below the least
    of the first."""
    if not sendings.count:
        raise BadInput("nothing was sent yet", remedy="Let the bag run until results are there.")
    old = sendings.sent_s < tail_s - timeout_s
    first = [(begins, full(some)) for begins, some in _sets(sendings.which(old))]
    least = min((share.value for _, share in first), default=0.0) if floor else 0.0
    second = [(begins, partial(some)) for begins, some in _sets(sendings.which(~old))]
    bounded = [(begins, _within(share, least)) for begins, share in second if share.sent > 0]
    means = [_mean([share for _, share in part]) for part in (first, bounded) if part]
    if not means:
        raise BadInput(
            "what was sent is out for too short a time to tell what share returns",
            remedy="Let it run until results are there, or give a reliability.",
        )
    zero = _next(means)
    unknown = [(begins, zero) for begins, share in second if share.sent == 0]
    return _joined([*first, *bounded, *unknown, (tail_s, Share(zero.value, zero.error, 0))])


def mixed(own: Reliability, other: Reliability) -> Reliability:
    """Each set counts with its attempts, the other run's mean as much as 30."""
    worth = own.sent / (own.sent + PRIOR_WORTH)
    worth[own.sent == 0] = own.sent.sum() / (own.sent.sum() + PRIOR_WORTH)
    share = own.share * worth + other.mean * (1 - worth)
    error = np.hypot(own.error * worth, other.mean_error * (1 - worth))
    return Reliability(own.since_s, share, error, own.sent)


# estimates


def counted(turnaround: Turnaround) -> Estimate:
    """The fraction of results; one that was dropped counts as far as it could have returned."""

    def of_set(some: Sendings) -> Share:
        dropped = some.how(Fate.OUT)
        return _over(some, np.where(dropped, turnaround.share(some.took_s), 1.0))

    return of_set


def extrapolated(turnaround: Turnaround, tail_s: float) -> Estimate:
    """Equation 2 of ExPERT: what has returned until now, over what of those that return would have
    been back by now."""

    def of_set(some: Sendings) -> Share:
        dropped = some.how(Fate.OUT)
        until_s = np.where(dropped, some.took_s, tail_s - some.sent_s)
        return _over(some, turnaround.share(until_s))

    return of_set


def likeliest(
    turnaround: Turnaround, failing: Known, assumed: float, worth: float = 0.0
) -> Estimate:
    """The share under which what is seen is most probable: one that is out may return yet, or has
    failed and it is not known yet. Where nothing at all is known, it is `assumed`, and that counts
    as much as `worth` attempts: few results tell nearly nothing where few could be back."""

    def of_set(some: Sendings) -> Share:
        out = some.took_s[some.how(Fate.OUT)]
        back = turnaround.share(out)
        known = failing(out)
        returned = some.returned
        failed = some.count - returned - out.size
        told = returned + failed + float(back.sum() + known.sum())
        if told <= 0:
            return Share(assumed, WIDEST, 0)
        value = _likeliest(returned, some.count, back, known, assumed, worth)
        return Share(value, _curvature_error(value, returned, failed, back, known), some.count)

    return of_set


def _likeliest(
    returned: int, sent: int, back: Floats, known: Floats, assumed: float, worth: float
) -> float:  # fmt: skip
    """By expectation and maximisation, whose every step is upwards."""
    value = min(max(assumed, 0.01), 0.99)
    for _ in range(ROUNDS):
        will, never = value * (1 - back), (1 - value) * (1 - known)
        both = will + never
        hoped = np.divide(will, both, out=np.full_like(both, value), where=both > 0)
        better = (returned + float(hoped.sum()) + assumed * worth) / (sent + worth)
        if abs(better - value) < NEAR:
            break
        value = better
    return min(better, 1.0)


def _curvature_error(
    value: float, returned: int, failed: int, back: Floats, known: Floats
) -> float:  # fmt: skip
    sent = returned + failed + back.size
    smooth = (value * sent + 0.5) / (sent + 1)
    left = np.maximum(1 - smooth * back - (1 - smooth) * known, 1e-12)
    bend = (
        returned / smooth**2
        + failed / (1 - smooth) ** 2
        + float((((back - known) / left) ** 2).sum())
    )
    return min(1 / math.sqrt(bend), WIDEST) if bend > 0 else WIDEST


# sets


def _sets(sendings: Sendings) -> list[tuple[float, Sendings]]:
    """What was sent at one time is in one set."""
    if not sendings.count:
        return []
    parts = max(1, min(MOST_SETS, sendings.count // LEAST_SENT))
    cuts = np.linspace(0, sendings.count, parts, endpoint=False).astype(np.int64)
    begins = np.unique(sendings.sent_s[cuts])
    edges = [*np.searchsorted(sendings.sent_s, begins), sendings.count]
    return [
        (float(sendings.sent_s[a]), sendings.which(np.arange(a, b))) for a, b in pairwise(edges)
    ]


def _over(some: Sendings, could: Floats) -> Share:
    """`could`: with what probability each would have returned by now if it ever does."""
    total = float(could.sum())
    if total <= 0:
        return Share(0.0, WIDEST, 0)
    value = some.returned / total
    smooth = min((some.returned + 0.5) / (total + 1), 1.0)
    square = float((smooth * could * (1 - smooth * could)).sum()) / total**2
    return Share(value, min(math.sqrt(square), WIDEST), some.count)


def _within(share: Share, least: float) -> Share:
    return share._replace(value=min(max(share.value, least), 1.0))


def _mean(shares: list[Share]) -> Share:
    """Over attempts. One that was given stands for itself."""
    total = sum(share.sent for share in shares)
    if not total:
        return shares[0]
    value = sum(share.value * share.sent for share in shares) / total
    square = sum((share.error * share.sent) ** 2 for share in shares)
    return Share(min(value, 1.0), math.sqrt(square) / total, total)


def _next(means: list[Share]) -> Share:
    value = sum(mean.value for mean in means) / len(means)
    error = math.sqrt(sum(mean.error**2 for mean in means)) / len(means)
    return Share(value, error, 0)


def _joined(parts: list[tuple[float, Share]]) -> Reliability:
    ordered = sorted(parts, key=lambda part: part[0])
    return Reliability(
        np.array([begins for begins, _ in ordered]),
        np.array([share.value for _, share in ordered]),
        np.array([share.error for _, share in ordered]),
        np.array([int(share.sent) for _, share in ordered]),
    )
