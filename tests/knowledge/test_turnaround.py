"""F_s: from results, with regard to what is still out, scaled and mixed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.knowledge.sent import back, expired, failed, of, out

from tailrace.errors import BadInput
from tailrace.knowledge import failures, turnaround
from tailrace.knowledge.incidence import incidence
from tailrace.knowledge.sendings import Sendings

TIMES = st.floats(0.001, 1e6)
SOME = st.lists(TIMES, min_size=1, max_size=60)
SENT = st.builds(
    lambda rows, first: of(back(*first), *(make(sent, took) for make, sent, took in rows)),
    st.lists(st.tuples(st.sampled_from((back, failed, expired, out)), TIMES, TIMES), max_size=80),
    st.tuples(TIMES, TIMES),
)
WAYS: Any = pytest.mark.parametrize("way", [turnaround.of_results, turnaround.of_all])


@WAYS
def test_where_all_is_known_each_result_counts_alike(way: Any) -> None:
    found = way(of(back(0, 30), back(1, 10), failed(2, 3), back(3, 20), expired(4)))
    assert found.share([9.9, 10, 20, 25, 30]) == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3, 1])
    assert found.points() == pytest.approx([10, 20, 30])
    assert (found.count, found.mean_s) == (3, pytest.approx(20))
    assert found.error_s == pytest.approx(10 / math.sqrt(3))


def test_one_that_is_out_stands_for_those_that_were_out_as_long() -> None:
    """Of four, one was back after 10 s; one is known to be out for 15 s only, and of the two that
    are left one came after 20 s, the other after 30 s: that stands for 3/8 each."""
    sent = of(back(0, 10), out(0, 15), back(0, 20), back(0, 30))
    assert turnaround.of_results(sent).share(10) == pytest.approx(1 / 3)
    found = turnaround.of_all(sent)
    assert found.share([10, 20, 30]) == pytest.approx([1 / 4, 5 / 8, 1])
    assert found.mean_s == pytest.approx(10 / 4 + 20 * 3 / 8 + 30 * 3 / 8)


def test_what_has_failed_is_not_out() -> None:
    """One of two fails after 5 s; what comes later has nothing to do with it."""
    found = incidence(of(failed(0, 5), back(0, 10), out(0, 7), back(0, 20)))
    assert found.failed.sum() == pytest.approx(1 / 4)
    assert found.returned == pytest.approx([0, 0, 3 / 8, 3 / 8])


@WAYS
@given(sent=SENT)
def test_a_share_grows_from_0_to_1(way: Any, sent: Sendings) -> None:
    found = way(sent)
    at = np.concatenate(([0.0], found.values_s, [math.inf]))
    shares = found.share(at)
    assert shares[0] == 0 and shares[-1] == 1
    assert (np.diff(shares) >= 0).all() and (np.diff(found.values_s) >= 0).all()


@given(sent=SENT, most=st.integers(1, 200))
def test_points_have_the_mean_of_what_they_stand_for(sent: Sendings, most: int) -> None:
    found = turnaround.of_all(sent)
    points = found.points(most)
    assert points.mean() == pytest.approx(found.mean_s)
    assert (np.diff(points) >= 0).all() and points.size <= max(most, found.values_s.size)


def test_points_of_equal_weight_are_what_was_measured_until_they_are_too_many() -> None:
    found = turnaround.of_results(of(*(back(n, n + 1) for n in range(2000))))
    assert found.points(2000) == pytest.approx(np.arange(1, 2001))
    assert found.points(1000) == pytest.approx(np.arange(1.5, 2001, 2))


@given(values=SOME, mean_s=st.floats(0.1, 1e5))
def test_a_scaled_shape_has_the_mean_that_was_asked_for(values: list[float], mean_s: float) -> None:
    found = turnaround.given(np.array(values)).scaled(mean_s)
    assert found.mean_s == pytest.approx(mean_s)
    assert found.share(found.values_s[-1]) == 1


@given(own=st.lists(TIMES, min_size=5, max_size=60), other=SOME)
def test_a_mixture_has_the_mean_of_the_bags_own_results(
    own: list[float], other: list[float]
) -> None:
    mine = turnaround.of_results(of(*(back(n, took) for n, took in enumerate(own))))
    found = turnaround.mixed(mine, turnaround.given(np.array(other)))
    assert found.mean_s == pytest.approx(np.mean(own))
    assert (np.diff(found.values_s) >= 0).all()


def test_own_results_weigh_as_many_beside_thirty() -> None:
    """Ten of 100 s, and a shape of 1 and 3, which becomes 50 and 150."""
    mine = turnaround.of_results(of(*(back(n, 100) for n in range(10))))
    found = turnaround.mixed(mine, turnaround.given(np.array([1.0, 3.0])))
    assert found.share([50.01, 100.01, 150.01]) == pytest.approx([3 / 8, 5 / 8, 1])


def test_before_five_results_the_other_runs_mean_holds_unless_one_is_known() -> None:
    mine = turnaround.of_results(of(*(back(n, 100) for n in range(4))))
    other = turnaround.given(np.array([1.0, 3.0]))
    assert turnaround.mixed(mine, other).mean_s == pytest.approx((4 * 100 + 30 * 2) / 34)
    assert turnaround.mixed(None, other).mean_s == 2
    assert turnaround.mixed(mine, other, 50.0).mean_s == pytest.approx(50)


def test_of_one_result_the_mean_may_be_anything() -> None:
    found = turnaround.of_results(of(back(0, 10)))
    assert found.interval_s() == (0, math.inf)
    assert turnaround.given(np.array([5.0, 7.0])).interval_s() == (6, 6)


@WAYS
def test_without_a_result_nothing_is_known(way: Any) -> None:
    with pytest.raises(BadInput, match="none of 2 attempts returned"):
        way(of(failed(0, 1), expired(0)))
    with pytest.raises(BadInput, match="nothing was sent"):
        way(of())


@pytest.mark.parametrize("values", [[], [math.nan], [1, math.inf], [-1, 2]])
def test_turnarounds_that_are_none_are_refused(values: list[float]) -> None:
    with pytest.raises(BadInput, match="turnarounds must be numbers"):
        turnaround.given(np.array(values))


def test_failures_are_known_when_they_are_told_or_by_their_time_out() -> None:
    sent = of(back(0, 10), failed(0, 3), expired(0, 40), failed(0, 1))
    assert list(failures.reported_s(sent)) == [1, 3, math.inf]
    assert list(failures.reported_s(sent, 1)) == [3]
    assert list(failures.known(sent)(np.array([0.0, 1, 39, 40]))) == pytest.approx(
        [0, 1 / 3, 2 / 3, 1]
    )
    assert not failures.reported_s(of(back(0, 10), expired(0, 40))).size
