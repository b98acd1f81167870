"""When a run that gets nowhere is given up, though machines come and go without end."""

from __future__ import annotations

import pytest
from tests.simulation.scenarios import scenario

from tailrace.simulation.patience import IDLE, Patience
from tailrace.simulation.record import Record
from tailrace.simulation.world import World

DAY_US = 86_400_000_000
SAID = "nothing was sent in 60 days, and nothing is out that would come back"


def waiting() -> Record:
    """A task that has come, and was never sent."""
    record = Record(1)
    record.arrived[0] = 0
    return record


@pytest.mark.parametrize(("days", "said"), [(59, ""), (60, SAID)])
def test_a_run_in_which_nothing_is_sent_or_out_is_given_up_after_60_days(
    days: int, said: str
) -> None:
    patience = Patience([waiting()], saves=False)
    looks = [patience.lost(days * DAY_US * n // IDLE, True) for n in range(IDLE + 1)]
    assert looks == [""] * IDLE + [said]


def test_it_is_not_as_long_as_few_things_happen() -> None:
    patience = Patience([waiting()], saves=False)
    assert not any(patience.lost(60 * DAY_US * n, True) for n in range(IDLE - 1))


@pytest.mark.parametrize("hope", ["it was sent", "it is out", "it is yet to come"])
def test_what_may_still_end_is_waited_for(hope: str) -> None:
    record = waiting() if hope != "it is yet to come" else Record(1)
    patience = Patience([record], saves=True)
    for n in range(3 * IDLE):
        if hope == "it was sent":
            record.send(0, n)
        assert not patience.lost(100 * DAY_US * n, hope != "it is out")


NOBODY = """
[pools.grid]
machines = 1
up = 600
down = 60

[bags.b]
tasks = 1
length = 5
hosts = "nobody"
"""


def test_a_machine_that_comes_and_goes_for_nobody_is_watched_for_months_and_not_for_years() -> None:
    world = World(scenario(NOBODY), 1)
    world.run()
    assert world.given_up == SAID
    assert 60 * DAY_US < world.engine.now < 365 * DAY_US
