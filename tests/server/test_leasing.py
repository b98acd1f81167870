"""The tables against what a driver lists."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, cast

import pytest
from msgspec.structs import replace

from tailrace.drivers.driver import Driver
from tailrace.scheduler.decisions import Renew
from tailrace.scheduler.events import LeaseState
from tailrace.scheduler.rows import LeaseRow
from tailrace.server.pools.leasing import Act, Difference, reconcile
from tailrace.server.pools.machine_room import MachineRoom


def _row(state: LeaseState) -> LeaseRow:
    return LeaseRow(7, "local", 1, state, 0, 1_000_000)


@pytest.mark.parametrize(
    ("state", "there", "act"),
    [
        (LeaseState.WANTED, False, Act.START),
        (LeaseState.WANTED, True, Act.RENEW),
        (LeaseState.STARTING, False, Act.GONE),
        (LeaseState.STARTING, True, Act.RENEW),
        (LeaseState.UP, False, Act.GONE),
        (LeaseState.UP, True, Act.RENEW),
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


class Inline(Executor):
    """A thread that has done its job when it is asked to."""

    def submit(self, what: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(what(*args, **named))
        return future


class Lender:
    """A driver with one machine, that does not hear its first call."""

    def __init__(self) -> None:
        self.ends_us, self.deaf = 1_000_000, True

    def renew(self, lease: int, ends_us: int) -> None:
        if self.deaf:
            self.deaf = False
            raise OSError("no answer")
        self.ends_us = ends_us

    def list(self) -> list[int]:
        return [7]


def test_a_renewal_that_did_not_arrive_is_made_up_for() -> None:
    room, lender = MachineRoom(lambda event: None, Inline), Lender()
    room.drivers["local"] = cast(Driver, lender)
    room.call(Renew(7, 2_000_000), "local")
    assert lender.ends_us == 1_000_000
    room.reconcile([replace(_row(LeaseState.UP), ends_us=2_000_000)])
    assert lender.ends_us == 2_000_000
