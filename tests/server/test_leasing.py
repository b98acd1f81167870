"""The tables against what a driver lists."""

from __future__ import annotations

import pytest

from tailrace.scheduler.events import LeaseState
from tailrace.scheduler.rows import LeaseRow
from tailrace.server.leasing import Act, Difference, reconcile


def _row(state: LeaseState) -> LeaseRow:
    return LeaseRow(7, "local", 1, state, 0, 1_000_000)


@pytest.mark.parametrize(
    ("state", "there", "act"),
    [
        (LeaseState.WANTED, False, Act.START),
        (LeaseState.WANTED, True, None),
        (LeaseState.STARTING, False, Act.GONE),
        (LeaseState.STARTING, True, None),
        (LeaseState.UP, False, Act.GONE),
        (LeaseState.UP, True, None),
        (LeaseState.ENDING, False, Act.GONE),
        (LeaseState.ENDING, True, Act.STOP),
        (LeaseState.GONE, False, None),
        (LeaseState.GONE, True, Act.STOP),
    ],
)
def test_each_difference_has_its_act(state: LeaseState, there: bool, act: Act | None) -> None:
    found = reconcile([_row(state)], [7] if there else [])
    assert found == ([] if act is None else [Difference(act, 7)])


def test_a_machine_nobody_wrote_down_is_stopped() -> None:
    assert reconcile([], [3]) == [Difference(Act.STOP, 3)]
