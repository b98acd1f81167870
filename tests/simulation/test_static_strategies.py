"""Rules for the tail that are set before a bag begins, as others have used them (ExPERT 5.3)."""

from __future__ import annotations

from statistics import fmean
from typing import NamedTuple

import pytest

from tailrace.bag.outcome import Outcome
from tailrace.errors import BadInput
from tailrace.scheduler.decisions import Assign
from tailrace.scheduler.events import Ended
from tailrace.simulation.world import World

from .scenarios import scenario

SEEDS = range(12)
TASKS, CHEAP, DEAR = 60, 20, 4
POOLS = f"""
[pools.grid]
machines = {CHEAP}
reliable = false
returns = 0.8
luck = {{ law = "uniform", from = 0.5, to = 1.5 }}
late_results = "ignore"

[pools.cloud]
machines = {DEAR}

[bags.b]
tasks = {TASKS}
length = "1000s"
retries.expired = 1000
"""
TAIL = f"mr = {DEAR / CHEAP}, turnaround_s = 1000, patience_s = 4000"
STATIC = {
    "all to reliable": 'pools = "cloud"',
    "tail replicated to reliable": f'strategy = "ntdmr", n = 0, t_s = 0, d_s = 4000, {TAIL}',
    "tail to reliable": f'strategy = "ntdmr", n = 0, t_s = 4000, d_s = 4000, {TAIL}',
    "all to unreliable": f'strategy = "ntdmr", n = -1, t_s = 4000, d_s = 4000, {TAIL}',
    "budget": f'strategy = "budget", amount = 25, cheap = 0.1, dear = 1, {TAIL}',
    "combined": 'timeout = "4000s"',
    "combined, then one each": f'strategy = "ntdmr", combine = true, n = 1, d_s = 4000, {TAIL}',
}


class Sent(NamedTuple):
    """By when, and to which pool."""

    cheap: list[float]
    dear: list[float]
    known: int  # results when the first went to a reliable machine
    paid: dict[str, int]  # results, by pool
    makespan: float


def text(name: str) -> str:
    said = STATIC[name]
    return POOLS + (f"replication = {{ {said} }}" if said.startswith("strategy") else said)


def run(name: str, seed: int) -> Sent:
    found: dict[str, list[float]] = {"grid": [], "cloud": []}
    paid = {"grid": 0, "cloud": 0}
    known: list[int] = []

    def watch(event: object, decisions: list[object], now: int) -> None:
        if isinstance(event, Ended) and event.outcome is Outcome.SUCCEEDED:
            paid[event.host.split("-")[0]] += 1
        for one in decisions:
            if isinstance(one, Assign):
                found[one.host.split("-")[0]].append(now / 1e6)
                known.extend([sum(paid.values())] * one.host.startswith("cloud"))

    world = World(scenario(text(name)), seed, check=True, watch=watch)
    world.run()
    assert world.records[0].succeeded == TASKS
    return Sent(
        found["grid"], found["cloud"], next(iter(known), 0), paid, max(world.records[0].done) / 1e6
    )


@pytest.fixture(scope="module")
def runs() -> dict[str, list[Sent]]:
    return {name: [run(name, seed) for seed in SEEDS] for name in STATIC}


def mean(runs: list[Sent]) -> float:
    return fmean(one.makespan for one in runs)


def test_all_of_them_bring_every_result(runs: dict[str, list[Sent]]) -> None:
    assert all(len(one) == len(SEEDS) for one in runs.values())
    assert all(not one.cheap for one in runs["all to reliable"])
    assert all(not one.dear for one in runs["all to unreliable"])


def test_the_tail_is_shorter_with_reliable_machines(runs: dict[str, list[Sent]]) -> None:
    alone, waits = mean(runs["all to unreliable"]), mean(runs["tail to reliable"])
    assert mean(runs["tail replicated to reliable"]) < waits < alone


def test_combined_machines_are_faster_still_with_one_more_each(
    runs: dict[str, list[Sent]],
) -> None:
    assert mean(runs["combined, then one each"]) < mean(runs["combined"])
    assert mean(runs["combined"]) < mean(runs["all to unreliable"])


@pytest.mark.parametrize("name", ["combined", "combined, then one each"])
def test_combined_machines_all_begin_at_once(runs: dict[str, list[Sent]], name: str) -> None:
    for one in runs[name]:
        assert one.dear[:DEAR] == [0] * DEAR and one.cheap[:CHEAP] == [0] * CHEAP


def test_with_a_budget_all_that_is_left_goes_to_reliable_ones_at_once(
    runs: dict[str, list[Sent]],
) -> None:
    """60 tasks, 25 to spend, 0.1 for a result and 1 for one of the cloud: when 39 are there, 3.9
    are spent and 21 tasks are left, for which that is enough."""
    for one in runs["budget"]:
        assert one.dear[:DEAR] == [one.dear[0]] * DEAR
        assert one.known == 39
        assert one.paid["cloud"] <= 21
        assert 0.1 * one.paid["grid"] + one.paid["cloud"] <= 25
    assert mean(runs["budget"]) < mean(runs["all to unreliable"])


@pytest.mark.parametrize(
    ("said", "told"),
    [("amount = -5", "amount is -5, but must be 0"), ("dear = inf", "dear is inf, but must"),
     ("dear = 1, n = 2", "budget has no option 'n'")],
)  # fmt: skip
def test_what_is_no_amount_is_refused(said: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        scenario(f'{POOLS}replication = {{ strategy = "budget", {said} }}')


@pytest.mark.parametrize(
    ("said", "remedy"),
    [('strategy = "ntdmr", n = 2, mr = 0', "n = -1"), ('strategy = "budget", mr = 0', "mr = 0.1")],
)
def test_who_allows_no_reliable_host_may_not_want_one(said: str, remedy: str) -> None:
    with pytest.raises(BadInput, match="mr = 0 allows none") as fault:
        scenario(f"{POOLS}replication = {{ {said} }}")
    assert fault.value.line and remedy in fault.value.remedy
    scenario(f'{POOLS}replication = {{ strategy = "ntdmr", n = -1, mr = 0 }}')


ALONE = """
[pools.cloud]
max = 4
price = "1 USD/h"

[bags.b]
tasks = 25
length = 60
budget = "50 USD"
replication = { strategy = "budget", amount = 100 }
"""


def test_where_no_host_is_unreliable_a_budget_has_the_reliable_ones_do_it_all() -> None:
    """Of which it allows a share of the others, of whom there are none."""
    world = World(scenario(ALONE), 1, check=True)
    world.run()
    assert world.records[0].succeeded == 25
