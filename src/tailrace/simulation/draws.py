"""Random numbers that depend on a seed and on names, never on who asked first.

`Streams(7).stream("machine", 12, "failures")` is the same sequence in every run, on every machine
and under every hash seed, whatever other streams are used before, after or not at all. So two
strategies meet the same failures and the same lengths of tasks, and two runs differ only by what
was changed between them (common random numbers).

The bits come from Philox, a counter-based generator, keyed by a hash of the seed and the names. The
uniforms are exact, thus equal everywhere. What a law makes of them uses the logarithms of the
machine's library, which may differ in the last digit between processors; durations are rounded to
microseconds, which hides that nearly always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import chain
from typing import Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from tailrace.quantities import SECOND
from tailrace.simulation.laws.law import Floats, Law

T = TypeVar("T")
Name = str | int

LONGEST_US = 2**62  # 146,000 years: what never happens, yet can still be added to a time
_FIRST_BLOCK = 16  # most streams of a short run give a few numbers only
_LAST_BLOCK = 1024
_PER_COUNT = 4  # numbers that one step of Philox' counter gives


class HasDraw(Protocol):
    """A law, as far as streams need one."""

    def draw(self, u: Floats) -> Floats: ...


class HasTimes(Protocol):
    """A process of arrivals."""

    def times(self, stream: Stream) -> Iterator[int]: ...


class Draws(Protocol):
    """What can be drawn for one purpose: from a stream, or from what stands before it."""

    def uniforms(self) -> Callable[[], float]:
        """A callable that gives the next uniform."""

    def of(self, law: Law) -> Callable[[], float]:
        """A callable that gives the next value of a law."""

    def durations(self, law: Law) -> Callable[[], int]:
        """A callable that gives the next duration in microseconds, of a law in seconds."""

    def times(self, arrivals: HasTimes) -> Iterator[int]:
        """Of arrivals, in microseconds."""

    def values(self, law: HasDraw, count: int, start: int = 0) -> Floats:
        """Numbers `start` to `start + count` of a law, without moving along the sequence."""

    def array(self, count: int, start: int = 0) -> Floats:
        """Uniforms `start` to `start + count` of the sequence, without moving along it."""


class Intermediary(Protocol):
    """Stands between streams and who draws from them: gives what is known, notes what is drawn."""

    def between(self, stream: Stream, names: tuple[Name, ...]) -> Draws: ...


class Streams:
    """All streams of one seed."""

    def __init__(
        self, seed: int, via: Intermediary | None = None, names: tuple[Name, ...] = ()
    ) -> None:
        self.seed = seed
        self._via = via
        self._names = names  # of the families around this one

    def stream(self, *names: Name) -> Draws:
        made = Stream(self.seed, names)
        return made if self._via is None else self._via.between(made, (*self._names, *names))

    def below(self, *names: Name) -> Streams:
        """A family of its own, such as the streams of one pool."""
        seed = int.from_bytes(_digest(self.seed, ("below", *names)), "little")
        return Streams(seed, self._via, (*self._names, *names))


class Stream:
    """One sequence of uniforms in the open interval (0, 1), from the number `start` on.

    It is bound once, to one purpose: `uniforms`, `of`, `durations` or `times`. Binding it again
    would give the same numbers a second time, two laws in step with each other, so that is refused.
    """

    __slots__ = ("_bound", "_key", "_names", "_seed", "_start")

    def __init__(self, seed: int, names: tuple[Name, ...], start: int = 0) -> None:
        self._seed = seed
        self._names = names
        self._start = start
        self._key = np.frombuffer(_digest(seed, names), "<u8").astype(np.uint64)
        self._bound = False

    def later(self, start: int) -> Stream:
        """The same sequence from another number on."""
        return Stream(self._seed, self._names, start)

    def uniforms(self) -> Callable[[], float]:
        return _next(block.tolist() for block in self._blocks())

    def of(self, law: Law) -> Callable[[], float]:
        return _next(law.draw(block).tolist() for block in self._blocks())

    def durations(self, law: Law) -> Callable[[], int]:
        return _next(microseconds(law.draw(block)).tolist() for block in self._blocks())

    def times(self, arrivals: HasTimes) -> Iterator[int]:
        return arrivals.times(self)

    def values(self, law: HasDraw, count: int, start: int = 0) -> Floats:
        return law.draw(self.array(count, start))

    def arrays(self, law: Law) -> Iterator[Floats]:
        """The values of a law block by block, for those who go on computing with arrays."""
        return (law.draw(block) for block in self._blocks())

    def array(self, count: int, start: int = 0) -> Floats:
        bits, skipped = self._bits(start)
        return _open_unit(bits.random_raw(skipped + count)[skipped:])

    def _bits(self, start: int) -> tuple[np.random.Philox, int]:
        """A generator near that number, and how many to skip until it."""
        counts, skipped = divmod(self._start + start, _PER_COUNT)
        return np.random.Philox(key=self._key).advance(counts), skipped

    def _blocks(self) -> Iterator[Floats]:
        if self._bound:
            raise ValueError(f"stream {self._names} is in use; name one for each purpose")
        self._bound = True
        bits, skipped = self._bits(0)
        if skipped:
            bits.random_raw(skipped)
        return _blocks(bits)


def microseconds(seconds: Floats) -> NDArray[np.int64]:
    """Durations as integers: never negative, never beyond what can be added to a time."""
    held = seconds * SECOND
    np.maximum(held, 0.0, out=held)  # in its place: there may be many
    np.minimum(held, LONGEST_US, out=held)
    return np.rint(held, out=held).astype(np.int64)


def _digest(seed: int, names: tuple[Name, ...]) -> bytes:
    """JSON tells 1 from "1" and ("a", "b") from ("ab",), and is the same everywhere."""
    return blake2b(msgspec.json.encode([str(seed), *names]), digest_size=16).digest()


def _blocks(bits: np.random.Philox) -> Iterator[Floats]:
    size = _FIRST_BLOCK
    while True:
        yield _open_unit(bits.random_raw(size))
        size = min(2 * size, _LAST_BLOCK)


def _open_unit(raw: NDArray[np.uint64]) -> Floats:
    """52 bits and a half: exact, symmetric, and neither 0 nor 1, where quantiles are infinite."""
    return ((raw >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def _next(blocks: Iterator[list[T]]) -> Callable[[], T]:
    """Handed out by the interpreter itself: no Python function runs for a single number."""
    return chain.from_iterable(blocks).__next__
