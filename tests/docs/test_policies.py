"""Each example of the page about policies, run in a virtual world, does what the page says."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.docs.pages import ROOT
from tests.simulation.scenarios import scenario

from tailrace.scheduler.decisions import Acquire, Assign
from tailrace.simulation.statistics import figures
from tailrace.simulation.world import World

PAGE = (ROOT / "docs/how-to/policies.md").read_text()
TOML = re.compile(r"```toml\n(.*?)```", re.DOTALL)
HOUR_S = 3600
NO_TASKS = {"Several bags, several owners", "Which policy is worth it?"}  # prose alone


class Sent(NamedTuple):
    at_s: float
    bag: int
    index: int
    host: str
    timeout_s: float | None

    @property
    def pool(self) -> str:
        return self.host.rpartition("-")[0]


class Seen(NamedTuple):
    world: World
    sent: list[Sent]
    asked: Counter[str]  # machines, by pool


def section(title: str) -> str:
    _, found, rest = PAGE.partition(f"\n## {title}\n")
    assert found, f"the page has no section {title!r}"
    return rest.partition("\n## ")[0]


def of_page(title: str) -> str:
    """The keys of the section's bag, as a scenario has them."""
    text = TOML.findall(section(title))[-1].replace("repeatable = true\n", "")  # as all are there
    for key in ("policy", "parameters"):
        text = text.replace(f"[{key}]", f"[bags.jobs.{key}]")
    return "[bags.jobs]\n" + text


def watched(title: str, pools: str, bag: str, more: str = "") -> Seen:
    own = of_page(title).replace("[bags.jobs]\n", f"[bags.jobs]\n{bag}\n", 1)
    return looked_at(f"{pools}\n{own}\n{more}")


def looked_at(text: str) -> Seen:
    sent: list[Sent] = []
    asked: Counter[str] = Counter()

    def watch(event: object, decisions: list[Any], now: int) -> None:
        for one in decisions:
            if isinstance(one, Assign):
                limit = None if one.timeout_us is None else one.timeout_us / 1e6
                sent.append(Sent(now / 1e6, one.bag, one.index, one.host, limit))
            elif isinstance(one, Acquire):
                asked[one.pool] += 1

    world = World(scenario(text), 1, check=True, watch=watch)
    world.run()
    assert all(record.complete for record in world.records)
    return Seen(world, sent, asked)


def test_every_section_is_tried() -> None:
    titles = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    tried = re.findall(r'watched\(\s*"(.*?)"', Path(__file__).read_text())
    assert {*tried} | NO_TASKS == {*titles}


def test_plain_words() -> None:
    seen = watched(
        "Plain words",
        "[pools.spot]\nmachines = 9\n[pools.own]\nmachines = 30\ncores = 4",
        'tasks = 100\nlength = "10m"',
    )
    assert {one.pool for one in seen.sent} == {"own"}
    first = [one for one in seen.sent if one.at_s == 0]
    assert len(first) == 20
    assert set(Counter(one.host for one in first).values()) == {2}


def test_the_paper() -> None:
    seen = watched(
        "The example of the GridBot paper",
        "[pools.mine]\nmachines = 2\ncores = 2\n[pools.grid]\nmachines = 8",
        'tasks = 60\nlength = "10m"',
    )
    assert {one.pool for one in seen.sent} == {"mine", "grid"}
    tail = [one for one in seen.sent if one.index >= 51]
    assert tail and {one.pool for one in tail} == {"mine"}
    assert {one.pool: one.timeout_s for one in seen.sent} == {"mine": 8000.0, "grid": 4000.0}


