from __future__ import annotations

from array import array
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.bag.order import Given, Listed, Order, Shuffled, order_of


def all_of(order: Order) -> list[int]:
    return [order.at(position) for position in range(len(order))]


@given(st.integers(1, 3000), st.integers(-(2**63), 2**63 - 1))
def test_a_shuffled_order_names_each_task_once(count: int, seed: int) -> None:
    assert sorted(all_of(Shuffled(count, seed))) == list(range(count))


@given(st.integers(10, 10**9), st.integers(0, 2**62))
def test_a_shuffled_order_of_any_size_stays_inside_it(count: int, seed: int) -> None:
    order = Shuffled(count, seed)
    places = [order.at(p) for p in range(10)] + [order.at(count - 1 - p) for p in range(10)]
    assert all(0 <= index < count for index in places)
    assert len(set(places)) == min(count, 20)


def test_the_same_seed_gives_the_same_order_and_another_seed_another() -> None:
    assert all_of(Shuffled(100, 7)) == all_of(Shuffled(100, 7))
    assert all_of(Shuffled(100, 7)) != all_of(Shuffled(100, 8))


def test_a_shuffled_order_is_well_mixed() -> None:
    """Each task falls into each tenth of the order about as often as into any other."""
    count, tenths = 1000, [[0] * 10 for _ in range(10)]
    for seed in range(100):
        for position, index in enumerate(all_of(Shuffled(count, seed))):
            tenths[position // 100][index // 100] += 1
    cells = [cell for row in tenths for cell in row]
    assert sum((cell - 1000) ** 2 / 1000 for cell in cells) < 150  # chi-square, 81 degrees


def test_neighbours_do_not_stay_neighbours() -> None:
    order = all_of(Shuffled(10_000, 3))
    close = sum(abs(a - b) < 10 for a, b in pairwise(order))
    assert close < 60  # about 20 by chance


def test_beyond_the_end_there_is_no_task() -> None:
    with pytest.raises(IndexError):
        Shuffled(5, 1).at(5)


def test_the_order_follows_from_the_terms() -> None:
    assert isinstance(order_of(3, None, None), Listed)
    assert isinstance(order_of(3, 0, None), Shuffled)
    assert isinstance(order_of(3, None, array("I", [2, 0, 1])), Given)
    assert all_of(order_of(3, None, array("I", [2, 0, 1]))) == [2, 0, 1]
    assert all_of(order_of(3, None, None)) == [0, 1, 2]
