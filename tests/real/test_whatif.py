"""Real runs of several kinds, each as a scenario: with nothing changed, it lies among its seeds.

Makespan and cost within 95 % of 100 seeds, their median within 5 %; for the run with a death within
10 %: one death says how often they come only roughly. What came out is printed (`pytest -s`).
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailrace.bag import bagfile
from tailrace.cli import whatif
from tailrace.pools.terms import Billing, Pool
from tailrace.server import reading
from tailrace.server.embedded import Capacity, Embedded
from tailrace.simulation.experiment import Todo, run_one
from tailrace.simulation.reading import load_scenario

SEEDS = 100
CENTS = Billing(10_000, "USD", 100_000)  # for each tenth of a second
CHANCE = random.Random(1)


def sleeps(count: int, least_s: float, most_s: float) -> list[str]:
    lengths = [f"{CHANCE.uniform(least_s, most_s):.3f}" for _ in range(count)]
    return ["sleep {}", ":::", *lengths]


async def record(
    folder: Path, words: list[str], machines: int, billing: Billing, kills: tuple[float, ...]
) -> None:
    folder.mkdir()
    pool = Pool("local", max=machines, billing=billing)
    async with Embedded(folder / ".tailrace", pool, Capacity(cores=1)) as server:
        number = server.submit(bagfile.bag_from_parallel(words, folder))
        ending = asyncio.create_task(end_some(folder, kills))
        await asyncio.wait_for(server.rest(number), 60)
        ending.cancel()


async def end_some(folder: Path, kills: tuple[float, ...]) -> None:
    """Workers said which processes they are; the one that came first is killed."""
    for after_s in kills:
        await asyncio.sleep(after_s)
        link = reading.open_store(folder / ".tailrace")
        process = int(reading.hosts(link)[0].about["process"])
        link.close()
        os.kill(process, signal.SIGKILL)


KINDS = {
    "two workers": (sleeps(60, 0.05, 0.25), 2, Billing(), ()),
    "three workers with a price": (sleeps(60, 0.1, 0.3), 3, CENTS, ()),
    "two workers, one killed": (sleeps(60, 0.05, 0.2), 2, CENTS, (1.6,)),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """They sleep most of the time: all at once."""
    base = tmp_path_factory.mktemp("runs")
    folders = {kind: base / kind.replace(" ", "-") for kind in KINDS}

    async def all_of_them() -> None:
        await asyncio.gather(*(record(folders[kind], *KINDS[kind]) for kind in KINDS))

    asyncio.run(all_of_them())
    yield folders


@pytest.mark.parametrize("kind", KINDS)
def test_the_recorded_run_lies_among_the_simulated_ones(
    kind: str, recorded: dict[str, Path]
) -> None:
    run = whatif.measured(recorded[kind], None)
    with whatif.as_file(run) as file:
        scenario = load_scenario(file)
    found = [run_one(Todo(scenario, seed)).figures for seed in range(SEEDS)]
    told = whatif.recorded(run)
    print(f"\n{kind}: {run.pools[0].lifetimes}")
    whatif.show(told, found, changed=False)
    near = 0.10 if KINDS[kind][3] else 0.05
    for name, one in whatif.compare(told, found).items():
        assert one.inside, name
        assert name == "attempts" or abs(one.apart or 0) <= near, name


def test_a_worker_that_was_killed_is_known_to_have_died(recorded: dict[str, Path]) -> None:
    run = whatif.measured(recorded["two workers, one killed"], None)
    assert sorted(life.died for life in run.pools[0].lifetimes) == [False, False, True]
    assert run.failing_attempts == 0 and run.attempts > run.terms.count
    spared = whatif.measured(recorded["two workers"], None)
    assert not any(life.died for life in spared.pools[0].lifetimes)
