"""BaTS 5.8: round robin over 32 cheap machines and 32 of another type, Normal(15, √5) minutes.

The makespans come out in every row. The cost is per machine, each billed for its own hours. Here a
machine without work is kept in the tail until the bag ends, as long as there are more tasks without
a result than machines of its pool; so the cost agrees where all end within the same paid hour, and
lies above where they do not:

| row | spec | ours (10 seeds) | deviation |
|---|---|---|---|
| S4-1 | 1984 | 2235 | +13 % |
| S4-3 | 1015 | 1440 | +42 % |
| S1-1 | 796 | 894 | +12 % |
| S3-4 | 768 | 768 | 0 |
| S1-4 | 384 | 384 | 0 |

It never exceeds what all machines cost from the beginning to the end.
"""

from __future__ import annotations

from math import ceil
from pathlib import Path
from statistics import fmean

import pytest

from tailrace.bag.tables import read_toml
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.statistics import figures
from tailrace.simulation.world import World

SCENARIO = """
[pools.cheap]
max = 32
price = "3 USD/h"

[pools.other]
max = 32
price = "{price} USD/h"
speed = {speed}

[bags.rr]
tasks = 1000
length = {{ law = "normal", mean = "15m", sd = "134.164s" }}
"""
SEEDS = 10
TOLERANCE = 0.015  # three standard errors of a mean over so many seeds


@pytest.mark.parametrize(
    "price, speed, makespan_min, cost, within_the_hour",
    [
        pytest.param(12, 1, 244.1, 1984, False, id="S4-1"),
        pytest.param(12, 3, 129.7, 1015, False, id="S4-3"),
        pytest.param(3, 1, 244.5, 796, False, id="S1-1"),
        pytest.param(9, 4, 107.5, 768, True, id="S3-4"),
        pytest.param(3, 4, 107.5, 384, True, id="S1-4"),
    ],
)
def test_round_robin_of_bats_comes_out(
    price: int, speed: int, makespan_min: float, cost: int, within_the_hour: bool
) -> None:
    text = SCENARIO.format(price=price, speed=speed)
    scenario = read_scenario(read_toml(text, "rr.toml"), "rr.toml", text, Path())
    found = []
    for seed in range(SEEDS):
        world = World(scenario, seed)
        world.run()
        found.append(figures(world))
    assert fmean(one["makespan_s"] / 60 for one in found) == pytest.approx(
        makespan_min, rel=TOLERANCE
    )
    paid = [one["cost_USD"] for one in found]
    if within_the_hour:
        assert paid == [cost] * SEEDS
    else:
        assert fmean(paid) > cost
    for one in found:
        assert one["cost_USD"] <= ceil(one["makespan_s"] / 3600) * 32 * (3 + price)
