from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.quantities import (
    SECOND,
    duration_us,
    money,
    price,
    show_duration,
    show_money,
    show_price,
    show_size,
    size_bytes,
)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("90s", 90),
        ("5m", 300),
        ("2h", 7200),
        ("1d", 86_400),
        ("1h30m", 5400),
        ("1.5 hours", 5400),
        ("1 h 30 min", 5400),
        ("90", 90),
        (0.25, 0.25),
        ("250ms", 0.25),
    ],
)
def test_durations_are_read_as_people_write_them(written: str | float, seconds: float) -> None:
    assert duration_us(written) == seconds * 1_000_000


@pytest.mark.parametrize(
    "written", ["", "soon", "5 parsecs", "-3s", "1h x", "nan", "1h-", True, "9" * 30]
)
def test_what_is_no_duration_is_refused(written: str) -> None:
    with pytest.raises(ValueError):
        duration_us(written)


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("4 GiB", 4 * 1024**3),
        ("512M", 512 * 1024**2),
        ("500MB", 500 * 1000**2),
        ("1.5k", 1536),
        ("100 B", 100),
        (4096, 4096),
        ("1e9", 10**9),
        ("2TiB", 2 * 1024**4),
    ],
)
def test_sizes_are_read_as_people_write_them(written: str | int, size: int) -> None:
    assert size_bytes(written) == size


@pytest.mark.parametrize("written", ["", "big", "4 QiB", "-1 GiB", "GiB", "inf", "50 Mb", "4Gb"])
def test_what_is_no_size_is_refused(written: str) -> None:
    with pytest.raises(ValueError):
        size_bytes(written)


def test_money_keeps_the_unit_its_user_names() -> None:
    assert money("20 USD") == ("USD", 20_000_000)
    assert money("1.5kWh") == ("kWh", 1_500_000)


def test_an_exponent_is_no_part_of_the_unit() -> None:
    assert money("1e3USD") == money("1E+3 USD") == ("USD", 1_000_000_000)
    assert money("2 eUSD") == ("eUSD", 2_000_000)
    for written in ("1e3", "1 e3USD", "1e400 USD", "1e999999999 USD"):
        with pytest.raises(ValueError, match=r"1 ?e"):
            money(written)


@pytest.mark.parametrize("written", ["1e999999999", "1e999999999 B", "-1e999999999"])
def test_what_is_beyond_all_numbers_is_refused(written: str) -> None:
    for read in (duration_us, size_bytes, money):
        with pytest.raises(ValueError, match="1e999999999"):
            read(written)


def test_money_without_a_unit_is_not_guessed() -> None:
    with pytest.raises(ValueError, match="'20 USD'"):
        money(20)


def test_a_price_is_for_a_time_and_never_rounded() -> None:
    assert price("0.10 USD/h") == ("USD", 100_000, 3600 * SECOND)
    assert price("1 SU/s") == ("SU", 1_000_000, SECOND)
    assert price("10 USD/week") == ("USD", 10_000_000, 7 * 86_400 * SECOND)
    assert price("0.0000007 USD/s") == ("USD", 7, 10 * SECOND)
    with pytest.raises(ValueError, match="more digits than can be counted"):
        price(f"0.{'0' * 20}1 USD/h")
    with pytest.raises(ValueError, match=r"0\.10 USD/h"):
        price("0.10 USD")


def test_quantities_are_shown_shortly() -> None:
    assert show_duration(5_400_000_000) == "1h30m"
    assert show_duration(1_250_000) == "1.25s"
    assert show_size(4 * 1024**3) == "4 GiB"
    assert show_size(1536) == "1.5 KiB"
    assert show_money("USD", 100_000) == "0.10 USD"
    assert show_money("USD", 20_000_000) == "20 USD"


@given(st.integers(0, 10**15))
def test_a_duration_shown_is_read_back_exactly(us: int) -> None:
    assert duration_us(show_duration(us)) == us


@given(st.integers(0, 10**15), st.sampled_from(["USD", "kWh", "SU"]))
def test_money_shown_is_read_back_exactly(micros: int, unit: str) -> None:
    assert money(show_money(unit, micros)) == (unit, micros)


@given(st.decimals(0, 10**6, places=9), st.sampled_from(["s", "m", "h", "d", "w"]))
def test_a_price_shown_is_read_back_exactly(amount: Decimal, per: str) -> None:
    written = price(f"{amount:f} USD/{per}")
    assert price(show_price(written)) == written


@given(st.integers(0, 2**60))
def test_a_size_shown_is_read_back_to_four_digits(size: int) -> None:
    assert abs(size_bytes(show_size(size)) - size) <= size * 0.0005 + 0.5
