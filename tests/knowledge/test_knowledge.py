"""From observations to what is believed."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.knowledge.blackhole import improbable, tail
from tailrace.knowledge.progress import Reached
from tailrace.knowledge.remaining import time_left
from tailrace.knowledge.runtimes import RunTimes

RUNS = st.lists(st.integers(0, 10**13), min_size=2, max_size=50)


@given(RUNS)
def test_mean_and_deviation_are_those_of_the_textbook(runs: list[int]) -> None:
    times = RunTimes()
    for run in runs:
        times.add(run)
    assert times.count == len(runs)
    assert times.mean_us == pytest.approx(statistics.mean(runs))
    assert times.deviation_us == pytest.approx(statistics.stdev(runs), rel=1e-9, abs=1e-6)


def test_large_run_times_that_differ_little_keep_their_spread() -> None:
    times = RunTimes()
    for apart in (1, 2, 3):
        times.add(10**15 + apart)
    assert times.deviation_us == 1.0


def test_what_is_done_of_the_tasks_left_is_not_left() -> None:
    times = RunTimes()
    for run in (90, 110):
        times.add(run)
    whole, part = time_left(times, 1, 4), time_left(times, 1, 4, begun=0.75)
    assert whole is not None and part is not None
    assert (whole.mean_us, part.mean_us) == (100, 25)
    assert part.high_us - part.low_us < whole.high_us - whole.low_us


def test_the_rate_of_a_task_is_that_since_it_first_told() -> None:
    """It went on at a checkpoint, at a half, and does a hundredth in each second from there."""
    first = Reached(0.51, 1_000_000, 5)
    assert first.left_us(5) == 960_784  # it cannot be known yet
    second = Reached(0.53, 3_000_000, 7).after(first)
    third = Reached(0.60, 10_000_000, 14).after(second)
    assert second.left_us(7) == 47_000_000 and third.left_us(14) == 40_000_000
    assert third.left_us(14 + 41_000_000) == -1_000_000
    assert Reached(0.60, 11_000_000, 15).after(Reached(0.60, 10_000_000, 14)).left_us(15) is None


def test_a_task_that_falls_back_has_begun_anew() -> None:
    again = Reached(0.25, 11_000_000, 0).after(Reached(0.9, 10_000_000, 0))
    assert again.left_us(0) == 3_000_000
    assert Reached(5e-324, 10_000_000, 14).left_us(15) is None, "as good as no rate"


def test_nothing_is_known_before_the_first_run() -> None:
    times = RunTimes()
    assert (times.count, times.mean_us, times.deviation_us, times.recent_us) == (0, 0, 0, 0)


def test_the_recent_mean_follows_a_change_which_the_mean_is_slow_to_see() -> None:
    times = RunTimes()
    for _ in range(1000):
        times.add(1_000_000)
    for _ in range(100):
        times.add(1000)
    assert times.recent_us < 10_000
    assert times.mean_us > 900_000


def test_the_first_runs_count_alike_in_the_recent_mean() -> None:
    times = RunTimes()
    for run in (100, 200, 300):
        times.add(run)
    assert times.recent_us == pytest.approx(200)


@given(st.integers(1, 60), st.floats(0.01, 0.99), st.data())
def test_the_tail_is_that_of_a_binomial(trials: int, rate: float, data: st.DataObject) -> None:
    from math import comb

    least = data.draw(st.integers(0, trials))
    exact = sum(
        comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(least, trials + 1)
    )
    assert tail(least, trials, rate) == pytest.approx(exact, rel=1e-6, abs=1e-12)


def test_two_failures_are_never_improbable() -> None:
    assert not improbable(2, 2, 0, 10_000)


def test_failing_always_where_others_never_do_is_improbable() -> None:
    assert improbable(3, 3, 0, 1000)


def test_failing_as_often_as_the_others_is_not() -> None:
    assert not improbable(30, 100, 300, 1000)


def test_a_few_failures_among_many_runs_are_not() -> None:
    assert not improbable(5, 500, 0, 10_000)


def test_when_all_others_fail_always_nobody_stands_out() -> None:
    assert not improbable(50, 50, 500, 500)


@given(st.integers(0, 200), st.integers(0, 200), st.integers(0, 500), st.integers(0, 500))
def test_any_record_can_be_judged(booked: int, good: int, others: int, others_good: int) -> None:
    more = improbable(booked + 1, booked + 1 + good, others, others + others_good)
    assert more or not improbable(booked, booked + good, others, others + others_good)


def test_the_time_left_is_work_over_slots_with_an_interval_that_narrows() -> None:
    few, many = _times(3), _times(3000)
    little, much = time_left(few, 1000, 10), time_left(many, 1000, 10)
    assert little is not None and much is not None
    assert much.low_us < 100_000_000 < much.high_us
    assert much.high_us - much.low_us < little.high_us - little.low_us
    assert little.low_us >= 0


@pytest.mark.parametrize(("left", "slots"), [(0, 5), (5, 0)])
def test_without_work_or_slots_there_is_no_time_left_to_tell(left: int, slots: int) -> None:
    assert time_left(_times(10), left, slots) is None


def test_one_run_says_too_little() -> None:
    assert time_left(_times(1), 10, 2) is None


def _times(count: int) -> RunTimes:
    times = RunTimes()
    for number in range(count):
        times.add(500_000 + 500_000 * (number % 3))
    return times
