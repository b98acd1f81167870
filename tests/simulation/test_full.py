"""Attempts that find no room on their machine: they wait there, or are rejected (DSiDE)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import ask
from tests.simulation.scenarios import run, scenario

from tailrace.bag.outcome import Outcome
from tailrace.scheduler.events import Ended
from tailrace.simulation.statistics import figures
from tailrace.simulation.world import World

SHORT = "retries = 0\nlengths = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]\n"
LATE = """
news = { delay = { law = "uniform", from = 0, to = 20 } }
[sites.g]
lan = { rate = "1 MB/s" }
[network]
storage = { site = "g" }
[pools.p]
machines = 4
site = "g"
[pools.never]
machines = 1
site = "g"
[bags.b]
tasks = 300
length = { law = "exponential", mean = 10 }
arrivals = { process = "poisson", rate = "1/10s" }
output = "10 MB"
pools = ["p"]
retries = 0
"""


@pytest.mark.parametrize("dispatch", [0, 5])
def test_a_machine_that_rejects_takes_nothing_ahead(dispatch: float) -> None:
    """Half of what is left is sent ahead each time: after the first of ten tasks 4 of 9, then 4 of
    8, 3, 3, 2, 2, 1, 1 and none. All come back before the next ends."""
    pool = f'dispatch = {dispatch}\n[pools.p]\nmachines = 1\nwhen_full = "reject"\n'
    told = figures(run(f"{pool}[bags.b]\n{SHORT}"))
    assert (told["tasks_done"], told["attempts"], told["attempts_rejected"]) == (10, 30, 20)
    assert told["makespan_s"] == pytest.approx(10 * (0.1 + dispatch))


def test_a_machine_that_is_full_for_some_does_not_ask_for_them_again_and_again() -> None:
    """A core is left beside each task of two, for which the next would not fit."""
    pool = '[pools.p]\nmachines = 1\ncores = 3\nwhen_full = "reject"\n'
    world = run(f"{pool}[bags.b]\nneeds.cores = 2\n{SHORT}")
    assert figures(world)["tasks_done"] == 10 and 0 < figures(world)["attempts_rejected"] <= 20


def test_what_is_rejected_ends_before_it_began_and_costs_no_retry() -> None:
    ends: list[Ended] = []

    def watch(event: Any, *_: Any) -> None:
        if isinstance(event, Ended):
            ends.append(event)

    pool = '[pools.p]\nmachines = 1\nwhen_full = "reject"\n'
    world = World(scenario(f"{pool}[bags.b]\n{SHORT}"), 1, check=True, watch=watch)
    world.run()
    rejected = [one for one in ends if one.outcome is Outcome.CANCELLED]
    assert len(rejected) == 20 and len(ends) == 30 and world.records[0].failed == 0
    assert {(one.measured.run_us, one.measured.text) for one in rejected} == {
        (0, "it had no room for it")
    }


def test_on_late_news_machines_are_full_and_say_so(tmp_path: Path) -> None:
    """While an output travels a machine offers more room than it has when that has arrived; who
    hears of the arrival, and not yet of the new offer, sends too much."""
    (tmp_path / "late.toml").write_text(LATE)
    words = ["simulate", "late.toml", "--seeds", "4", "--json", "--machines"]
    (waits,) = ask(tmp_path, *words).json
    (told,) = ask(tmp_path, *words, "--set", "pools.p.when_full=reject").json
    for run_waits, run_rejects in zip(waits["runs"], told["runs"], strict=True):
        assert "attempts_rejected" not in run_waits and run_waits["attempts"] == 300
        assert (run_rejects["tasks_done"], run_rejects["tasks_failed"]) == (300, 0)
        assert run_rejects["attempts"] == 300 + run_rejects["attempts_rejected"]
    assert told["figures"]["attempts_rejected"]["mean"] > 1
    of_each = {one["name"]: one["figures"]["attempts_rejected"] for one in told["machines"]}
    assert sum(of_each.values()) == pytest.approx(told["figures"]["attempts_rejected"]["mean"])
    assert of_each["never-0"] == 0
    shown = ask(tmp_path, *words[:4], "--machines", "--set", "pools.p.when_full=reject").out
    assert shown.count("attempts_rejected") == 2
