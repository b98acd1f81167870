"""Figures of runs and their means, against the listings of the thesis (2.4)."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from scipy.special import stdtrit
from tests.simulation.scenarios import run, scenario

from tailrace.bag.terms import Terms
from tailrace.knowledge import student
from tailrace.pools.terms import Pool
from tailrace.simulation.engine import Stop
from tailrace.simulation.experiment import Todo, run_one
from tailrace.simulation.laws import Constant
from tailrace.simulation.network import Link, Reach
from tailrace.simulation.record import Record
from tailrace.simulation.running import Running, summary
from tailrace.simulation.scenario import Machines, Scenario, Stopping, Tasks
from tailrace.simulation.statistics import figures, link_figures, machines, task_figures
from tailrace.simulation.world import World

SIMPLE = """
[pools.g]
machines = 2
up = { law = "exponential", mean = 9 }
down = 1
[bags.b]
tasks = 9
length = { law = "uniform", from = 1, to = 2 }
"""
PROGRAM = """
import sys
from tests.simulation.scenarios import run
from tailrace.simulation.running import summary
from tailrace.simulation.statistics import figures
found = summary(figures(run({text!r}, seed=seed)) for seed in (1, 2, 3))
assert found["makespan_s"].half_width > 0
sys.exit("scipy" in sys.modules)
"""
DAY_US = 86_400_000_000


def cut_off(value: float) -> float:
    """DSiDE prints three decimals and drops the rest, where we would round."""
    return math.floor(value * 1000) / 1000


def record(submitted: int, sent: int) -> Record:
    made = Record(submitted)
    for index in range(submitted):
        made.arrived[index] = 0
    for index in range(sent):
        made.send(index, 1)
    return made


def test_mean_and_variance_run_along_as_dmexec_lists_them() -> None:
    """Case 4."""
    sums = Running()
    steps = []
    for accepted in (4602, 3531, 4054):
        sums.add(accepted)
        steps.append((cut_off(sums.mean), cut_off(sums.variance)))
    assert steps[1:] == [(4066.5, 573520.5), (4062.333, 286812.333)]


@pytest.mark.parametrize(
    ("submitted", "sent", "printed"),
    [(2250, 2056, 0.913), (2632, 1810, 0.687), (2008, 1475, 0.734)],
)
def test_the_share_of_tasks_that_reach_a_machine(submitted: int, sent: int, printed: float) -> None:
    """Case 5: rounded they would be 0.914, 0.688 and 0.735."""
    assert cut_off(task_figures([record(submitted, sent)])["accepted"]) == printed


def test_the_mean_of_shares_is_that_of_the_runs() -> None:
    """Case 6: 0.925 and 0.714, where the share of the sums would be 0.712."""
    under = [(3027, 2792), (2250, 2056), (2591, 2433)]
    above = [(2632, 1810), (2008, 1475), (2246, 1621)]
    for runs, printed in ((under, 0.925), (above, 0.714)):
        found = summary(task_figures([record(*run)]) for run in runs)
        assert cut_off(found["accepted"].mean) == printed
    together = task_figures([record(*run) for run in above])
    assert cut_off(together["accepted"]) == 0.712
    rejected = Running()
    for count in (1057, 727, 783):
        rejected.add(count)
    assert cut_off(rejected.mean) == 855.666


def test_a_machine_is_busy_for_a_part_of_its_day() -> None:
    """Case 7: 44,635,515 ms of 24 hours are 51.661 %."""
    tasks = Tasks(Terms(1, trial_us=0), Constant(44_635.515))
    world = World(Scenario((Machines(Pool("grid", max=0), 1),), (tasks,)), 1)
    world.engine.run(until=DAY_US - 1)
    world.engine.run(until=DAY_US)
    assert world.engine.now == DAY_US
    (machine,) = machines(world)
    assert (
        cut_off(100 * machine.figures["busy"]) == cut_off(100 * machine.figures["full"]) == 51.661
    )
    assert figures(world)["busy"] == machine.figures["busy"]


def test_what_was_submitted_was_sent_or_still_waits() -> None:
    """Case 7: 9724 - 6991 = 2733; and so in a run that is stopped before its end."""
    found = task_figures([record(9724, 6991)])
    assert (found["tasks_submitted"], found["tasks_sent"]) == (9724, 6991)
    assert found["tasks_waiting"] == 2733
    scenario = Scenario(
        (Machines(Pool("grid", max=0), 2),), (Tasks(Terms(10, trial_us=0), Constant(60.0)),),
        stop=Stopping(time_us=90_000_000),
    )  # fmt: skip
    world = World(scenario, 1)
    assert world.run() is Stop.TIME
    found = figures(world)
    assert (found["tasks_done"], found["tasks_sent"], found["tasks_waiting"]) == (2, 4, 6)
    assert found["work_done_h"] == pytest.approx(3 / 60)


def test_a_link_tells_what_went_over_it() -> None:
    for reach, used in ((Reach.LOCAL, 0.25), (Reach.WIDE, 0)):
        link = Link("backbone", bytes_per_s=2e6, reach=reach)
        link.bytes = 30e6
        found = link_figures(link, 60_000_000)
        assert (found["megabytes"], found["used"], found["busy"]) == (30, used, 0)


def test_the_interval_is_that_of_students_t() -> None:
    degrees = [1, 2, 3, 4, 9, 10, 19, 99, 200, 201, 1000, 10**6]
    ours = [student.quantile(n, level) for n in degrees for level in (0.5, 0.95, 0.999)]
    theirs = [stdtrit(n, (1 + level) / 2) for n in degrees for level in (0.5, 0.95, 0.999)]
    assert ours == pytest.approx(theirs, rel=1e-9)


def test_laws_that_need_no_special_function_do_not_wait_for_scipy() -> None:
    program = PROGRAM.format(text=SIMPLE)
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


LOSING = """
[pools.p]
machines = 1
up = "25m"
down = "5m"
detection = "reported"
[bags.b]
lengths = ["10m", "10m", "10m", "25m"]
retries = { lost = 0 }
"""


def test_in_the_curve_of_what_remains_a_failed_task_stays() -> None:
    """Done after 10 and 20 minutes; lost after 25; the last is lost with the next life."""
    minutes = [(at / 60e6, left) for at, left in curve(LOSING.replace('"25m"]', '"26m"]'))]
    assert minutes == [(0, 4), (10, 3), (20, 2), (55, 2)]


def test_the_curve_of_a_run_that_is_cut_off_goes_to_its_end() -> None:
    minutes = [(at / 60e6, left) for at, left in curve('stop.time = "15m"\n' + LOSING)]
    assert minutes == [(0, 4), (10, 3), (15, 3)]


def curve(text: str) -> list[tuple[int, int]]:
    return run_one(Todo(scenario(text), 1, curve=True)).curve


DUE = """
[pools.p]
machines = 2
[bags.b]
tasks = 5
length = 60
deadline = "1h"
"""


@pytest.mark.parametrize(
    ("more", "kept"),
    [("", 1), ("failing = { tasks = 1 }", 0), ("[stop]\ntime = 90", None),
     ("failing = { tasks = 1 }\nretries = 0\n[stop]\ntime = 90", 0)],
)  # fmt: skip
def test_a_deadline_is_not_kept_by_tasks_that_failed(more: str, kept: float | None) -> None:
    assert figures(run(DUE + more))["deadline_kept"] == kept


LATE = """
[pools.a]
machines = 2
startup = "100s"
arrivals = { process = "listed", times = [0, 300] }
[bags.b]
lengths = [100, 100]
"""
NEVER_UP = """
[pools.a]
max = 4
startup = "10m"
never_up = { share = 0.5, after = "5m" }
[bags.b]
tasks = 40
length = "5m"
[stop]
time = "1h"
"""


def test_machines_that_were_never_there_have_no_availability() -> None:
    """The second of them comes when all is done."""
    world = run(LATE)
    told, each = figures(world), [one.figures for one in machines(world)]
    assert (told["makespan_s"], told["availability"]) == (300, 1)
    assert [one["availability"] for one in each] == [1, None]
    assert [(one["busy"], one["full"]) for one in each] == [(1, 1), (None, None)]


def test_leases_that_never_come_up_are_no_failures_of_what_does() -> None:
    told = figures(run(NEVER_UP))
    assert (told["failures"], told["availability"]) == (0, 1)


def test_a_run_without_any_machine_knows_nothing_of_them() -> None:
    """So it is no part of their means."""
    leased = LATE.replace("machines = 2", "max = 1").replace("arrivals", "# ")
    told = [figures(run(text)) for text in (leased + 'arrivals = { process = "at once", at = 99 }\n'
                                            "[stop]\ntime = 90", leased)]  # fmt: skip
    assert [told[0][name] for name in ("availability", "busy", "full")] == [None] * 3
    assert (told[1]["availability"], summary(told)["availability"].mean) == (1, 1)
