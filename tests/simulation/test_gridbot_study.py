"""The study of GridBot in small: its experiments run, and their order is that of the paper."""

from __future__ import annotations

from math import ceil
from pathlib import Path

import pytest
from studies import gridbot
from studies.gridbot import grids, ranks, replication, rivals, shortcut, split, throughput
from studies.gridbot.size import sized
from studies.gridbot.tally import Told, tell
from studies.runs import Runs
from studies.verdict import Claim
from tests.simulation.test_studies import number, rows

from tailrace.simulation.running import Running

PART = 0.1
ONE = Runs(1)


def held(claims: list[Claim]) -> list[bool]:
    return [claim.holds for claim in claims]


def test_bags_run_by_rank() -> None:
    told = ranks.run(ONE, PART)
    assert len(told.bags) == 50
    assert held(ranks.claims(told))[0]
    assert ranks.curve_min(told, 1000) == sorted(ranks.curve_min(told, 1000))


def test_who_replicates_is_done_sooner_and_who_does_not_has_no_replicas() -> None:
    found = replication.run(ONE, PART)
    for way in replication.MODES:
        for row in (replication.OFF_PERMISSIVE, replication.OFF_RESTRICTIVE):
            (told,) = found[way, row]
            assert told.only.replicas == told.only.wasted == 0
        (told,) = found[way, replication.BOTH_PERMISSIVE]
        assert told.only.replicas >= told.only.wasted > 0
        assert told.took_s < found[way, replication.OFF_PERMISSIVE][0].took_s
    assert [row[0] for row in rows(replication.rows(found), "replication / matching")] == [
        row.name for row in replication.ROWS
    ]
    tried = [row[0] for row in rows(replication.tried(found), "tried")]
    assert list(dict.fromkeys(tried)) == list(replication.WAYS)


def test_replicas_that_go_first_are_more_and_the_order_is_the_schedulers_own_again() -> None:
    found = replication.run(ONE, PART)
    first, ours = (
        found[way, replication.BOTH_PERMISSIVE][0].only
        for way in (replication.FIRST, replication.OURS)
    )
    assert first.replicas > ours.replicas
    changes = [*sized(replication.FILE, PART), *replication._changes(replication.BOTH_PERMISSIVE)]
    again = tell(Runs().scenario(replication.FILE, changes), 0)
    assert again.only.replicas == ours.replicas


def test_an_order_holds_only_beyond_the_intervals() -> None:
    apart, near = Running(), Running()
    for value in (1.0, 2.0, 3.0):
        apart.add(value + 9)
        near.add(value + 1)
    wide = Running()
    for value in (1.0, 2.0, 3.0):
        wide.add(value)
    assert replication.less(wide, apart)
    assert not replication.less(wide, near) and not replication.less(apart, wide)


def test_the_grids_are_measured() -> None:
    found = grids.run(ONE)
    assert 0 < found[grids.GRIDS].preempted_percent < 100
    ratios = found[grids.VOLUNTEERS].ratios
    assert len(ratios) == 2000 and min(ratios) > 0 and max(ratios) <= 1
    assert len(grids.claims(found)) == 2


def test_plain_boinc_and_plain_condor_take_longer() -> None:
    found = rivals.run(ONE, PART)
    (naive,), (by_policy,) = found.boinc[rivals.NAIVE], found.boinc[rivals.POLICIES]
    assert naive.took_s > 3 * by_policy.took_s
    (rounds,), (pulled,) = found.condor[rivals.MATCHING], found.condor[rivals.POLICIES]
    assert rounds.took_s > pulled.took_s


def test_an_outage_ends_with_a_spike() -> None:
    assert held(throughput.claims(throughput.run(ONE, PART)))[1:] == [True, True]


def test_five_times_as_many_jobs_are_five_times_as_many_requests() -> None:
    found = split.run(ONE, PART)
    assert found[split.FIVE].only.tasks == 5 * found[split.ONE].only.tasks
    assert held(split.claims(found)) == [True, True]


def test_without_the_shortcut_each_job_is_asked_about() -> None:
    found = shortcut.run(ONE, PART)
    for where in (shortcut.GRIDS, shortcut.ALL):
        assert found[where, shortcut.BAG].requests == found[where, shortcut.JOB].requests
        assert found[where, shortcut.BAG].asked < found[where, shortcut.JOB].asked


def test_the_whole_page_in_small(tmp_path: Path) -> None:
    """Every table is there, and the picture; what it finds is too little to judge by."""
    page = gridbot.study(ONE, tmp_path, PART)
    assert (tmp_path / "gridbot.svg").read_text().startswith("<?xml")
    assert [row[0] for row in rows(page, "bag | replication")] == ["R1", "R2", "R3", "R4"]
    assert [row[0] for row in rows(page, "bag | Concurrency")] == ["B5", "B4", "B3", "B2", "B1"]
    assert number(rows(page, "by | paper, h")[1][1]) == 280
    assert len(rows(page, "claim")) == len(rows(gridbot_page(), "claim"))


def gridbot_page() -> str:
    return (Path(gridbot.__file__).parents[2] / "docs/studies/gridbot.md").read_text()


@pytest.mark.parametrize("part", [1, 0.5])
def test_a_scenario_of_another_size_has_fewer_of_all(part: float) -> None:
    whole = Runs().scenario(replication.FILE, ())
    half = Runs().scenario(replication.FILE, sized(replication.FILE, part))
    counts = [ceil(part * pool.count) for pool in whole.pools]
    assert [pool.count for pool in half.pools] == counts
    assert half.bags[0].terms.count == part * whole.bags[0].terms.count
    assert half.bags[0].terms.tail_below == part * (whole.bags[0].terms.tail_below or 0)


def test_all_that_was_sent_is_told_of() -> None:
    """Nothing is wasted but what ran beside another: one attempt at most for each replica."""
    told: Told = tell(Runs().scenario(rivals.CONDOR, sized(rivals.CONDOR, 0.05)), 0)
    assert told.only.tasks == 150 and sum(told.results.values()) >= 150
    assert sum(told.sent) >= 150 + told.only.replicas
    assert told.only.wasted <= told.only.replicas