def test_never_two_in_one_pool() -> None:
    seen = watched(
        "Never two attempts in one pool",
        "[pools.a]\nmachines = 2\n[pools.b]\nmachines = 2",
        'lengths = ["3h", "10m"]',
    )
    assert [(one.at_s // HOUR_S, one.index) for one in seen.sent] == [(0, 0), (0, 1), (1, 0)]
    assert len({one.pool for one in seen.sent if one.index == 0}) == 2


def test_mine_first() -> None:
    seen = watched(
        "Mine first on my cluster",
        "[pools.mine]\nmachines = 1\n[pools.grid]\nmachines = 1",
        'tasks = 10\nlength = "1m"',
        '[bags.other]\ntasks = 10\nlength = "1m"',
    )
    mine = [one.bag for one in seen.sent if one.pool == "mine"]
    assert mine == sorted(mine) and mine.count(1) >= 5, "its own first"
    assert [one.bag for one in seen.sent if one.pool == "grid"][:5] != [1] * 5


def test_mine_first_as_the_machine_says() -> None:
    words = re.search(r"```\n(HostRank = .*?)\n```", section("Mine first on my cluster"))
    assert words
    name, _, text = words[1].partition(" = ")
    pools = f"[pools.mine]\nmachines = 1\nsays = {{ {name} = '{text}' }}\n"
    bags = [f'[bags.{who}]\nowner = "{who}"\ntasks = 5\nlength = "1m"\n' for who in ("bob", "ada")]
    seen = looked_at(pools + "".join(bags))
    assert [one.bag for one in seen.sent] == [1] + [2] * 5 + [1] * 4  # the first came alone


def test_three_preemptions() -> None:
    seen = watched(
        "Spot machines only until three preemptions",
        '[pools.spot]\nmachines = 5\ndown = "1m"\nnotice = "1m"\n'
        'up = { law = "uniform", from = "19m", to = "21m" }\n'
        "[pools.own]\nmachines = 1",
        'lengths = ["1h", "1h", "1h", "10m"]\nretries = { lost = 99 }',
    )
    times = Counter((one.index, one.pool) for one in seen.sent)
    assert all(times[index, "spot"] <= 3 for index in range(4))


@pytest.mark.parametrize("begins", [12, 3])
def test_at_night(begins: int) -> None:
    seen = watched(
        "At night only",
        "[pools.own]\nmachines = 2",
        f'tasks = 99\nlength = "30m"\nat = "{begins}h"',
    )
    hours = {int(one.at_s // HOUR_S) % 24 for one in seen.sent}
    assert hours and hours <= {20, 21, 22, 23, 0, 1, 2, 3, 4, 5}


def test_a_fail_over_pool() -> None:
    seen = watched(
        "A fail-over pool",
        "[pools.grid]\nmachines = 3\n[pools.trusted]\nmachines = 1",
        'tasks = 40\nlength = "1m"\nfailing = { attempts = 0.5 }\nretries = { task_failed = 9 }',
    )
    trusted = Counter(one.index for one in seen.sent if one.pool == "trusted")
    before = Counter(one.index for one in seen.sent if one.pool == "grid")
    assert trusted and all(before[index] == 2 for index in trusted)
    assert max(before.values()) == 2


def test_dear_machines_for_the_tail() -> None:
    seen = watched(
        "Dear machines for the tail alone",
        '[pools.cheap]\nmax = 4\nprice = "0.1 USD/h"\n[pools.dear]\nmax = 4\nprice = "2 USD/h"',
        'tasks = 60\nlength = "10m"',
    )
    dear = [one.index for one in seen.sent if one.pool.startswith("dear")]
    assert seen.asked["dear"] and min(dear) >= 36


def test_machines_that_fail() -> None:
    seen = watched(
        "Keep away from machines that fail",
        '[pools.good]\nmachines = 2\n[pools.bad]\nmachines = 1\nreturns = 0.3\nsilent_after = "1m"',
        'tasks = 400\nlength = "1m"\nretries = { lost = 99, expired = 99 }\ntimeout = "5m"',
    )
    bad = [one for one in seen.sent if one.pool == "bad"]
    assert 10 <= len(bad) < 60


def test_time_outs_by_speed() -> None:
    seen = watched(
        "A time-out by the speed of the machine",
        "[pools.slow]\nmachines = 1\nspeed = 0.5\n[pools.fast]\nmachines = 1\nspeed = 2",
        'tasks = 9\nlength = "1m"',
    )
    assert {one.pool: one.timeout_s for one in seen.sent} == {"slow": 3600.0, "fast": 900.0}


def test_large_tasks_to_large_machines() -> None:
    seen = watched(
        "Large tasks to the large machines",
        "[pools.big]\nmachines = 1\n[pools.grid]\nmachines = 4",
        'tasks = 300\nlength = "5m"\nmatching = "fcfs"',
    )
    assert {one.pool for one in seen.sent if one.index >= 200} == {"big"}
    grid = [one.index for one in seen.sent if one.pool == "grid"]
    assert len(grid) > 100 and grid == sorted(grid)
    limits = {one.index // 100: one.timeout_s for one in seen.sent}
    assert limits == {0: 600.0, 1: 3000.0, 2: 12000.0}


def test_by_lot() -> None:
    seen = watched(
        "One of ten to the new machines",
        "[pools.new]\nmachines = 1\n[pools.own]\nmachines = 1",
        'tasks = 2000\nlength = "1m"',
    )
    share = sum(one.pool == "new" for one in seen.sent) / len(seen.sent)
    assert 0.02 < share < 0.5


@pytest.mark.parametrize("most", [2, 5, 10])
def test_the_last_of_the_money(most: int) -> None:
    """Whether few machines or many could be leased for it at once."""
    seen = watched(
        "When the money runs out",
        f'[pools.spot]\nmax = {most}\ncores = 1\nprice = "0.5 USD/h"\nreliable = false\n'
        '[pools.own]\nmax = 1\ncores = 1\nprice = "0.5 USD/h"',
        'tasks = 24\nlength = "15m"',
    )
    assert seen.asked["spot"] and seen.asked["own"]
    assert seen.asked["spot"] <= 5, "the first half of the money"
    assert figures(seen.world)["tasks_done"] == 24
    assert figures(seen.world)["cost_USD"] <= 5
