"""The same master and workers in SimPy and in SimGrid, which nobody here wrote."""

from __future__ import annotations

import pytest
from studies.other_simulators import (
    SPEEDS,
    WRONG,
    Beside,
    Change,
    Failing,
    Pair,
    failing_pair,
    judged,
    some_lengths,
)
from studies.others import ours, simgrid_call, simpy_model


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


@pytest.mark.parametrize("seed", range(20))
def test_with_failures_too_every_task_ends_in_simpy_at_the_same_microsecond(seed: int) -> None:
    """The same lengths, and the same times up and down, in both."""
    pair = failing_pair(seed)
    assert pair.ours == pair.simpy
    assert pair.lost  # else it would say nothing about failures


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_with_failures_a_world_that_is_a_little_wrong_would_be_seen(wrong: Change) -> None:
    apart = [failing_pair(seed, wrong).apart > 0 for seed in range(10)]
    assert any(apart) if wrong.sent_back else all(apart)  # not every run has a task to send back


@pytest.mark.parametrize(
    ("simpy", "simgrid", "failing", "held"),
    [(8.0, 8.0, 5, [True, True, True]), (8.000001, 8.0, 5, [False, True, True]),
     (8.0, 8.0002, 5, [True, False, True]), (8.0, 8.0, 6, [True, True, False])],
)  # fmt: skip
def test_what_another_simulator_finds_may_refute(
    simpy: float, simgrid: float, failing: int, held: list[bool]
) -> None:
    pairs = Failing([Pair([4, 5], [4, 5]), Pair([4, 5], [4, failing])])
    same = [Beside([7.0, 8.0], [7.0, simpy], [7.0, simgrid])]
    assert [claim.holds for claim in judged(same, pairs)] == held
    without = [Beside([7.0, 8.0], [7.0, simpy], [])]
    assert [claim.holds for claim in judged(without, pairs)] == [held[0], held[2]]
