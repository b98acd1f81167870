"""Lengths of tasks and their run times on machines of several types."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.simulation.scenarios import done_s, run, scenario

from tailrace.bag.outcome import Outcome
from tailrace.scheduler.decisions import AnyDecision
from tailrace.scheduler.events import AnyEvent, Ended
from tailrace.simulation.draws import Streams
from tailrace.simulation.laws import Constant, Gamma, Levy, Lognormal, Mixture, Normal, Uniform
from tailrace.simulation.workload import REFERENCE, MachineType, Workload, draw_lengths
from tailrace.simulation.world import World

TYPES = {
    "reference": REFERENCE,
    "fast": MachineType(slope=0.25, offset=Constant(2.0)),
    "odd": MachineType(2.0, Constant(1.0), noise=Lognormal.with_mean_sd(1.0, 0.1)),
}


def workload(seed: int = 1, count: int = 500) -> Workload:
    streams = Streams(seed)
    return Workload(draw_lengths(Gamma(4.0, 15.0), count, streams), TYPES, streams)


def test_the_reference_machine_takes_the_length() -> None:
    bag = workload()
    assert bag.seconds("reference").tolist() == bag.lengths.tolist()


def test_another_type_follows_its_line() -> None:
    bag = workload()
    slope, offset = np.polyfit(bag.lengths, bag.seconds("fast"), 1)
    assert (slope, offset) == pytest.approx((0.25, 2.0), abs=1e-6)


def test_noise_scatters_around_the_line_and_belongs_to_the_task() -> None:
    bag = workload(count=20_000)
    ratio = bag.seconds("odd") / (2.0 * bag.lengths + 1.0)
    assert ratio.mean() == pytest.approx(1.0, abs=0.005)
    assert ratio.std() == pytest.approx(0.1, abs=0.005)
    assert abs(np.corrcoef(ratio, bag.lengths)[0, 1]) < 0.03
    assert workload(count=4).seconds("odd").tolist() == bag.seconds("odd")[:4].tolist()


def test_an_offset_that_scatters_belongs_to_the_task() -> None:
    streams = Streams(1)
    types = {"far": MachineType(offset=Uniform(-0.5, 1.5))}
    bag = Workload(draw_lengths(Constant(3.0), 5000, streams), types, streams)
    times = bag.seconds("far")
    assert (times.min() >= 2.5, times.max() <= 4.5, len(set(times.tolist()))) == (True, True, 5000)
    assert times.mean() == pytest.approx(3.5, abs=0.03)


SPREAD = """
[pools.reference]
machines = 50
[pools.mixed]
machines = 300
spread = { law = "uniform", from = 0.8, to = 1.2 }
[bags.b]
tasks = 2000
length = "100s"
retries = { lost = 1000 }
"""
FAILING = SPREAD.replace("machines = 300", 'machines = 300\nup = "250s"\ndown = "7s"')


def factors(text: str, seed: int = 1) -> dict[str, set[float]]:
    """Of each machine, as the scheduler saw them: the time of its tasks, as a part of 100 s."""
    seen: dict[str, set[float]] = {}

    def watch(event: AnyEvent, _: list[AnyDecision], __: int) -> None:
        if isinstance(event, Ended) and event.outcome is Outcome.SUCCEEDED:
            seen.setdefault(event.host, set()).add(event.measured.run_us / 100e6)

    World(scenario(text), seed, watch=watch).run()
    return seen


def test_machines_of_a_type_differ_by_a_factor_of_their_own() -> None:
    seen = factors(SPREAD)
    mixed = [one for host, some in seen.items() if host.startswith("mixed") for one in some]
    assert len(seen) == 350 and len(mixed) == 300, "each machine has one, whatever the task"
    assert min(mixed) >= 0.8 and max(mixed) <= 1.2
    assert np.mean(mixed) == pytest.approx(1.0, abs=4 * 0.4 / math.sqrt(12 * 300))
    assert np.std(mixed) == pytest.approx(0.4 / math.sqrt(12), rel=0.1)
    assert all(seen[f"reference-{number}"] == {1.0} for number in range(50))


def test_the_factor_of_a_machine_is_the_same_however_the_run_went() -> None:
    """It fails and comes back, other tasks come to it, and there are fewer of its kind."""
    seen = factors(SPREAD)
    failing, fewer = factors(FAILING), factors(SPREAD.replace("= 300", "= 20"))
    assert {host: seen[host] for host in fewer} == fewer and len(fewer) == 70
    assert all(some == seen[host] for host, some in failing.items()) and len(failing) == 350
    assert factors(SPREAD, seed=2)["mixed-0"] != seen["mixed-0"]


def test_a_longer_bag_begins_with_the_same_tasks() -> None:
    short, long = (draw_lengths(Levy(12.0, 45.0), n, Streams(2)) for n in (100, 1000))
    assert long[:100].tolist() == short.tolist()
    assert draw_lengths(Levy(12.0, 45.0), 100, Streams(3)).tolist() != short.tolist()


def test_a_million_lengths_are_one_array() -> None:
    law = Mixture((3.0, 1.0), (Normal(900.0, 134.0), Gamma(2.0, 600.0)))
    lengths = draw_lengths(law, 1_000_000, Streams(1))
    assert lengths.shape == (1_000_000,) and lengths.min() > 0
    assert lengths.mean() == pytest.approx(law.mean(), rel=0.005)


def test_no_task_takes_less_than_nothing() -> None:
    """A line with a negative offset: they take the least time there is."""
    world = run("[pools.odd]\nmachines = 1\noffset = -10\n[bags.b]\ntasks = 4\nlength = '3s'")
    assert done_s(world) == [1e-6, 2e-6, 3e-6, 4e-6]


def test_a_slope_is_above_nothing() -> None:
    with pytest.raises(ValueError, match="slope is -1"):
        MachineType(slope=-1.0)
