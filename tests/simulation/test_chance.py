"""The scheduler's own chance is that of the run: random machines, shuffled orders."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tailrace.scheduler.decisions import Assign
from tailrace.simulation.drawn import Book
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.world import World

from .scenarios import scenario

SEEDS = range(8)
PAIR = """
[pools.a]
machines = 1

[pools.b]
machines = 1
speed = 3

[bags.x]
lengths = [100, 20, 300, 40, 5, 60, 7, 80, 9, 10]
"""
APART = 'arrivals = { process = "uniform", from = "200s", to = "200s" }'
RANDOM = f'{PAIR}matching = "random"\n{APART}'
SHUFFLED = f'{PAIR}order = "shuffled"'


def sent(what: Scenario, seed: int, book: Book | None = None) -> list[tuple[int, str]]:
    """Each task with its machine, in the order in which they were sent."""
    found: list[tuple[int, str]] = []

    def watch(_: object, decisions: list[object], __: int) -> None:
        found.extend((one.index, one.host) for one in decisions if isinstance(one, Assign))

    World(what, seed, check=True, watch=watch, book=book).run()
    return found


def test_a_random_machine_is_another_one_with_another_seed() -> None:
    drawn = [[host for _, host in sent(scenario(RANDOM), seed)] for seed in SEEDS]
    assert len({tuple(hosts) for hosts in drawn}) == len(SEEDS)
    assert {host for hosts in drawn for host in hosts} == {"a-0", "b-0"}


def test_a_shuffled_order_is_another_one_with_another_seed() -> None:
    drawn = [[task for task, _ in sent(scenario(SHUFFLED), seed)] for seed in SEEDS]
    assert len({tuple(tasks) for tasks in drawn}) == len(SEEDS)
    assert all(sorted(tasks) == list(range(10)) for tasks in drawn)


@pytest.mark.parametrize("own", [0, 7])
def test_a_bag_with_a_seed_of_its_own_has_one_order_in_all_runs(own: int) -> None:
    drawn = [sent(scenario(f"{SHUFFLED}\nseed = {own}"), seed) for seed in SEEDS]
    assert all(one == drawn[0] for one in drawn)
    assert [task for task, _ in drawn[0]] != list(range(10))


def test_each_bag_is_shuffled_in_its_own_way() -> None:
    twice = f'{SHUFFLED}\n[bags.y]\nat = "1h"\ntasks = 10\nlength = 9\norder = "shuffled"'
    both = [task for task, _ in sent(scenario(twice), 1)]
    assert sorted(both[:10]) == sorted(both[10:]) and both[:10] != both[10:]


@pytest.mark.parametrize("text", [RANDOM, SHUFFLED])
def test_what_was_drawn_has_the_seeds_and_gives_the_same_choices(text: str) -> None:
    book = Book()
    first = sent(scenario(text), 3, book)
    for seed in SEEDS:
        assert sent(replace(scenario(text), events=book.values), seed) == first
