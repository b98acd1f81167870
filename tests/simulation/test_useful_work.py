"""Useful work is that of the tasks which succeeded, whoever did it: with checkpoints, that of every
attempt on whose checkpoint the result stands, and of no other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.simulation.scenarios import run

from tailrace.simulation.record import UNKNOWN
from tailrace.simulation.statistics import figures, machines
from tailrace.simulation.world import World

HOUR = 3600
BAG = "[bags.b]\ncheckpoint = { every = 100 }\n"
TWICE = 'replication = { strategy = "wqr", most = 2 }\n'
DIES = 'machines = 1\nup = "150s"\ndetection = "reported"\n'
RETURNS = f'[pools.a]\n{DIES}down = "10s"\n'


def seconds(text: str) -> tuple[float, float]:
    """Of work that was useful, and of all."""
    told = figures(run(text))
    useful, done = told["work_useful_h"] * HOUR, told["work_done_h"] * HOUR
    assert told["work_lost"] == pytest.approx((done - useful) / done)
    return round(useful, 3), round(done, 3)


def test_what_a_replica_went_on_from_is_useful_though_its_machine_did_not_win() -> None:
    """The fast one comes at 150 s, goes on from 100 and is done at 225."""
    fast = 'machines = 1\nspeed = 4\narrivals = { process = "at once", at = "150s" }\n'
    pools = f"[pools.a]\nmachines = 1\n[pools.c]\n{fast}"
    assert seconds(pools + BAG + TWICE + "lengths = [400]") == (400, 225 + 300)


def test_a_checkpoint_from_which_nobody_went_on_is_lost() -> None:
    """Both begin at 0; one dies at 150 s, and the other does all of it."""
    pools = f"[pools.a]\n{DIES}[pools.c]\nmachines = 1\n"
    assert seconds(pools + BAG + TWICE + "lengths = [400]") == (400, 150 + 400)


def test_of_a_checkpoint_only_that_part_is_useful_from_which_the_winner_began() -> None:
    """The second comes at 150 s and goes on from 100; the first is at 250 when it dies."""
    late = 'machines = 1\narrivals = { process = "at once", at = "150s" }\n'
    pools = f"[pools.a]\n{DIES.replace('150s', '250s')}[pools.c]\n{late}"
    assert seconds(pools + BAG + TWICE + "lengths = [400]") == (400, 250 + 300)


def test_what_was_saved_before_an_attempt_failed_is_useful_to_the_next() -> None:
    """The first fails at its end, having saved 300 of 400; one of the next goes on from there."""
    text = f"[pools.a]\nmachines = 1\n{BAG}lengths = [400]\n" + "retries = { task_failed = 99 }\n"
    for seed in range(6):
        told = figures(run(text + "failing = { attempts = 0.7 }", seed=seed))
        assert told["tasks_done"] == 1
        assert told["work_useful_h"] * HOUR == pytest.approx(400)
        assert told["work_done_h"] * HOUR == pytest.approx(400 + 100 * told["restarts"])


@pytest.mark.parametrize(
    ("more", "done"),
    [("lengths = [200]\nfailing = { tasks = 1 }\nretries = { task_failed = 0 }", 150 + 100),
     ("lengths = [400]\nretries = { lost = 0 }", 150)],
)  # fmt: skip
def test_nothing_that_was_saved_of_a_task_is_useful_once_it_is_given_up(
    more: str, done: float
) -> None:
    assert seconds(RETURNS + BAG + more) == (0, done)


def test_a_result_that_failed_and_went_with_its_machine_is_lost_once() -> None:
    """A worker gathers results for a moment, and its leased machine dies within it."""
    life = 'max = 1\nup = 0.22\ndetection = "reported"\ncalls = "worker"\n'
    bag = f"[bags.b]\nlengths = {[0.1] * 10}\nfailing = {{ attempts = 0.5 }}\nretries = 99\n"
    found = [figures(run(f"[pools.p]\n{life}{bag}", seed=seed)) for seed in range(6)]
    assert [told["tasks_done"] for told in found] == [10] * 6
    assert [told["work_useful_h"] * HOUR for told in found] == pytest.approx([1.0] * 6)


@pytest.mark.parametrize("news", ['{ delay = "30s" }', '{ every = "1m" }'])
def test_of_two_successes_that_were_not_heard_of_one_is_useful(news: str) -> None:
    """Both are done at 40 s, and only later does anybody know."""
    bag = f"[bags.b]\nlengths = [40]\n{TWICE}"
    assert seconds(f"news = {news}\n[pools.a]\nmachines = 2\n{bag}") == (40, 80)


def test_no_success_is_useful_that_came_too_late_for_its_task() -> None:
    """Four attempts of 12 s are heard of behind their time-out; then it is given up."""
    pool = '[pools.a]\nmachines = 1\nlate_results = "ignore"\n'
    bag = "[bags.b]\nlengths = [12]\ntimeout = 15\nretries = 0\n"
    assert seconds(f"news.delay = 10\n{pool}{bag}") == (0, 48)


@pytest.mark.parametrize("saves", ["", "checkpoint = { every = 30 }\n"])
def test_what_a_loser_that_runs_on_is_still_at_in_the_end_is_lost(saves: str) -> None:
    """The slow one has done half of it when the other is done."""
    pools = "[pools.a]\nmachines = 1\n[pools.b]\nmachines = 1\nspeed = 0.5\n"
    bag = f"[bags.b]\nlengths = [100]\n{TWICE}policy.losers = 'run on'\n{saves}"
    assert seconds(pools + bag) == (100, 150)
    slow = machines(run(pools + bag))[1].figures
    assert slow["work_useful_h"] == pytest.approx(0)


@st.composite
def worlds(draw: Any) -> str:
    """Of speed 1, so that the length of a task is the work of its result."""
    pools = [draw(pool(name)) for name in ("one", "two")[: draw(st.integers(1, 2))]]
    lengths = draw(st.lists(st.integers(1, 60), min_size=1, max_size=6))
    bag = ["[bags.b]", f"lengths = {lengths}"]
    bag += draw(st.sampled_from([[], ["replication = 'wqr'"], [TWICE.strip()]]))
    bag += draw(st.sampled_from([[], ["failing = { tasks = 0.4 }"], ["failing.attempts = 0.4"]]))
    bag += draw(st.sampled_from([[], ["policy.losers = 'run on'"]]))
    retries = draw(st.sampled_from(["{ task_failed = 0, lost = 1 }", "40"]))
    every, pause, latency = draw(
        st.tuples(st.integers(2, 20), st.integers(0, 2), st.integers(0, 9))
    )
    recovery = draw(st.integers(0, 2))
    saves = f"every = {every}, pause = {pause}, latency = {latency}, recovery = {recovery}"
    bag += draw(st.sampled_from([[], [f"checkpoint = {{ {saves} }}"]]))
    news = draw(st.sampled_from([[], ["news.delay = 3"], ["news.every = 7"]]))
    return "\n".join(["stop.time = '10h'", *news, *pools, *bag, f"retries = {retries}"])


@st.composite
def pool(draw: Any, name: str) -> str:
    up = draw(st.sampled_from(["", "up = { law = 'exponential', mean = 40 }\ndown = 3"]))
    late = draw(st.sampled_from(["", "arrivals = { process = 'at once', at = '15s' }"]))
    return (f"[pools.{name}]\nmachines = {draw(st.integers(1, 3))}\n{up}\n{late}\n"
            f"slots = {draw(st.integers(1, 2))}\ncores = 2\n"
            f"detection = '{draw(st.sampled_from(['reported', 'silent']))}'")  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(worlds(), st.integers(0, 2**32))
def test_useful_work_is_that_of_the_tasks_that_succeeded(text: str, seed: int) -> None:
    world = run(text, seed=seed)
    record = world.records[0]
    if record.complete:
        useful = figures(world)["work_useful_h"]
        assert useful * HOUR == pytest.approx(succeeded_s(world), abs=1e-3)


def succeeded_s(world: World) -> float:
    """The lengths of the tasks with a result."""
    (tasks,), (record,) = world.scenario.bags, world.records
    done = [n for n, at in enumerate(record.done) if at != UNKNOWN and n not in record.given_up]
    return sum(tasks.lengths.seconds[n] for n in done)
