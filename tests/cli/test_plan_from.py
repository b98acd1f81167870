"""`tailrace plan … --from BAG`: a bag that has run on pools with their own terms, real ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Answer, ask

POOLS = """
[pools.near]
price = "3.60 USD/h"
unit = "1m"
minimum = "2m"
max = 2
cores = 1
reliable = false
startup = "400ms"

[pools.far]
price = "7.20 USD/h"
unit = "1m"
max = 2
cores = 1
reliable = false
late_results = "ignore"

[pools.cloud]
price = "36 USD/h"
unit = "1h"
max = 1
cores = 1
startup = "2s"
"""
BAG = """
command = "sleep 0.{n}"
pools = ["near", "far", "cloud"]
repeatable = true
unused = "ok"
budget = "99 USD"
replication = { strategy = "ntdmr", n = -1 }

[parameters]
n = [1, 2]
k = { from = 1, to = 30 }
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pooled")
    (folder / "pools.toml").write_text(POOLS)
    (folder / "bag.toml").write_text(BAG)
    ran = ask(folder, "run", "--quiet", "bag.toml")
    assert ran.code == 0, ran.err
    return folder


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder where a bag ran on this machine alone."""
    ran = ask(tmp_path, "run", "--quiet", "--", "sleep", "0.1", ":::", "1", "2", "3", "4", "5", "6")
    assert ran.code == 0, ran.err
    return tmp_path


def frontier(place: Path, *words: str) -> Answer:
    few = ("--tasks", "200", "--unreliable", "4", "--mr-max", "0.25", "--repetitions", "20")
    return ask(place, "plan", "frontier", "--from", "1", *few, *words)


def test_a_bags_own_pools_say_what_is_paid_and_when_it_is_known(place: Path) -> None:
    out = frontier(place).out
    assert "in the terms of" in out and "and cloud" in out
    assert "leases are paid by the minute" in out and "losers are ended" in out
    assert "--mode paper" in out
    paper = frontier(place, "--mode", "paper").out
    assert "in the paper's mode" in paper and "leases are paid" not in paper


def test_the_mode_is_told_to_scripts_and_changes_what_is_paid(place: Path) -> None:
    """A lease is paid by whole minutes, of which a task takes a fraction; a result by its time."""
    terms, paper = (frontier(place, "--mode", mode, "--json").json for mode in ("terms", "paper"))
    assert (terms["mode"], paper["mode"]) == ("terms", "paper")
    cheapest = [one["best"]["cost"]["cost_per_task"] for one in (terms, paper)]
    least = 4 * 60 * 360 / 3600 / 200  # a minute of each of four machines, at the lower price
    assert cheapest[0] > max(cheapest[1], 0.99 * least) and cheapest[1] > 0


def test_a_price_that_is_said_holds_in_the_pools_terms(place: Path) -> None:
    free = frontier(place, "--c-ur", "0", "--c-r", "0", "--json").json
    assert free["mode"] == "terms" and free["best"]["cost"]["cost_per_task"] == 0
    assert "machines are free" in frontier(place, "--c-ur", "0", "--c-r", "0").out


def test_machines_of_ones_own_are_not_free_where_a_price_is_said(own: Path) -> None:
    """A pool without a price has leases of an hour, and they are paid as a whole."""
    words = ("--N", "inf", "--T", "2", "--D", "2", "--unreliable", "4", "--repetitions", "20")
    out = ask(own, "plan", "estimate", "--from", "1", *words, "--c-ur", "1c/h").out
    assert "leases are paid by the hour" in out and "free" not in out
    assert "machines are free" in ask(own, "plan", "estimate", "--from", "1", *words).out


def test_pools_that_are_taken_as_one_are_told_with_the_error_of_that(place: Path) -> None:
    out = frontier(place).out
    assert "2 pools are taken as one. By N=" in out
    assert "near: " in out and "far: " in out and "taken as one they are said to take" in out
    lumped = frontier(place, "--json").json["lumped"]
    assert sum(one["tasks"] for one in lumped["pools"]) == pytest.approx(200, abs=1)
    costs = {one["pool"]: one["cost_per_task"] for one in lumped["pools"]}
    assert set(costs) == {"near", "far"} and all(cost > 0 for cost in costs.values())
    assert -1 < lumped["makespan_error"] < 10 and -1 < lumped["cost_error"] < 10


def test_one_strategy_is_estimated_in_the_same_terms(place: Path) -> None:
    words = ("--N", "inf", "--T", "2", "--D", "2", "--unreliable", "4", "--repetitions", "20")
    assert "in the terms of" in ask(place, "plan", "estimate", "--from", "1", *words).out
    as_paper = ask(place, "plan", "estimate", "--from", "1", *words, "--mode", "paper")
    assert "in the paper's mode" in as_paper.out


def ratios(found: Answer) -> set[float]:
    return {one["Mr"] for one in found.json["strategies"]}


def test_as_many_reliable_hosts_are_looked_at_as_the_pools_lend(place: Path) -> None:
    """One machine of the cloud."""
    few = ("plan", "frontier", "--from", "1", "--tasks", "200", "--repetitions", "2", "--json")
    assert max(ratios(ask(place, *few, "--unreliable", "4"))) == 0.25
    assert max(ratios(ask(place, *few, "--unreliable", "50"))) == 0.02
    less = ask(place, *few, "--unreliable", "4", "--mr-max", "0.2")
    assert max(ratios(less)) == 0.2 and not less.err
    more = ask(place, *few, "--unreliable", "4", "--mr-max", "0.9")
    assert max(ratios(more)) == 0.25
    assert "--mr-max 0.9: the bag's pools lend 1 reliable hosts at most" in more.err


def mean_s(place: Path, *words: str) -> float:
    """Of turnarounds: in the paper's mode what a result of an unreliable host is paid for."""
    sure = ("--N", "inf", "--T", "900", "--D", "900", "--tasks", "2", "--unreliable", "3")
    paid = ("--c-ur", "1", "--reliability", "1", "--repetitions", "9", "--mode", "paper", "--json")
    found: float = ask(place, "plan", "estimate", *words, *sure, *paid).json["cost_per_task"][
        "mean"
    ]
    return found


