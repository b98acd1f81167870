"""Machines that are told of their end, of several ends, and of none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.simulation.scenarios import run, scenario

from tailrace.bag.outcome import Outcome
from tailrace.scheduler.events import Ended
from tailrace.simulation.statistics import figures
from tailrace.simulation.world import World

LONE = '[pools.a]\nmachines = 1\ndetection = "reported"\n'
ALL_DAYS = '["mon", "tue", "wed", "thu", "fri", "sat", "sun"]'


def endings(text: str, folder: Path = Path()) -> list[tuple[Outcome, float]]:
    """Of all attempts, and when each was told."""
    found: list[tuple[Outcome, float]] = []

    def watch(event: Any, _: list[Any], now: int) -> None:
        if isinstance(event, Ended):
            found.append((event.outcome, now / 1e6))

    World(scenario(text, folder), 1, check=True, watch=watch).run()
    return found


@pytest.mark.parametrize(
    "life",
    [
        "up = 1000\ndown = 100\n",
        "owner_away = 1000\nowner_there = 100\n",
        f"owner_hours = {{ from = 0.277778, to = 5, days = {ALL_DAYS} }}\n",
        'trace = "life.csv"\n',
        "departs = 1000\n",
    ],
)
def test_whoever_takes_a_machine_away_gives_notice(tmp_path: Path, life: str) -> None:
    (tmp_path / "life.csv").write_text("0,add,n\n1000000,remove,n\n1100000,add,n\n")
    text = f"stop.time = 1050\n{LONE}{life}NOTICE[bags.b]\nlengths = [1500]\n"
    told = endings(text.replace("NOTICE", "notice = 50\n"), tmp_path)
    assert told == [(Outcome.PREEMPTED, pytest.approx(950, abs=0.001))]
    assert figures(run(text.replace("NOTICE", ""), tmp_path))["jobs_lost"] == 1


def test_a_site_fails_without_notice() -> None:
    site = "[sites.s]\nup = 500\ndown = 100\n"
    pool = LONE + 'site = "s"\nup = 1000\ndown = 100\nnotice = 50\n'
    world = run(f"stop.time = 550\n{site}{pool}[bags.b]\nlengths = [700]\n")
    assert figures(world)["jobs_lost"] == 1


def test_a_machine_that_comes_back_still_knows_that_it_will_go() -> None:
    """It is told at 910 that it will be down from 960 to 970, and at 950 that it leaves at 1000:
    45 tasks of 20 s end, the next is handed back, and nothing more is sent there."""
    pool = LONE + "departs = 1000\nup = 960\ndown = 10\nnotice = 50\n"
    told = figures(run(pool + "[bags.b]\ntasks = 100\nlength = 20\n"))
    assert (told["tasks_done"], told["attempts"], told["jobs_lost"]) == (45, 46, 0)


def test_it_learns_of_an_end_that_was_announced_while_it_was_away() -> None:
    """Down from 940 to 970, it is told of its end at 1000 when it is back; then it takes nothing
    for which there is no time, until the owner has come and gone."""
    pool = LONE + "up = 940\ndown = 30\nowner_away = 1000\nowner_there = 100\nnotice = 50\n"
    ends = endings(pool + "[bags.b]\nlengths = [850, 10]\nretries = { lost = 0 }\n")
    assert ends == [(Outcome.SUCCEEDED, 850), (Outcome.SUCCEEDED, 860)]
    ends = endings(pool + "[bags.b]\nlengths = [880, 100]\nretries = { lost = 0 }\n")
    assert ends == [(Outcome.SUCCEEDED, 880), (Outcome.PREEMPTED, 890), (Outcome.SUCCEEDED, 1200)]


def test_a_later_end_is_not_taken_for_the_first() -> None:
    """Told at 950 of the end at 1000, and at 990 of another at 1040: with no time for a checkpoint
    it works to the first of them, and hands back what it has."""
    pool = LONE + "departs = 1000\nup = 1040\ndown = 10\nnotice = 50\n"
    late = '[pools.b]\nmachines = 1\narrivals = { process = "at once", at = 1000 }\n'
    bag = "[bags.b]\nlengths = [1500]\ncheckpoint = { every = 400, pause = 60 }\n"
    ends = endings(pool + late + bag)
    assert [outcome for outcome, _ in ends] == [Outcome.PREEMPTED, Outcome.SUCCEEDED]
    assert ends[0][1] == 1000
