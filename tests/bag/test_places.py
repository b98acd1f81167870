from __future__ import annotations

import pytest

from tailrace.bag.places import Path, Places

TEXT = '''\
# a comment with name = "x" in it
name = "x"  # [not] = {a table}
command = """
seed = 1
[limits]
"""
list = [
  1,  # one
  "]",
  [2,
   3],
]
[parameters]
alpha.beta = 1
"quoted key" = {from = 1,
  to = 2}

[[many]]
a = 1
[[many]]
a = 2
[limits]  # the last
'bare' = \'\'\'x'y\'\'\'
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("name",), 2),
        (("command",), 3),
        (("list",), 7),
        (("list", 0), 8),
        (("list", 1), 9),
        (("list", 2, 1), 11),
        (("parameters",), 13),
        (("parameters", "alpha", "beta"), 14),
        (("parameters", "quoted key", "from"), 15),
        (("parameters", "quoted key", "to"), 16),
        (("many", 1, "a"), 21),
        (("limits",), 22),
        (("limits", "bare"), 23),
        (("limits", "bare", "deeper"), 23),
        (("unknown",), None),
    ],
)
def test_each_key_has_its_line(path: Path, line: int | None) -> None:
    assert Places(TEXT).line(path) == line


def test_windows_line_ends_count_once() -> None:
    assert Places(TEXT.replace("\n", "\r\n")).line(("limits",)) == 22
