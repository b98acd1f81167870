"""What is sent in the instant in which machines go is sent to those that stay."""

from __future__ import annotations

from typing import Any

import pytest
from tests.simulation.scenarios import done_s, run, scenario

from tailrace.bag.outcome import Outcome
from tailrace.scheduler.events import AnyEvent, Ended
from tailrace.simulation.statistics import figures
from tailrace.simulation.world import World

BAG = """
[bags.b]
tasks = 6
length = "5m"
retries = { lost = 0 }
"""
REPORTED = '[pools.a]\nmachines = 1\ndetection = "reported"\n'


@pytest.mark.parametrize("calls", ["free", "worker"])
@pytest.mark.parametrize("notice", ["", 'notice = "5m"'])
def test_nothing_is_sent_to_a_machine_that_goes_or_is_warned_just_then(
    notice: str, calls: str
) -> None:
    life = f'up = "10m"\ndown = "5m"\n{notice}\ncalls = "{calls}"\n'
    found = figures(run(REPORTED + life + BAG))
    assert (found["tasks_done"], found["jobs_lost"], found["attempts"]) == (6, 0, 6)


def test_a_machine_that_comes_with_its_notice_is_sent_nothing() -> None:
    up = 'up = { law = "uniform", from = "1m", to = "10m" }\ndown = "1m"\nnotice = "5m"\n'
    handed_back: list[int] = []

    def watch(event: AnyEvent, _decisions: list[Any], _now: int) -> None:
        if isinstance(event, Ended) and event.outcome is Outcome.PREEMPTED:
            handed_back.append(event.measured.run_us)

    World(scenario(REPORTED + up + BAG.replace("5m", "2m")), 1, watch=watch).run()
    assert handed_back and min(handed_back) > 0


def test_a_machine_with_two_places_is_sent_nothing_when_it_goes() -> None:
    world = run(f'{REPORTED}slots = 2\ncores = 2\nup = "10m"\ndown = "5m"\n{BAG}')
    assert done_s(world) == [300, 300, 600, 600, 1200, 1200]
    assert figures(world)["attempts"] == 6


def test_an_owner_who_comes_on_the_hour_costs_no_task_that_begins_then() -> None:
    owned = '[pools.a]\nmachines = 3\nowner_hours = { from = 9, to = 17 }\ndetection = "reported"\n'
    found = figures(run(owned + '[bags.b]\ntasks = 80\nlength = "1h"\nretries = { lost = 0 }\n'))
    assert (found["tasks_done"], found["jobs_lost"]) == (80, 0)


def test_a_whole_site_goes_without_what_would_be_sent_just_then() -> None:
    site = '[sites.s]\nup = "10m"\ndown = "5m"\n'
    found = figures(run(f'{site}{REPORTED}site = "s"\n{BAG}'))
    assert (found["tasks_done"], found["jobs_lost"]) == (6, 0)


def test_a_machine_that_its_site_spares_goes_on_at_once() -> None:
    site = '[sites.s]\nup = "10m"\ndown = "5m"\nshare = 0\n'
    world = run(f'{site}{REPORTED}site = "s"\n{BAG}')
    assert done_s(world) == [300, 600, 900, 1200, 1500, 1800]


def test_who_asked_before_is_not_sent_what_is_ready_when_it_goes() -> None:
    """The idle machine would be sent the second attempt, in the instant in which it goes."""
    pools = '[pools.a]\nmachines = 1\n[pools.b]\nmachines = 1\nup = "10m"\ndetection = "reported"\n'
    bag = '[bags.b]\ntasks = 1\nlength = "10m"\nfailing = { tasks = 1 }\nretries = 1\n'
    found = figures(run(pools + bag))
    assert (found["jobs_lost"], found["makespan_s"]) == (0, 1200)


# One task, on both machines.
SIDE_BY_SIDE = """
[pools.p]
machines = 2
cores = 3
reliable = false
[bags.b]
lengths = [100]
replication = { strategy = "ntdmr", n = 5, t_s = 0, d_s = 1000 }
"""


def test_of_attempts_of_a_task_that_end_together_one_is_useful() -> None:
    found = figures(run(SIDE_BY_SIDE))
    assert (found["tasks_done"], found["attempts"]) == (1, 2)
    assert found["work_lost"] == pytest.approx(1 / 2)


def test_attempts_past_their_time_out_end_together_with_those_beside_them() -> None:
    """The longest task never ends in time: it alone fails."""
    pool = "[pools.x]\nmax = 3\nslots = 4\n"
    bag = "[bags.b]\nlengths = [5, 12, 27, 9, 23, 23]\ntimeout = 15\n"
    found = figures(run(f"{pool}{bag}checkpoint = {{ every = 4, pause = 1 }}\n"))
    assert (found["tasks_done"], found["tasks_failed"]) == (5, 1)
    assert found["work_useful_h"] == pytest.approx(72 / 3600)
