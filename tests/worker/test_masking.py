"""Values of secrets are masked in all that a task tells, whole or cut in two."""

from __future__ import annotations

import tempfile

from hypothesis import given
from hypothesis import strategies as st

from tailrace.worker.masking import Mask
from tailrace.worker.ring import read_between

VALUE = "s3cr3t-value-of-some-length"


def test_numbers_names_and_lists_are_masked_and_all_else_stays() -> None:
    told = {"attempt": 12345678, "value": {"a": 12345678, "12345678": [True, "x12345678"]},
            "stdout": "12345678\n", "outputs": [], "run_us": 12345678}  # fmt: skip
    assert Mask({"PIN": "12345678"}).apply(told) == {
        "attempt": 12345678, "value": {"a": "***", "***": [True, "x***"]},
        "stdout": "***\n", "outputs": [], "run_us": 12345678,
    }  # fmt: skip


def test_the_longer_of_two_goes_first() -> None:
    assert Mask({"A": "abcd", "B": "abcdefgh"}).text("abcdefgh abcd abcdef") == "*** *** ***ef"


@given(before=st.integers(0, 120), keep=st.integers(20, 200))
def test_no_part_of_a_value_is_left_where_the_middle_was_left_out(before: int, keep: int) -> None:
    with tempfile.TemporaryFile() as file:
        printed = b"." * before + VALUE.encode() + b"." * 150
        file.write(printed)
        file.flush()
        text = read_between(file.fileno(), 0, len(printed), keep, 1 << 20).text
    masked = Mask({"KEY": VALUE}).text(text)
    assert all(VALUE[at : at + 4] not in masked for at in range(len(VALUE) - 3))