def test_the_shape_of_another_run_stands_in_until_own_results_outweigh_it(place: Path) -> None:
    """It counts as much as thirty of them; from five on their mean is known."""
    for name, count, took in (("other", 100, 50), ("none", 1, 10), ("some", 30, 10)):
        (place / f"{name}.csv").write_text("turnaround_s\n" + f"{took}\n" * count)
    assert mean_s(place, "--from", "none.csv") == 10
    assert mean_s(place, "--from", "none.csv", "--like", "other.csv") == pytest.approx(
        (10 + 30 * 50) / 31, rel=0.01
    )
    assert mean_s(place, "--from", "some.csv", "--like", "other.csv") == pytest.approx(10)
    assert mean_s(place, "--like", "other.csv") == 50


def makespan(place: Path, *words: str) -> float:
    one = ("--N", "inf", "--T", "900", "--D", "900", "--tasks", "1", "--unreliable", "2", "--json")
    found: float = ask(place, "plan", "estimate", *words, *one).json["makespan"]["mean"]
    return found


def test_that_shape_is_scaled_to_the_mean_that_is_said(place: Path) -> None:
    (place / "wide.csv").write_text("turnaround_s\n10\n30\n")
    assert makespan(place, "--like", "wide.csv") == pytest.approx(20, rel=0.05)
    assert makespan(place, "--like", "wide.csv", "--t-ur", "200") == pytest.approx(200, rel=0.05)


def test_a_bag_without_any_result_is_planned_by_another(place: Path, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("turnaround_s\n" + "50\n" * 10)
    assert ask(tmp_path, "run", "--quiet", "--retries", "0", "--", "false", ":::", "1").code == 1
    one = ("--N", "inf", "--T", "900", "--D", "900", "--unreliable", "3", "--json")
    refused = ask(tmp_path, "plan", "estimate", "--from", "1", *one)
    assert refused.code == 2 and "none of" in refused.err and "--like" in refused.err
    found = ask(tmp_path, "plan", "estimate", "--from", "1", "--like", "other.csv", *one)
    assert found.json["makespan"]["p95"] == pytest.approx(50, rel=0.05)


def test_terms_of_no_pool_are_refused(place: Path) -> None:
    (place / "times.csv").write_text("turnaround_s\n5\n6\n7\n")
    said = ask(place, "plan", "frontier", "--from", "times.csv", "--tasks", "9", "--unreliable",
               "2", "--mode", "terms")  # fmt: skip
    assert said.code == 2 and "the terms of no pool are known" in said.err
