"""A harness that finds nothing proves nothing: these faults are put in, and must be found."""

from __future__ import annotations

import pytest

from . import planted
from .oracle import Violation
from .test_seeds import SEEDS
from .world import run


@pytest.mark.parametrize("name", planted.FAULTS)
def test_a_planted_fault_is_found(name):
    fault = planted.FAULTS[name]
    for seed in range(SEEDS):
        try:
            run(seed, fault.parts)
        except Violation as violation:
            assert violation.rule in fault.rules, f"seed {seed}: {violation}"
            return
    pytest.fail(f"{SEEDS} seeds did not find it")
