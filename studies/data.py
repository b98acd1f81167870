"""Recorded lives and run times, where TAILRACE_DATA says they are."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np

from tailrace.simulation.laws import Floats
from tailrace.simulation.samples import Samples
from tailrace.simulation.traces import (
    Interval,
    PoolTrace,
    lengths_s,
    read_fta,
    read_lifetimes,
    read_pool_trace,
)
from tailrace.simulation.wfformat import read_run_times

LANL = "fta-lanl05/event_trace.tab.gz"
PUBLISHED = "fta-lanl05/fta_published_fits.csv"
SPOT = "gcp-preemptible-2019/lifetimes.csv"
SPOT_POOL = "bamboo-spot/{machines}-trace.csv"
BLAST = "wfinstances/blast-chameleon-{size}-001.json.gz"
KINDS = {True: "availability", False: "unavailability"}  # intervals, as the archive calls them


def folder() -> Path | None:
    named = os.environ.get("TAILRACE_DATA")
    return Path(named) if named else None


def lanl(data: Path) -> dict[str, list[Interval]]:
    return read_fta(data / LANL, LANL)


def hours(nodes: dict[str, list[Interval]], *, up: bool) -> Floats:
    return np.array(lengths_s(nodes.values(), up=up)) / 3600


def published(data: Path, *, up: bool) -> dict[str, list[float]]:
    """The archive's parameters of each family, in hours."""
    with open(data / PUBLISHED) as file:
        rows = [row for row in csv.DictReader(file) if row["system"] == "lanl05"]
    return {
        row["distribution"]: [float(row[key]) for key in ("p1", "p2") if row[key]]
        for row in rows
        if row["interval"] == KINDS[up]
    }


def spot(data: Path) -> Samples:
    return read_lifetimes(data / SPOT, SPOT)


def spot_pool(data: Path, machines: str) -> PoolTrace:
    file = SPOT_POOL.format(machines=machines)
    return read_pool_trace(data / file, file)


def blast(data: Path, size: str = "large") -> list[float]:
    """Seconds."""
    file = BLAST.format(size=size)
    return read_run_times(data / file, file, "blastall")
