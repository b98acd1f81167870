"""Attempts that never come back, of which there may be more or fewer as time goes by."""

from __future__ import annotations

import pytest

from tailrace.errors import BadInput

from .scenarios import done_s, run, scenario

POOL = """
[pools.one]
machines = 1
returns = {returns}

[bags.x]
tasks = 6
length = "10s"
timeout = "20s"
retries.expired = 50
"""


def test_what_share_comes_back_may_change_while_it_runs() -> None:
    """Nothing that is sent from 30 s to 75 s does: at 30, 50 and 70 s."""
    returns = '{ from = ["0s", "30s", "75s"], share = [1, 0, 1] }'
    done = sorted(done_s(run(POOL.format(returns=returns))))
    assert done == pytest.approx([10, 20, 30, 100, 110, 120], abs=0.001)


def test_a_share_that_changes_to_itself_is_one_that_stays() -> None:
    """The chance of each attempt is the same, whenever it is sent."""
    changing = '{ from = ["0s", "30s"], share = [0.5, 0.5] }'
    one, other = (done_s(run(POOL.format(returns=said), seed=4)) for said in (changing, "0.5"))
    assert one == other and max(one) > 60


@pytest.mark.parametrize("times", ['["0s", "0s"]', '["5s", "9s"]', '["0s"]', "[]"])
def test_times_of_a_share_rise_from_0_and_are_as_many(times: str) -> None:
    with pytest.raises(BadInput, match="times and 2 shares"):
        scenario(POOL.format(returns=f"{{ from = {times}, share = [0.5, 1] }}"))
