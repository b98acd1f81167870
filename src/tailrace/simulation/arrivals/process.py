"""When bags or tasks come: times in microseconds, none earlier than the one before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, pairwise, repeat

import msgspec
import numpy as np

from tailrace.simulation.arrivals.cycle import Cycle
from tailrace.simulation.draws import Stream, microseconds
from tailrace.simulation.laws import Exponential, Floats, Law, Uniform

DAY_S = 86_400


class Arrivals(msgspec.Struct, frozen=True):
    """A process of arrivals. Those drawn from laws never end; take as many as are wanted."""

    def times(self, stream: Stream) -> Iterator[int]:
        raise NotImplementedError


class AtOnce(Arrivals, frozen=True):
    """All at the same time."""

    at_us: int = 0

    def times(self, stream: Stream) -> Iterator[int]:
        return repeat(self.at_us)


class Listed(Arrivals, frozen=True):
    """Times that were recorded, task by task; ends with the last of them."""

    at_us: tuple[int, ...]

    def __post_init__(self) -> None:
        """They are not sorted here: it would part each from the task that it belongs to."""
        at = earlier_at(self.at_us)
        if at is not None:
            raise ValueError(f"time {at + 1} is earlier than time {at}")

    def times(self, stream: Stream) -> Iterator[int]:
        return iter(self.at_us)


class Renewal(Arrivals, frozen=True):
    """Gaps of one law, each independent of the others; the first arrival ends the first gap."""

    gaps: Law

    def times(self, stream: Stream) -> Iterator[int]:
        draw = stream.durations(self.gaps)
        return accumulate(iter(draw, None))  # never None: without end


class Batches(Arrivals, frozen=True):
    """Many at once, then none for a while, as users submit them (Chtepen 3.4); the first come after
    the first gap, and at least one comes each time."""

    sizes: Law
    gaps: Law

    def times(self, stream: Stream) -> Iterator[int]:
        chance, now = stream.uniforms(), 0
        while True:
            gap, size = (law.draw(np.array([chance()])) for law in (self.gaps, self.sizes))
            now += int(microseconds(gap)[0])
            yield from repeat(now, max(round(float(size[0])), 1))


class Daily(Arrivals, frozen=True):
    """Gaps of one law on a clock that goes fast where a day is busy and slow where it is quiet.

    `weights` divide the day into equal slots from midnight on; their ratios alone count, and over a
    whole day the clock keeps pace. With exponential gaps this is a Poisson process whose rate
    follows the weights. The run begins at `start_hour`.
    """

    gaps: Law
    weights: tuple[float, ...]
    start_hour: float = 0.0

    def __post_init__(self) -> None:
        Cycle(self.weights)  # complains about weights that make no day

    def times(self, stream: Stream) -> Iterator[int]:
        blocks = map(self._clock_us, _sums(stream.arrays(self.gaps)))
        return accumulate(chain.from_iterable(blocks), max)  # rounding must not turn time back

    def _clock_us(self, elapsed: Floats) -> list[int]:
        cycle, start = Cycle(self.weights), self.start_hour * 3600.0
        clock = cycle.clock(cycle.elapsed(np.array([start]))[0] + elapsed)
        times: list[int] = microseconds(clock - start).tolist()
        return times


def earlier_at(times: Sequence[int]) -> int | None:
    """Where the first stands that is earlier than the one before it."""
    return next((at for at, (one, next_) in enumerate(pairwise(times), 1) if next_ < one), None)


def poisson(mean_gap_s: float) -> Renewal:
    return Renewal(Exponential(mean_gap_s))


def uniform(low_s: float, high_s: float) -> Renewal:
    return Renewal(Uniform(low_s, high_s))


def daily(per_day: float, hours: tuple[float, ...], start_hour: float = 0.0) -> Daily:
    """A Poisson process with so many arrivals on an average day."""
    return Daily(Exponential(DAY_S / per_day), hours, start_hour)


def with_night(share: float, begins: int = 21, ends: int = 7) -> tuple[float, ...]:
    """Weights of 24 hours of which the night has this share, by default as in Chtepen 4.3.4."""
    night = [(hour - begins) % 24 < (ends - begins) % 24 for hour in range(24)]
    if not 0 <= share <= 1 or not 0 < sum(night) < 24:
        raise ValueError(f"a night from {begins} to {ends} cannot have a share of {share:g}")
    return tuple(share / sum(night) if dark else (1 - share) / (24 - sum(night)) for dark in night)


def _sums(blocks: Iterator[Floats]) -> Iterator[Floats]:
    total = 0.0
    for block in blocks:
        sums = total + np.cumsum(block)
        total = float(sums[-1])
        yield sums
