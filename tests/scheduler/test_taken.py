"""Tasks whose results came from an earlier bag are never sent, whatever the order, and after a
restart neither."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.scheduler.bits import Bits

from .stage import Stage

TAKEN = (0, 1, 4, 5, 6, 9)
ORDERS = {
    "listed": {},
    "shuffled": {"order_seed": 3},
    "by a column": {"permutation": bytes(array("I", range(9, -1, -1)))},
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("restarts", [False, True])
def test_only_what_has_no_result_is_sent(order: str, restarts: bool) -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(10, taken=TAKEN, **ORDERS[order])  # type: ignore[arg-type]
    sent = []
    for _ in range(4):
        (one,) = stage.offer("a")
        sent.append(one.index)
        stage.succeed(one)
        if restarts:
            stage.restart()
            stage.back("a")
    assert sorted(sent) == [2, 3, 7, 8] and stage.phase(bag) == "finished"
    assert stage.tables.bags[bag].taken == 6


def test_a_bag_with_all_its_results_is_finished_at_once() -> None:
    stage = Stage()
    bag = stage.submit(3, taken=range(3))
    assert stage.phase(bag) == "finished"


def test_one_in_trouble_is_not_taken_for_one_never_sent() -> None:
    stage = Stage()
    stage.hosts("a", "b")
    stage.submit(4, taken=[1], trial_us=0)
    (first,) = stage.offer("a")
    stage.fail(first)
    stage.restart()
    stage.back("a", "b")
    indices = [one.index for name in ("a", "b") for one in stage.offer(name)]
    assert sorted(indices) == [0, 2] and first.index == 0


@given(st.sets(st.integers(0, 200)), st.integers(0, 200))
def test_the_next_that_is_not_set(given: set[int], first: int) -> None:
    bits = Bits(201)
    for index in given:
        bits.add(index)
    wanted = next((index for index in range(first, 201) if index not in given), 201)
    assert bits.next_clear(first) == wanted


def test_many_set_bits_are_leapt_over() -> None:
    count = 10_000_000
    bits = Bits(count, b"\xff" * (count // 8))
    bits.remove(count - 3)
    assert bits.next_clear(5) == count - 3
