"""What a shell line writes by redirection, and leaves."""

from __future__ import annotations

import pytest

from tailrace.bag.written import written


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("sort a > o/b.txt", ["o/b.txt"]),
        ("sort a >b 2>&1", ["b"]),
        ("sort a >> 'b c' 2> log", ["b c", "log"]),
        ("awk '$1 > 5' a", []),
        ("sort a > t; mv t b", []),
        ("cd sub && sort a > b", []),
        ("sort a > $OUT", []),
        ("echo it's > b", []),
    ],
)
def test_only_what_surely_stays_is_looked_for(line: str, names: list[str]) -> None:
    assert written(line) == names
