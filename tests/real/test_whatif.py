"""Real runs of several kinds, each as a scenario: with nothing changed, it lies among its seeds.

Makespan and cost within 95 % of 100 seeds, their median within 5 %; where machines died, within
10 %: a few deaths say only roughly how often they come. What came out is printed (`pytest -s`).
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tailrace.cli import whatif
from tailrace.simulation.experiment import Todo, run_one
from tailrace.simulation.reading import load_scenario

from .conftest import Folder

SEEDS = 100
CHANCE = random.Random(1)
PRICE = 'price = "36 USD/h"\nunit = "100ms"\n'
SLEEP = "sleep {}"
SCALED = """sleep "$(awk 'BEGIN {{ print {} / ENVIRON["TAILRACE_SPEED"] }}')" """

# The pools of each, what its tasks do, how many there are, and from when to when each lasts.
KINDS = {
    "two machines": ("[pools.local]\nmax = 2\ncores = 1", SLEEP, 60, 0.05, 0.25),
    "three with a price": (f"[pools.local]\nmax = 3\ncores = 1\n{PRICE}", SLEEP, 60, 0.1, 0.3),
    "two that die": (
        f'[pools.spot]\nmax = 2\ncores = 1\nup = {{ law = "exponential", mean = "1.5s" }}\n{PRICE}',
        SLEEP, 60, 0.05, 0.25,
    ),
    "a slow and a fast one": (
        f"[pools.slow]\ncores = 1\n{PRICE}[pools.fast]\ncores = 1\nspeed = 2\n{PRICE}",
        SCALED, 50, 0.1, 0.3,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """They sleep most of the time: all at once."""
    folders = {
        kind: Folder(tmp_path_factory.mktemp("run"), tmp_path_factory.mktemp("tmp"))
        for kind in KINDS
    }
    started = [_start(folders[kind], *KINDS[kind]) for kind in KINDS]
    for run in started:
        out, err = run.communicate()
        assert run.returncode == 0, out + err
    return {kind: folder.path for kind, folder in folders.items()}


def _start(folder: Folder, pools: str, task: str, count: int, least: float, most: float):
    folder.write("tailrace.toml", pools)
    lengths = [f"{CHANCE.uniform(least, most):.3f}" for _ in range(count)]
    if task is SLEEP:
        return folder.start("run", "--quiet", "--", task, ":::", *lengths)
    seconds = ", ".join(lengths)
    text = task.replace("{}", "{s}")
    folder.write("bag.toml", f"command = '''{text}'''\n[parameters]\ns = [{seconds}]\n")
    return folder.start("run", "--quiet")


@pytest.mark.parametrize("kind", KINDS)
def test_the_recorded_run_lies_among_the_simulated_ones(kind: str, runs: dict[str, Path]) -> None:
    run = whatif.measured(runs[kind], None)
    with whatif.as_file(run) as file:
        scenario = load_scenario(file)
    found = [run_one(Todo(scenario, seed)).figures for seed in range(SEEDS)]
    told = whatif.recorded(run)
    deaths = sum(life.died for pool in run.pools for life in pool.lifetimes)
    print(f"\n{kind}; machines that died: {deaths}")
    whatif.show(told, found, changed=False)
    near = 0.10 if deaths else 0.05
    for name, one in whatif.compare(told, found).items():
        assert one.inside, name
        assert name == "attempts" or abs(one.apart or 0) <= near, name


def test_machines_that_were_killed_are_known_to_have_died(runs: dict[str, Path]) -> None:
    (spot,) = whatif.measured(runs["two that die"], None).pools
    assert sum(life.died for life in spot.lifetimes) >= 1
    assert not all(life.died for life in spot.lifetimes)
    (local,) = whatif.measured(runs["two machines"], None).pools
    assert not any(life.died for life in local.lifetimes)


def test_a_pool_that_is_twice_as_fast_is_known_to_be(runs: dict[str, Path]) -> None:
    run = whatif.measured(runs["a slow and a fast one"], None)
    slopes = {pool.terms.name: pool.slope for pool in run.pools}
    assert slopes["slow"] / slopes["fast"] == pytest.approx(2, rel=0.3)
