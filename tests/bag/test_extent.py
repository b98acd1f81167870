"""A format suits every value, and no task is longer than a system takes: known before the start."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.bag.bag import Bag
from tailrace.bag.extent import MOST_COMMAND, _longest
from tailrace.bag.rows import Rows, encode_chunk
from tailrace.bag.spec import BagSpec
from tailrace.bag.values import Listed

from .conftest import Load, Refuse

CSV = 'csv = "cases.csv"\n'
LONG = "x" * 100_000


def test_the_row_is_named_that_a_format_does_not_suit(refuse: Refuse) -> None:
    found = refuse('command = "echo {a:c}"\n' + CSV, {"cases.csv": "a\n65\n2000000\n66\n"})
    assert found.line == 1 and "'2000000' in row 2" in found.message
    found = refuse('command = "echo {a:d}"\n' + CSV, {"cases.csv": "a\n1\n2\n1.5\n"})
    assert "'1.5' in row 3" in found.message


def test_a_column_of_texts_may_have_a_format_for_numbers_if_each_is_one(load: Load) -> None:
    bag = load('command = "echo {a:d}"\n' + CSV, {"cases.csv": "a\n007\n008\n"})
    assert bag.task(1).shell == "echo 8"


@pytest.mark.parametrize("spec", [">1001", ".1001f", "0<2000", "09999d", "1>٢٠٠٠"])
def test_a_format_of_too_many_places_is_refused_where_it_stands(refuse: Refuse, spec: str) -> None:
    found = refuse(f'name = "b"\ncommand = "echo {{a:{spec}}}"\n[parameters]\na = [1]\n')
    assert found.line == 2 and "more than 1,000 places" in found.message
    found = refuse(f'command = "echo {{a}}"\n[parameters]\na = [1]\n[env]\nA = "{{a:{spec}}}"\n')
    assert found.line == 5


@pytest.mark.parametrize("spec", [">1000", ".1000f", "9>10", "0010d"])
def test_a_format_of_a_thousand_places_is_not(load: Load, spec: str) -> None:
    assert load(f'command = "echo {{a:{spec}}}"\n[parameters]\na = [1]\n').task(0).shell


def test_the_task_is_named_that_would_be_too_long_and_its_size_and_what_to_do(
    refuse: Refuse,
) -> None:
    sweep = f'[parameters]\nb = [1, 2]\na = ["x", "{LONG}"]\n'
    found = refuse(f'command = "echo {{b}} {"{a}" * 60}"\n{sweep}')
    assert found.line == 1
    assert found.message.startswith("task 1: its command and environment would have 6,100,")
    assert "in a file" in found.remedy


def test_a_row_that_would_be_too_long_is_named(refuse: Refuse) -> None:
    table = "a\n" + "x\n" * 1200 + f"{LONG}\n" + "x\n"
    found = refuse(f'command = "echo {"{a}" * 60}"\n' + CSV, {"cases.csv": table})
    assert found.message.startswith("task 1200:")


texts = st.text("ab", max_size=6)


@given(data=st.data())
def test_the_longest_task_is_found_without_making_one(data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.lists(texts, min_size=2, max_size=2), min_size=1, max_size=5))
    zipped = data.draw(st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
    axes = (
        (Rows(("a", "b"), ("text", "text"), len(rows)),),
        tuple(
            Listed(name, values)
            for name, values in zip("cd", zip(*zipped, strict=True), strict=True)
        ),
        (Listed("e", tuple(data.draw(st.lists(texts, min_size=1, max_size=3)))),),
    )
    fields = data.draw(st.lists(st.sampled_from(["{a}", "{b}", "{c}", "{d}", "{e}", "x"])))
    spec = BagSpec("b", "/tmp", command=("echo", *fields), axes=axes)
    bag = Bag(spec, [encode_chunk(rows)].__getitem__)
    found = _longest(bag.sweep, bag.extent.command, most=0)

    def size(index: int) -> int:
        task = bag.task(index)
        return sum(map(len, task.argv or ())) + sum(map(len, bag.raw(index).values()))

    assert found.size == max(map(size, range(bag.count))) == size(found.at)
    assert found.size < MOST_COMMAND
