"""The same master and workers in SimPy and in SimGrid, which nobody here wrote."""

from __future__ import annotations

import math
from statistics import fmean, stdev

import pytest
from studies.other_simulators import SPEEDS, Beside, Failing, judged, some_lengths
from studies.others import ours, simgrid_call, simpy_model

from tailrace.simulation.running import Running

SURE = 4.0  # standard errors: two means of one law are farther apart in 1 of 16,000 tests


@pytest.mark.parametrize("seed", range(5))
def test_in_simpy_every_task_ends_at_the_same_microsecond(seed: int) -> None:
    lengths = some_lengths(seed)
    assert ours.ends_us(ours.scenario(SPEEDS, lengths)) == simpy_model.ends_us(SPEEDS, lengths)


@pytest.mark.parametrize("seed", range(3))
def test_in_simgrid_every_task_ends_at_the_same_time(seed: int) -> None:
    """Run times are rounded to a microsecond here and not there: half of one for each task before
    it on its worker is the most that an end may be off."""
    if not simgrid_call.there():
        pytest.skip(f"needs the Debian package {simgrid_call.PACKAGE}")
    lengths = some_lengths(seed)
    theirs = simgrid_call.run(SPEEDS, lengths).ends_s
    mine = [us / 1e6 for us in ours.ends_us(ours.scenario(SPEEDS, lengths))]
    assert mine == pytest.approx(theirs, rel=0, abs=300 * 0.5e-6)


def test_a_worker_that_is_a_little_faster_would_be_seen() -> None:
    lengths = some_lengths(0)
    faster = ours.scenario((*SPEEDS[:4], 0.9001), lengths)
    assert ours.ends_us(faster) != simpy_model.ends_us(SPEEDS, lengths)


def test_with_failures_simpy_finds_the_same_mean() -> None:
    """Up for 2 h and down for 20 min on average, tasks of 24 min: one in six begins again."""
    life = 'up = { law = "exponential", mean = "2h" }\ndown = { law = "exponential", mean = "20m" }'
    lengths = [(4 + k % 41) * 60_000_000 for k in range(60)]
    made = ours.scenario(SPEEDS, lengths, life)
    mine = [max(ours.ends_us(made, seed)) for seed in range(200)]
    theirs = [
        simpy_model.failing_makespan_us(SPEEDS, lengths, 7.2e9, 1.2e9, seed) for seed in range(200)
    ]
    error = math.hypot(stdev(mine), stdev(theirs)) / math.sqrt(200)
    assert error < 0.02 * fmean(theirs)
    assert abs(fmean(mine) - fmean(theirs)) < SURE * error
    assert max(simpy_model.ends_us(SPEEDS, lengths)) + 10 * error < fmean(mine)  # failures count


@pytest.mark.parametrize(
    ("simpy", "simgrid", "hours", "held"),
    [(8.0, 8.0, 5.0, [True, True, True]), (8.000001, 8.0, 5.0, [False, True, True]),
     (8.0, 8.0002, 5.0, [True, False, True]), (8.0, 8.0, 6.0, [True, True, False])],
)  # fmt: skip
def test_what_another_simulator_finds_may_refute(
    simpy: float, simgrid: float, hours: float, held: list[bool]
) -> None:
    failing = Failing(Running(), Running())
    for more in (-0.5, 0.0, 0.5) * 10:
        failing.ours.add(5.0 + more)
        failing.simpy.add(hours + more)
    same = [Beside([7.0, 8.0], [7.0, simpy], [7.0, simgrid])]
    assert [claim.holds for claim in judged(same, failing)] == held
    without = [Beside([7.0, 8.0], [7.0, simpy], [])]
    assert [claim.holds for claim in judged(without, failing)] == [held[0], held[2]]
