"""A harness that finds nothing proves nothing: these faults are put in, and must be found."""

from __future__ import annotations

import pytest

from . import planted
from .oracle import Violation
from .test_seeds import SEEDS
from .world import run

MOST = 5 * SEEDS  # most show within a few; one that needs an old call after a restart is rare


@pytest.mark.parametrize("name", planted.FAULTS)
def test_a_planted_fault_is_found(name):
    fault = planted.FAULTS[name]
    for seed in range(MOST):
        try:
            run(seed, fault.parts)
        except Violation as violation:
            assert violation.rule in fault.rules, f"seed {seed}: {violation}"
            return
    pytest.fail(f"{MOST} seeds did not find it")
