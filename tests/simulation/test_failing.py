"""Tasks that fail by themselves, lengths drawn evenly, and leased machines that start first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.bag.tables import read_toml
from tailrace.errors import BadInput
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.statistics import figures
from tailrace.simulation.world import World

GRID = """
[pools.grid]
machines = 4
[bags.sweep]
tasks = 40
length = { law = "empirical", values = [1, 2, 3, 4] }
"""


def world(text: str, seed: int = 1) -> World:
    scenario = read_scenario(read_toml(text, "s.toml"), "s.toml", text, Path())
    made = World(scenario, seed, check=True)
    made.run()
    return made


def test_lengths_drawn_evenly_are_the_observed_ones_in_another_order() -> None:
    work = {seed: figures(world(GRID + 'draw = "even"', seed))["work_done_h"] for seed in (1, 2, 3)}
    assert list(work.values()) == pytest.approx([40 * 2.5 / 3600] * 3, abs=1e-9)
    independent = {figures(world(GRID, seed))["work_done_h"] for seed in (1, 2, 3)}
    assert len(independent) == 3
    orders = [list(world(GRID + 'draw = "even"', seed).records[0].done) for seed in (1, 2)]
    assert orders[0] != orders[1]


def test_tasks_that_always_fail_use_up_their_retries() -> None:
    made = world(GRID + 'draw = "even"\nretries = 1\nfailing = { tasks = 0.25 }')
    found = figures(made)
    assert (found["tasks_done"], found["tasks_failed"]) == (30, 10)
    assert found["attempts"] == 30 + 2 * 10


def test_tasks_that_fail_may_be_of_another_length() -> None:
    text = GRID + 'draw = "even"\nretries = 0\nfailing = { tasks = 0.25, length = "100s" }'
    assert figures(world(text))["work_done_h"] == pytest.approx((1000 + 30 * 2.5) / 3600, rel=0.02)


def test_attempts_that_fail_now_and_then_are_tried_again() -> None:
    found = [
        figures(world(GRID + "retries = 50\nfailing = { attempts = 0.2 }", seed))
        for seed in range(20)
    ]
    assert all(one["tasks_done"] == 40 for one in found)
    assert sum(one["attempts"] for one in found) / 20 == pytest.approx(40 / 0.8, rel=0.1)


def test_a_share_of_failures_is_a_share() -> None:
    with pytest.raises(BadInput, match=r"s.toml:7: .*failing.tasks is 2"):
        world(GRID + "failing = { tasks = 2 }")
    with pytest.raises(BadInput, match="even"):
        world(GRID + 'draw = "often"')


LEASED = """
[pools.spot]
max = 1
startup = "10s"
up = "5s"
[bags.sweep]
tasks = 3
length = "4s"
"""


def test_leases_that_never_come_up_are_taken_anew() -> None:
    """Half of them are gone after 2 s; five in a row, and the bag is braked as in life."""
    text = LEASED.replace('up = "5s"', 'never_up = { share = 0.5, after = "2s" }')
    worlds = [world(text, seed) for seed in range(60)]
    found = [figures(one) for one in worlds]
    missed = [sum(not host.known for host in one.every_host) for one in worlds]
    assert [one["tasks_done"] for one in found] == [3 if misses < 5 else 0 for misses in missed]
    assert sum(missed) / 60 == pytest.approx(1, abs=0.5)
    lasted = {misses: one["makespan_s"] for misses, one in zip(missed, found, strict=True)}
    assert lasted[0] == 10 + 3 * 4 and lasted[1] == 2 + 10 + 3 * 4


def test_a_leased_machine_lives_from_its_start_up_on() -> None:
    """Each is up for 5 s after 10 s of starting, and does one task of 4 s."""
    assert figures(world(LEASED))["makespan_s"] == 10 + 4 + 2 * (1 + 10 + 4)
