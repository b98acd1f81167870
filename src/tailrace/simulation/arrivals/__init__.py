"""Processes of arrivals."""

from tailrace.simulation.arrivals.lublin import (
    ALL,
    BATCH,
    INTERACTIVE,
    Kind,
    lublin,
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
    "Kind",
    "Listed",
    "Renewal",
    "daily",
    "lublin",
    "poisson",
    "read_arrivals",
    "uniform",
    "with_night",
]
