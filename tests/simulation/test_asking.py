"""A policy that looks at how many machines there are, over the hours of a virtual world."""

from __future__ import annotations

from typing import Any

import pytest

from tailrace.scheduler.decisions import Acquire
from tailrace.simulation.world import World

from .scenarios import scenario

FEW = """\
stop = {{ time = "{stop}" }}
[pools.spot]
max = 20
{price}
[bags.jobs]
tasks = 60
length = "30m"
[bags.jobs.policy]
GridPolicy = 'Pool.Machines < 3'
"""
PRICES = ["", 'price = "1 USD/h"', 'price = "1 USD/h"\nunit = "1s"']


class Counter:
    def __init__(self) -> None:
        self.world: World | None = None
        self.leased = self.most = 0

    def __call__(self, event: object, decisions: list[Any], now: int) -> None:
        self.leased += sum(isinstance(one, Acquire) for one in decisions)
        assert self.leased < 100, "it buys for ever"
        if self.world is not None:
            lent = self.world.scheduler.state.lent.values()
            self.most = max(self.most, sum(lent))


@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize(("stop", "done"), [("3h", 15), ("12h", 60)])
def test_three_machines_are_leased_and_kept(price: str, stop: str, done: int) -> None:
    counter = Counter()
    text = FEW.format(price=price, stop=stop)
    world = counter.world = World(scenario(text), 1, check=True, watch=counter)
    world.run()
    assert len(world.records[0].done) >= done
    assert (counter.most, counter.leased) == (3, 3)
