"""The studies of ExPERT in small."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from studies import (
    data,
    expert,
    expert_causes,
    expert_frontier,
    expert_losers,
    expert_online,
    expert_runs,
    expert_spot,
    expert_table5,
)
from studies.expert_table5 import TABLE, Experiment
from studies.runs import Runs
from studies.verdict import Claim

from tailrace.planning.frontier import Frontier


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


# fixed strategies


@cache
def fixed() -> tuple[dict[float, expert.By], dict[float, dict[float, Frontier]]]:
    """Two runs of each; with the slower reliable machines those that are judged."""
    same, slower = expert.T_R
    found = {same: {mr: expert.measured(Runs(2), mr, same) for mr in expert.RATIOS},
             slower: {0.1: expert.measured(Runs(2), 0.1, slower)}}  # fmt: skip
    return found, {same: {mr: expert.front_of(mr, same) for mr in expert.RATIOS}}


def claim(claims: list[Claim], words: str) -> Claim:
    return next(one for one in claims if words in one.what)


def test_what_is_recommended_is_best_in_tail_times_cost_with_every_bound_of_m_r() -> None:
    found, fronts = fixed()
    claims = expert.judged(found, fronts)
    assert claim(claims, "tail × cost is the least").holds
    assert claim(claims, "AR: about 22 cent").holds
    assert claim(claims, "with M_r 0.1 it dominates").holds
    same = expert.T_R[0]
    for mr in expert.RATIOS:
        worse = {**found[same][mr], expert.OURS: found[same][mr]["TRR"]}
        changed = {**found, same: {**found[same], mr: worse}}
        assert not claim(expert.judged(changed, fronts), "tail × cost is the least").holds


def test_strategies_are_compared_by_their_tail_not_by_the_whole_makespan() -> None:
    one = fixed()[0][expert.T_R[0]][0.1]["AUR"]
    assert one.tail_s.mean < one.makespan_s.mean
    assert one.product == pytest.approx(one.tail_s.mean * one.cents.mean)


def test_the_fixed_strategies_are_shown_with_slower_reliable_machines_too() -> None:
    same, slower = (expert.rows({mr: fixed()[0][t_r][0.1] for mr in expert.RATIOS})
                    for t_r in expert.T_R)  # fmt: skip
    (quick,), (slow,) = ([row for row in some if row[0] == "AR"] for some in (same, slower))
    assert quick[2] == "61980" and slow[2] == "69900"


# losers


def test_ending_losers_in_small() -> None:
    found = expert_losers.compared(Runs(2), 200)
    assert all(claim.holds for claim in expert_losers.judged(found))
    turned = [one._replace(model=one.model[::-1]) for one in found]
    dearer, longer, _, shortens, _ = expert_losers.judged(turned)
    assert not any(claim.holds for claim in (dearer, longer, shortens))


# forecasts


def test_four_causes_in_small() -> None:
    """Each claim that a cause has an effect is refuted by runs of chance alone."""
    found = expert_causes.off(Runs(4))
    claims = expert_causes.judged(found)
    for words in ("chance alone", "few tasks", "failures are told", "told of failures"):
        assert claim(claims, words).holds
    chance = found[expert_causes.CHANCE]
    still = expert_causes.judged(dict.fromkeys(found, chance))
    for words in ("few tasks", "later tasks", "failures are told it", "another size"):
        assert not claim(still, words).holds
    parts = expert_causes.shares(found)
    assert np.sum(list(parts.values()), axis=0) == pytest.approx([1, 1])
    assert parts[expert_causes.TOLD][0] > 0.3


def test_online_and_offline_in_small() -> None:
    found = expert_online.rows(Runs(2), ("stays", "steps up", "steps down"))
    claims = expert_online.judged(found)
    for words in ("γ(t') as it is", "by equation 2", "by likeliest", "is nearer than equation 2"):
        assert claim(claims, words).holds
    turned = [one._replace(runs=[run._replace(online=run.offline, offline=run.online)
                                 for run in one.runs]) for one in found]  # fmt: skip
    assert not claim(expert_online.judged(turned), "by equation 2").holds
    for one in found:
        share = expert_online.CHANGES[one.name].share
        assert one.next("measured") == pytest.approx(np.mean(share), abs=0.2)


# real lives


@pytest.fixture(scope="module")
def spot() -> list[expert_spot.Row]:
    place = data.folder()
    if place is None:
        pytest.skip("TAILRACE_DATA does not name the folder of real traces")
    name = "AWS p3, spot"
    return expert_spot.rows(Runs(5), {name: expert_spot.laws(place)[name]})


def test_planned_tails_on_spot_machines_are_shorter_and_last_as_foretold(
    spot: list[expert_spot.Row],
) -> None:
    claims = expert_spot.judged(spot)
    shorter = ("a planned tail is shorter than", "so is its time")
    for words in (*shorter, "where attempts differ, a tail takes"):
        assert claim(claims, words).holds
    swapped = [one._replace(runs={expert_spot.PLANNED: one.runs[expert_spot.NONE],
                                  expert_spot.NONE: one.runs[expert_spot.PLANNED]})
               for one in spot]  # fmt: skip
    for words in shorter:
        assert not claim(expert_spot.judged(swapped), words).holds


def test_a_plan_foretells_too_short_a_tail_where_it_is_tasks_that_are_long(
    spot: list[expert_spot.Row],
) -> None:
    assert not claim(expert_spot.judged(spot), "where tasks differ, a tail takes").holds
    for one in spot:
        if one.differs != expert_spot.ATTEMPTS:
            assert all(plan.took_h > plan.lasts_h[0] for plan in one.plans)


# the frontier


def test_figures_10_and_11_in_small() -> None:
    what = expert.setting(expert.T_UR)
    fixed = {mr: expert_frontier.of_ratio(what, mr, 40) for mr in (0.02, 0.3, 0.5)}
    whole = expert_frontier.of_all(what, 20)
    found = expert_frontier.judged(fixed, whole)
    assert all(claim.holds for claim in found if "0.30 and above" not in claim.what)
    longer = claim(found, "0.30 and above")
    assert not longer.holds and "0.50" in longer.found
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
