"""Hosts that call as real workers do: also while they are busy, and with results together."""

from __future__ import annotations

import pytest
from tests.simulation.scenarios import done_s, run

from tailrace.simulation import calling
from tailrace.simulation.statistics import figures
from tailrace.worker import agent

# Ten tasks of 0.1 s; four of them lie ready after the first.
SHORT = """
[pools.g]
{pool}
[bags.b]
lengths = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
"""
LONG = """
stop = {{ time = 0.3 }}
[pools.g]
machines = 1
calls = "{calls}"
[bags.b]
lengths = [1, 1]
"""


def test_the_times_are_those_of_the_worker() -> None:
    assert (calling.GATHER_US, calling.PARK_US) == (agent.GATHER, agent.PARK)


def test_results_are_gathered_while_plenty_lies_ready() -> None:
    """Four lie ready after the first: the next results wait until no more than half of them do."""
    told = done_s(run(SHORT.format(pool='machines = 1\ncalls = "worker"')))
    alone = done_s(run(SHORT.format(pool="machines = 1")))
    assert alone == pytest.approx([0.1 * n for n in range(1, 11)])
    assert told[0] == pytest.approx(0.1) and told[-1] == pytest.approx(1.0)
    assert any(later - sooner > 0.05 for sooner, later in zip(alone, told, strict=True))


@pytest.mark.parametrize(("pool", "lost"), [("max = 1", True), ("machines = 1\ndown = 1", False)])
def test_results_that_were_held_back_go_with_a_leased_machine(pool: str, lost: bool) -> None:
    """A quarter of a second of them; those of a machine that comes back are on its disk."""
    life = f'{pool}\nup = 0.22\ndetection = "reported"\ncalls = '
    told, instead = (figures(run(SHORT.format(pool=life + c))) for c in ('"worker"', '"free"'))
    assert (told["work_lost"] > instead["work_lost"] + 0.01) == lost
    assert told["work_useful_h"] * 3600 == pytest.approx(1.0, abs=1e-6)


def test_a_busy_worker_has_an_open_offer() -> None:
    """So that what another machine loses may be sent there ahead, as it is in life."""
    free, worker = (run(LONG.format(calls=calls)) for calls in ("free", "worker"))
    assert not free.scheduler.state.offers and list(worker.scheduler.state.offers) == ["g-0"]
    assert worker.told == free.told + 1
