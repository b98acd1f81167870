"""Processes of arrivals."""

from tailrace.simulation.arrivals.lublin import (
    ALL,
    BATCH,
    INTERACTIVE,
    Jobs,
    Kind,
    lublin,
    lublin_jobs,
)
from tailrace.simulation.arrivals.process import (
    Arrivals,
    AtOnce,
    Batches,
    Daily,
    Listed,
    Renewal,
    daily,
    poisson,
    uniform,
    with_night,
)
from tailrace.simulation.arrivals.reading import read_arrivals

__all__ = [
    "ALL",
    "BATCH",
    "INTERACTIVE",
    "Arrivals",
    "AtOnce",
    "Batches",
    "Daily",
    "Jobs",
    "Kind",
    "Listed",
    "Renewal",
    "daily",
    "lublin",
    "lublin_jobs",
    "poisson",
    "read_arrivals",
    "uniform",
    "with_night",
]
