"""The studies of ExPERT in small."""

from __future__ import annotations

import math

import numpy as np
import pytest
from studies import expert, expert_frontier, expert_runs, expert_table5
from studies.expert_table5 import TABLE, Experiment
from studies.runs import Runs


def numbered(number: int) -> Experiment:
    return next(one for one in TABLE if one.number == number)


# Table 5


def test_the_readings_of_table_5_give_the_averages_that_are_printed_below_it() -> None:
    assert np.mean([one.share for one in TABLE]) == pytest.approx(0.894, abs=0.0005)
    assert np.mean([one.tail for one in TABLE]) == pytest.approx(9574, abs=1)
    assert np.mean([one.cents for one in TABLE]) == pytest.approx(1.78, abs=0.005)
    assert np.mean([abs(one.offline.tail) for one in TABLE]) == pytest.approx(10, abs=0.5)
    assert np.mean([abs(one.online.tail) for one in TABLE]) == pytest.approx(20, abs=1)


@pytest.mark.parametrize("one", TABLE, ids=lambda one: str(one.number))
def test_a_law_has_what_the_paper_tells_of_run_times(one: Experiment) -> None:
    load = one.load
    values = expert_table5.truncated(load.least, load.most, load.mean)
    assert values.mean() == pytest.approx(load.mean, rel=0.001)
    assert load.least < values[0] < values[-1] < load.most
    assert (np.diff(values) > 0).all()


def test_thirteen_runs_in_small() -> None:
    """One that is met, one that is missed, and the one that has no strategy of NTDMr."""
    found = expert_runs.rows(Runs(2), (numbered(11), numbered(1), numbered(5)))
    assert abs(found[0].off(found[0].offline)[0]) < 10
    assert found[1].needed is not None and found[2].needed is None
    share, then = found[1].needed
    assert share < numbered(1).share
    assert then.sent == pytest.approx(50, abs=1)
    assert abs(then.tail / numbered(1).tail - 1) < 0.2
    assert found[2].scheduler.sent > 41 and not found[2].online
    for one in found[:2]:
        assert one.scheduler.tail == pytest.approx(one.offline.tail, rel=0.35)
        assert all(math.isfinite(each.tail) for each in one.online.values())


def test_runs_that_are_not_met_refute() -> None:
    found = expert_runs.rows(Runs(1), (numbered(11),))
    longer = [one._replace(offline=one.offline._replace(tail=2 * one.offline.tail))
              for one in found]  # fmt: skip
    assert expert_runs.judged(found)[0].holds
    assert not expert_runs.judged(longer)[0].holds


# the frontier


def test_figures_10_and_11_in_small() -> None:
    what = expert.setting(expert.T_UR)
    fixed = {mr: expert_frontier.of_ratio(what, mr, 40) for mr in (0.02, 0.3, 0.5)}
    whole = expert_frontier.of_all(what, 20)
    found = expert_frontier.judged(fixed, whole)
    assert all(claim.holds for claim in found if "0.30 and above" not in claim.what)
    lower = {**fixed, 0.02: fixed[0.5], 0.5: fixed[0.02]}
    assert not any(claim.holds for claim in expert_frontier.judged(lower, whole)[:3])


def test_grids_in_small() -> None:
    found = expert_frontier.search(Runs(1), 1, ("coarse", "paper"), (1, 10))
    assert [one.looked_at for one in found] == [40, 40, 420, 420]
    for one in found:
        assert all(true <= worst for _, true, worst in one.of.values())
    few, many = found[2:]
    assert many.of["product"][1] <= 1.1 * few.of["product"][1]
    assert many.of["cost"][0] == pytest.approx(many.of["cost"][1], rel=0.1)
