"""The same master and workers in SimPy and in SimGrid, which nobody here wrote."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path
from statistics import fmean, stdev

import pytest
from studies.others import ours, simpy_model

SIMGRID = Path(ours.__file__).with_name("simgrid_model.py")
PYTHON = "/usr/bin/python3"  # Debian's own, the one that python3-simgrid is for
SPEEDS = (1.0, 0.37, 2.5, 1.7, 0.9)
LENGTH = '{ law = "lognormal", median = "10m", sigma = 1.1 }'
SURE = 4.0  # standard errors: two means of one law are farther apart in 1 of 16,000 tests


def simgrid(speeds: tuple[float, ...], lengths_us: list[int]) -> list[float]:
    """Seconds."""
    asked = json.dumps({"speeds": speeds, "lengths": [us / 1e6 for us in lengths_us]})
    ran = subprocess.run(
        [PYTHON, SIMGRID], input=asked, capture_output=True, text=True, timeout=60, check=True
    )
    ends: list[float] = json.loads(ran.stdout)["ends"]
    return ends


@pytest.fixture(scope="module")
def with_simgrid() -> None:
    try:
        asked = subprocess.run([PYTHON, "-c", "import simgrid"], capture_output=True, timeout=60)
    except FileNotFoundError:
        pytest.skip(f"needs {PYTHON} with the Debian package python3-simgrid")
    if asked.returncode:
        pytest.skip("needs the Debian package python3-simgrid")


@pytest.mark.parametrize("seed", range(5))
def test_in_simpy_every_task_ends_at_the_same_microsecond(seed: int) -> None:
    made = ours.scenario(SPEEDS, 300, LENGTH)
    lengths = ours.lengths_us(made, seed)
    assert ours.ends_us(made, seed) == simpy_model.ends_us(SPEEDS, lengths)


@pytest.mark.usefixtures("with_simgrid")
@pytest.mark.parametrize("seed", range(3))
def test_in_simgrid_every_task_ends_at_the_same_time(seed: int) -> None:
    """Run times are rounded to a microsecond here and not there: half of one for each task before
    it on its worker is the most that an end may be off."""
    made = ours.scenario(SPEEDS, 300, LENGTH)
    theirs = simgrid(SPEEDS, ours.lengths_us(made, seed))
    mine = [us / 1e6 for us in ours.ends_us(made, seed)]
    assert mine == pytest.approx(theirs, rel=0, abs=300 * 0.5e-6)


def test_a_worker_that_is_a_little_faster_would_be_seen() -> None:
    made = ours.scenario((*SPEEDS[:4], 0.9001), 300, LENGTH)
    assert ours.ends_us(made, 0) != simpy_model.ends_us(SPEEDS, ours.lengths_us(made, 0))


def test_with_failures_simpy_finds_the_same_mean() -> None:
    """Up for 2 h and down for 20 min on average, tasks of 24 min: one in six begins again."""
    life = 'up = { law = "exponential", mean = "2h" }\ndown = { law = "exponential", mean = "20m" }'
    length = '{ law = "uniform", from = "4m", to = "44m" }'
    made, safe = ours.scenario(SPEEDS, 60, length, life), ours.scenario(SPEEDS, 60, length)
    mine = [max(ours.ends_us(made, seed)) for seed in range(200)]
    theirs = [
        simpy_model.failing_makespan_us(SPEEDS, ours.lengths_us(made, seed), 7.2e9, 1.2e9, seed)
        for seed in range(200, 400)
    ]
    error = math.hypot(stdev(mine), stdev(theirs)) / math.sqrt(200)
    assert error < 0.02 * fmean(theirs)
    assert abs(fmean(mine) - fmean(theirs)) < SURE * error
    never = fmean(max(ours.ends_us(safe, seed)) for seed in range(20))
    assert never + 10 * error < fmean(mine)  # failures count
