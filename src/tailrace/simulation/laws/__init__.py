"""Laws of chance: for lengths of tasks, lives of machines, gaps between arrivals."""

from tailrace.simulation.laws.changed import Changed
from tailrace.simulation.laws.empirical import Empirical
from tailrace.simulation.laws.families import (
    Constant,
    Exponential,
    Gamma,
    Lognormal,
    Normal,
    Uniform,
    Weibull,
)
from tailrace.simulation.laws.law import Floats, Law
from tailrace.simulation.laws.levy import Levy
from tailrace.simulation.laws.loggamma import LogGamma
from tailrace.simulation.laws.mixture import Mixture
from tailrace.simulation.laws.reading import Place, read_law

__all__ = [
    "Changed",
    "Constant",
    "Empirical",
    "Exponential",
    "Floats",
    "Gamma",
    "Law",
    "Levy",
    "LogGamma",
    "Lognormal",
    "Mixture",
    "Normal",
    "Place",
    "Uniform",
    "Weibull",
    "read_law",
]
