"""How long each task runs on each machine.

A task has a length: its run time in seconds on the reference machine. On a machine of another type
it takes `slope * length + offset`, the line of BaTS (thesis 3.1.3), times a noise of its own for
that type, times a factor of the machine, which is part of the machine's speed (`machinery`). All
are drawn by number: noise by task (and the offset, where it scatters), factor by machine; so the
same task takes the same time on the same machine however the run went before, and an attempt that
is repeated there takes as long again.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from tailrace.simulation.draws import Draws, Streams
from tailrace.simulation.laws import Constant, Floats, Law

_ONE, _NONE = Constant(1.0), Constant(0.0)


class MachineType(msgspec.Struct, frozen=True):
    """How machines of a type compare with the reference machine.

    `noise` and `spread` are laws of factors around 1: of tasks that suit the type more or less than
    the line says, and of machines of the type that differ from each other.
    """

    slope: float = 1.0
    offset: Law = _NONE  # in seconds, perhaps below zero
    noise: Law = _ONE
    spread: Law = _ONE

    def __post_init__(self) -> None:
        if not self.slope > 0:
            raise ValueError(f"slope is {self.slope:g}, but must be above 0")

    def line(self, lengths: Floats, offsets: Draws) -> Floats:
        if isinstance(self.offset, Constant):
            return self.slope * lengths + self.offset.value
        return self.slope * lengths + offsets.values(self.offset, len(lengths))


REFERENCE = MachineType()


class Given(msgspec.Struct, frozen=True):
    """Lengths that are known, in seconds: task i has the i-th. Those that are not known (NaN), or
    beyond the list, are drawn."""

    seconds: tuple[float, ...]
    others: Law | None = None

    def fill(self, count: int, streams: Streams) -> Floats:
        known = np.array(self.seconds[:count], np.float64)
        if self.others is None:
            return known
        drawn = streams.stream("lengths").values(self.others, count)
        some = ~np.isnan(known)
        drawn[: len(known)][some] = known[some]
        return drawn

    def knows(self, count: int) -> NDArray[np.bool_]:
        """Of each task."""
        known = np.zeros(count, bool)
        known[: len(self.seconds)] = ~np.isnan(self.seconds[:count])
        return known


def draw_lengths(
    lengths: Law | Given, count: int, streams: Streams, *, even: bool = False
) -> Floats:
    """The lengths of so many tasks; task i has the same one whatever the count, unless they are
    drawn evenly: then each of observed values is as frequent as it was observed."""
    if isinstance(lengths, Given):
        return lengths.fill(count, streams)
    return streams.stream("lengths").values(Even(lengths) if even else lengths, count)


class Even(msgspec.Struct, frozen=True):
    """Values of a law that are drawn all at once, and evenly: no law itself."""

    law: Law

    def draw(self, u: Floats) -> Floats:
        return self.law.draw(evenly(u))


def evenly(u: Floats) -> Floats:
    """In the same order, but at equal distances: one in each n-th part of [0, 1)."""
    places = np.empty(len(u), np.float64)
    places[np.argsort(u, kind="stable")] = np.arange(len(u))
    return (places + 0.5) / max(len(u), 1)


class Workload:
    """Run times of the tasks of one bag, by type of machine."""

    def __init__(
        self,
        lengths: Floats,
        types: Mapping[str, MachineType],
        streams: Streams,
    ) -> None:
        self.lengths = lengths
        self._types = dict(types)
        self._streams = streams
        self._times: dict[str, Floats] = {}

    def seconds(self, type_name: str) -> Floats:
        """Of all tasks on a machine of this type with factor 1. A line with a negative offset sends
        short tasks below zero."""
        times = self._times.get(type_name)
        if times is None:
            times = self._times[type_name] = self._drawn(type_name)
        return times

    def _drawn(self, type_name: str) -> Floats:
        machine = self._types[type_name]
        plain = machine.line(self.lengths, self._streams.stream("offset", type_name))
        if machine.noise == _ONE:
            return plain
        noise = self._streams.stream("noise", type_name)
        return plain * noise.values(machine.noise, len(plain))
