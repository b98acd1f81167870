"""The parameters that a policy looks at, as the scheduler gets them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.bag.bag import Bag
from tailrace.bag.columns import MOST_GROUPS, columns
from tailrace.bag.spec import BagSpec
from tailrace.bag.sweep import Axis
from tailrace.bag.values import Listed, Range
from tailrace.errors import BadInput

from .conftest import Load


def swept(*axes: Axis, blocks: tuple[tuple[Axis, ...], ...] = ()) -> Bag:
    return Bag(BagSpec("sweep", "/", command="true", axes=axes, blocks=blocks), lambda k: b"")


def listed(name: str, *values: str | int | float | bool) -> Axis:
    return (Listed(name, values),)


VALUES = st.lists(st.integers(0, 3), min_size=1, max_size=4)


@given(x=VALUES, y=VALUES, z=VALUES, more=VALUES)
def test_each_task_has_the_values_that_it_has_in_the_bag(
    x: list[int], y: list[int], z: list[int], more: list[int]
) -> None:
    axes = listed("x", *x), listed("y", *y), listed("z", *z)
    bag = swept(*axes, blocks=((listed("x", *more), *axes[1:]),))
    found = columns(bag, ("z", "x"))
    assert len(found.groups) == bag.count
    for task in range(bag.count):
        values = bag.params(task)
        assert found.values(task) == (values["z"], values["x"])
    assert len(set(found.rows)) == len(found.rows)


def test_a_large_sweep_costs_a_byte_for_each_task() -> None:
    seeds: Axis = (Range("seed", "0", "1", 500_000),)
    found = columns(swept(listed("size", "small", "large"), seeds), ("size",))
    assert found.rows == (("small",), ("large",))
    assert found.groups == bytes(500_000) + b"\1" * 500_000


def test_columns_of_a_file_and_zipped_ones_are_typed(load: Load) -> None:
    text = """
command = "echo {x} {name} {y} {z}"
csv = "cases.csv"
zip = [["y", "z"]]
[parameters]
y = [1, 2]
z = [true, false]
"""
    bag = load(text, {"cases.csv": "x,name\n1,a\n2.5,b\n1,a\n"})
    found = columns(bag, ("x", "z"))
    assert [found.values(task) for task in range(bag.count)] == [
        (1.0, True), (1.0, False), (2.5, True), (2.5, False), (1.0, True), (1.0, False),
    ]  # fmt: skip
    assert all(type(x) is float for x, _ in found.rows)


def test_too_many_groups_and_mixed_types_are_refused_with_a_remedy() -> None:
    most: Axis = (Range("x", "0", "1", MOST_GROUPS),)
    assert len(columns(swept(most), ("x",)).rows) == MOST_GROUPS
    for bag, names in (
        (swept((Range("x", "0", "1", 10_000_000),)), ("x",)),
        (swept(most, listed("y", 1, 2)), ("x", "y")),
        (swept(most, blocks=((listed("x", -1),),)), ("x",)),
    ):
        with pytest.raises(BadInput, match="more than 256 different") as fault:
            columns(bag, names)
        assert "a coarser parameter" in str(fault.value)
    with pytest.raises(BadInput, match=r"Params\.x has values of different types"):
        columns(swept(listed("x", 1, "a")), ("x",))
