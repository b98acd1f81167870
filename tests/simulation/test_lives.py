"""Machines that are there by their owners' hours or as recorded, and slower at times."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from tests.simulation.scenarios import done_s, run, scenario

from tailrace.errors import BadInput
from tailrace.simulation.engine import Stop
from tailrace.simulation.statistics import figures
from tailrace.simulation.traces import read_pool_trace
from tailrace.simulation.world import World

POOL = '[pools.grid]\nmachines = 1\ndetection = "reported"\n'
BAG = "[bags.b]\nretries = { lost = 100 }\n"
HOUR, DAY = 3600.0, 86400.0
FTA = """# event_id component_id node_id platform_id node_name event_type start stop reason
1 0 a 0 na 1 1000 1100 0
2 0 a 0 na 0 1100 1150 0
3 0 b 0 nb 1 1060 2000 0
4 0 a 0 na 1 1150 1400 0
"""


def test_an_owner_wants_his_machine_in_his_hours() -> None:
    """Ten hours do not fit before nine: they begin anew at five, and end in the night."""
    world = run(POOL + "owner_hours = { from = 9, to = 17 }\n" + BAG + 'lengths = ["10h"]')
    assert done_s(world) == [27 * HOUR]
    assert world.records[0].restarts == 1


def test_two_days_in_a_row_are_one_absence() -> None:
    hours = 'owner_hours = { from = 0, to = 24, days = ["sat", "sun"] }\n'
    world = run(POOL + hours + BAG + 'at = "5d"\nlengths = ["1h"]')
    assert done_s(world) == [7 * DAY + HOUR]
    assert figures(world)["failures"] == 1


def test_hours_over_midnight_hold_from_the_beginning() -> None:
    """From ten on Sunday to six on Monday, which is when the world begins."""
    hours = 'owner_hours = { from = 22, to = 6, days = ["sun"] }\n'
    assert done_s(run(POOL + hours + BAG + 'lengths = ["1h"]')) == [7 * HOUR]


def test_machines_live_as_the_nodes_of_a_failure_trace(tmp_path: Path) -> None:
    """The first is away from 100 to 150, the second comes at 60."""
    (tmp_path / "event_trace.tab").write_text(FTA)
    trace = 'trace = { file = "event_trace.tab", unrecorded = "away" }\n'
    pool = f'[pools.grid]\n{trace}detection = "reported"\n'
    world = run(pool + BAG + "lengths = [70, 50, 50]", tmp_path)
    assert len(world.every_host) == 2
    assert done_s(world) == [70, 110, 160]
    own = pool.replace("unrecorded", 'clock = "node", unrecorded')
    assert done_s(run(own + BAG + "lengths = [70, 50, 50]", tmp_path)) == [70, 50, 100]


def test_a_node_is_up_but_for_its_recorded_outages(tmp_path: Path) -> None:
    (tmp_path / "event_trace.tab").write_text(FTA)
    pool = '[pools.grid]\ntrace = "event_trace.tab"\ndetection = "reported"\n'
    assert done_s(run(pool + BAG + "lengths = [70, 50, 50]", tmp_path)) == [70, 50, 100]


def test_a_trace_may_begin_later(tmp_path: Path) -> None:
    (tmp_path / "event_trace.tab").write_text(FTA)
    trace = 'trace = { file = "event_trace.tab", begin = "90s" }\n'
    assert done_s(run(POOL + trace + BAG + "lengths = [20]", tmp_path)) == [80]


def test_when_every_recorded_life_is_over_nothing_more_happens(tmp_path: Path) -> None:
    (tmp_path / "spot.csv").write_text("0,add,x\n30000,remove,x\n40000,add,y\n50000,remove,y\n")
    text = '[pools.spot]\ntrace = "spot.csv"\n' + BAG + "lengths = [20, 20]"
    world = World(scenario(text, tmp_path), 1)
    assert world.run() is Stop.EMPTY
    assert (world.records[0].succeeded, world.engine.now < 3600e6) == (1, True)


def test_others_use_a_part_of_a_machine_by_turns(tmp_path: Path) -> None:
    (tmp_path / "load.csv").write_text("time,share\n0,0\n5,0.5\n100,0\n")
    world = run(POOL + 'load = { file = "load.csv" }\n' + BAG + "lengths = [10]", tmp_path)
    assert done_s(world) == pytest.approx([15])
    assert world.scheduler.state.hosts["grid-0"].speed == 0.5


def test_load_and_pace_by_laws() -> None:
    """Half of a machine of speed 3, at a third of its pace: twice the time."""
    change = (
        'speed = 3\nload = { lasts = "1m", share = 0.5 }\npace = { lasts = 7, factor = 0.3333 }\n'
    )
    assert done_s(run(POOL + change + BAG + "lengths = [10]")) == pytest.approx([20], rel=1e-3)


def test_work_is_conserved_under_any_load() -> None:
    """Over a long time, half of what a machine can do is left."""
    law = '{ law = "uniform", from = 0, to = 1 }'
    load = f'load = {{ lasts = {{ law = "exponential", mean = 9 }}, share = {law} }}\n'
    world = run(POOL.replace("= 1", "= 20") + load + BAG + "tasks = 800\nlength = 10")
    usage = [host.machine.usage() for host in world.every_host]
    assert sum(one.work_done for one in usage) / 1e6 >= 8_000
    rate = sum(one.work_done for one in usage) / sum(one.busy_us for one in usage)
    assert rate == pytest.approx(0.5, abs=0.03)


def test_a_bag_that_is_paused_ends_the_run() -> None:
    """Its machine fails and is repaired for ever: without an end to the run there would be none."""
    life = 'up = "5s"\ndown = "1s"\n'
    bag = "[bags.b]\nlengths = [9, 9, 9, 9]\nretries = { lost = 0 }\nmax_failures = 1\n"
    world = run(POOL + life + bag)
    assert world.records[0].failed == 1


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("owner_hours = { from = 25 }", "25 is not an hour of the day"),
        ('owner_hours = { days = ["today"] }', "'today' is no day"),
        ('owner_hours = { from = 0, to = 24, days = ["mon","tue","wed","thu","fri","sat","sun"] }',
         "never lets go"),
        ('trace = { begin = "3h" }', "trace names no file"),
        ('load = { lasts = "1h" }', "load lacks share"),
        ('load = { lasts = 0, share = 0.5 }', "steps that last no time"),
        ('pace = { lasts = "1h", share = 0.5 }', "unknown key pools.grid.pace.share"),
    ],
)  # fmt: skip
def test_bad_lives_are_refused_where_they_stand(lines: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        scenario(POOL + lines + "\n" + BAG + "lengths = [1]")
    assert message in caught.value.message
    assert (caught.value.file, caught.value.line) == ("s.toml", 4)


def test_more_machines_than_nodes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.tab").write_text(FTA)
    text = '[pools.g]\nmachines = 3\ntrace = "t.tab"\n' + BAG + "lengths = [1]"
    with pytest.raises(BadInput, match="3 machines, but the trace has 2 nodes"):
        scenario(text, tmp_path)


@pytest.fixture
def data() -> Path:
    folder = os.environ.get("TAILRACE_DATA")
    if not folder:
        pytest.skip("TAILRACE_DATA does not name the folder of real traces")
    return Path(folder)


def test_the_machines_of_los_alamos_are_up_as_recorded(data: Path) -> None:
    trace = 'trace = { file = "fta-lanl05/event_trace.tab.gz", begin = "400w" }\n'
    text = 'stop = { time = "20w" }\n[pools.g]\n' + trace + BAG
    world = World(scenario(text + 'tasks = 100\nlength = "30w"', data), 1)
    world.run()
    recorded = world.scenario.pools[0].trace
    assert recorded is not None
    end = 20 * 7 * 86_400_000_000
    away = [sum(max(min(b, end) - a, 0) for a, b in life) for life in recorded.away]
    assert (len(away), sum(away) > 0) == (3577, True)
    assert sum(host.machine.usage().up_us for host in world.every_host) == 3577 * end - sum(away)


def test_a_pool_of_spot_machines_is_as_large_as_recorded(data: Path) -> None:
    file = "bamboo-spot/p3-trace.csv"
    pool = f'[pools.spot]\ntrace = "{file}"\ndetection = "reported"\n'
    text = f'stop = {{ time = "2d" }}\n{pool}{BAG}tasks = 9\nlength = "90d"'
    world = World(scenario(text, data), 1)
    world.run()
    lives = read_pool_trace(data / file, file).lives().values()
    end = world.engine.now
    there = sum(min(ends, end) - min(begins, end) for life in lives for begins, ends in life)
    assert sum(host.machine.usage().up_us for host in world.every_host) == there


def test_preemptible_machines_live_as_long_as_those_observed(data: Path) -> None:
    """The share still up after six hours is the survival of the law, censored lives included."""
    law = ('{ law = "empirical", file = "gcp-preemptible-2019/lifetimes.csv", '
           'column = "lifetime_s", censored = "end_kind=stopped" }')  # fmt: skip
    pool = f'[pools.spot]\nmachines = 2000\nup = {law}\ndetection = "reported"\n'
    read = scenario(f'stop = {{ time = "6h" }}\n{pool}{BAG}lengths = ["9w"]', data)
    world = World(read, 1)
    world.run()
    life = read.pools[0].failures
    assert life is not None
    survive = 1 - life.here.cdf(np.array([6 * HOUR])).item()
    up = sum(host.presence.up for host in world.every_host) / 2000
    assert up == pytest.approx(survive, abs=4 * (survive * (1 - survive) / 2000) ** 0.5)
    assert 0.3 < survive < 0.99
