"""What travels with the tasks of a bag, and how they are saved, as a scenario says it.

input = "1 GB"                                         # laws of bytes, of each task
output = { law = "uniform", from = "1 MB", to = "1 GB" }
checkpoint = { every = "10m", pause = "5s", latency = "10s", recovery = "20s" }
checkpoint = { every = "10m", pause = "5s", size = "2 GB" }         # goes over the network
checkpoint = { every = "10m", at_notice = false }      # none when the end of the machine is known
"""

from __future__ import annotations

import msgspec

from tailrace.bag.tables import Table
from tailrace.quantities import Written, duration_us, show_duration, size_bytes
from tailrace.simulation.keys import read_law_of, some_time
from tailrace.simulation.laws import Law
from tailrace.simulation.laws.reading import Place

LEAST_EVERY_US = 1000  # between checkpoints: more of them would only be waited for


class Saving(msgspec.Struct, frozen=True):
    """Checkpoints at regular times of running (thesis 4.3.1: I, C, L, R)."""

    every_us: int
    pause_us: int = 0  # C: the attempt stands still
    latency_us: int = 0  # L: until it is available elsewhere
    recovery_us: int = 0  # R: before an attempt that goes on from it begins
    size: int = 0  # bytes that travel instead of waiting for L
    at_notice: bool = True  # one more when the machine hears that it will go


class Files(msgspec.Struct, frozen=True):
    """Of a bag."""

    input: Law | None = None
    output: Law | None = None
    saving: Saving | None = None

    @property
    def travels(self) -> bool:
        saved = self.saving is not None and self.saving.size > 0
        return self.input is not None or self.output is not None or saved


NO_FILES = Files()


def read_files(table: Table, place: Place) -> Files:
    inputs = read_law_of(table, "input", place, None, _bytes)
    outputs = read_law_of(table, "output", place, None, _bytes)
    return Files(inputs, outputs, _saving(table))


def _bytes(written: Written) -> float:
    return float(size_bytes(written))


def _saving(table: Table) -> Saving | None:
    if "checkpoint" not in table:
        return None
    inner = table.table("checkpoint")
    every = inner.read("every", some_time, 0, example='"10m"')
    pause_us, latency_us = (
        inner.read("pause", duration_us, 0),
        inner.read("latency", duration_us, 0),
    )
    recovery_us = inner.read("recovery", duration_us, 0)
    size = inner.read("size", size_bytes, 0)
    at_notice = inner.take("at_notice", bool) is not False
    inner.finish()
    if not every:
        remedy = 'write checkpoint = { every = "10m", pause = "5s" }'
        raise table.bad("checkpoint", "checkpoint does not say how often", remedy)
    if every < LEAST_EVERY_US:
        message = f"checkpoints every {show_duration(every)}, but at least 1ms lies between two"
        raise inner.bad("every", message, 'write every = "10m"')
    if size and latency_us:
        remedy = "a checkpoint of a size travels: leave one of them out"
        raise inner.bad("latency", "latency beside size", remedy)
    return Saving(every, pause_us, latency_us, recovery_us, size, at_notice)
