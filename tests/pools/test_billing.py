"""What a lease costs."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tailrace.pools.terms import HOUR_US, SECOND_US, Billing
from tailrace.quantities import Price, price

AMOUNT = st.integers(1, 10**9)


def test_each_unit_entered_is_paid_whole() -> None:
    hourly = Billing(price=5, unit_us=100)
    assert [hourly.cost(lasted) for lasted in (0, 1, 100, 101, 200)] == [5, 5, 5, 10, 10]


def test_never_less_than_the_minimum() -> None:
    by_the_second = Billing(price=5, unit_us=1, minimum_us=60)
    assert [by_the_second.cost(lasted) for lasted in (0, 59, 60, 61)] == [300, 300, 300, 305]


def test_a_free_pool_costs_nothing() -> None:
    assert Billing().cost(10**15) == 0


def test_seconds_that_cost_less_than_a_micro_unit_are_billed_exactly() -> None:
    """0.0028 USD an hour: 7/9 of a micro-unit a second."""
    cheap = Billing.at(price("0.0028 USD/h"), SECOND_US)
    assert [cheap.cost(n * SECOND_US) for n in (1, 9, 10, 3600)] == [1, 7, 8, 2800]
    assert cheap.cost(1000 * HOUR_US) == 2_800_000


@given(AMOUNT, AMOUNT, AMOUNT, st.integers(0, 10**12))
def test_only_the_whole_bill_is_rounded(amount: int, per: int, unit: int, lasted: int) -> None:
    billing = Billing.at(Price("USD", amount, per), unit)
    exact = Fraction(billing.units(lasted) * unit * amount, per)
    assert 0 <= billing.cost(lasted) - exact < 1


@given(AMOUNT, AMOUNT, st.integers(0, 10**9), st.integers(0, 10**12), AMOUNT)
def test_a_longer_lease_never_costs_less(
    amount: int, unit: int, minimum: int, lasted: int, more: int
) -> None:
    billing = Billing(amount, "USD", unit, minimum)
    assert billing.cost(lasted) <= billing.cost(lasted + more)


@given(AMOUNT, AMOUNT, st.integers(0, 10**9), st.integers(0, 10**12))
def test_up_to_the_end_of_its_unit_a_lease_costs_no_more(
    amount: int, unit: int, minimum: int, lasted: int
) -> None:
    billing = Billing(amount, "USD", unit, minimum)
    end = billing.units(lasted) * unit
    assert end >= lasted
    assert billing.cost(end) == billing.cost(lasted)
    assert billing.cost(end + 1) > billing.cost(lasted)
