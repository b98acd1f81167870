"""A user's package may derive its own strategies, also where those of the house are compiled."""

from __future__ import annotations

import pytest

from tailrace.bag.terms import Strategy
from tailrace.errors import BadInput
from tailrace.scheduler import strategies
from tailrace.scheduler.replication.ntdmr import NTDMr
from tailrace.scheduler.replication.replication import Replication
from tailrace.scheduler.replication.wqr import WorkQueueWithReplication
from tailrace.scheduler.state import Bag


@pytest.mark.parametrize("base", [Replication, NTDMr, WorkQueueWithReplication])
def test_what_is_derived_is_asked_first(base: type[Replication]) -> None:
    class Greedy(base):  # type: ignore[misc, valid-type]
        def wants(self, bag: Bag, reliable: bool) -> bool:
            return reliable

    made = Greedy()
    assert made.wants(None, True)
    assert not made.wants(None, False)
    assert not made.waits(7)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"n": "x"}, "n is 'x', not a whole number"),
        ({"n": 2.5}, "n is 2.5, not a whole number"),
        ({"n": True}, "n is True, not a whole number"),
        ({"t_s": "1m"}, "t_s is '1m', not a number"),
        ({"cancel": 1}, "cancel is 1, not true or false"),
        ({"most": 1}, "ntdmr has no option 'most'"),
    ],
)
def test_options_are_of_the_kind_of_what_holds_unless_they_are_given(
    options: dict[str, object], told: str
) -> None:
    with pytest.raises(BadInput, match=told):
        strategies.replication(Strategy("ntdmr", options))
